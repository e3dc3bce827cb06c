"""Packs for tests: a source tree, a database with a clock that a test turns, and documents to write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib_contextpacks import PACKS_LINE, ContextPacks, PackSettings, create_contextpack_toolbox
from toolcrib_runtime import Toolbox
from toolcrib_store import Store, TurnableClock, open_store

START = 1_800_000_000.0
CODE = "\n".join(f"line {number}" for number in range(1, 41)) + "\n"


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Everything that a test of packs works with."""

    packs: ContextPacks
    store: Store
    clock: TurnableClock
    root: Path
    toolbox: Toolbox

    def call(self, tool: str, **arguments: Any) -> Any:
        """The value of a call that must go well."""
        result = asyncio.run(self.toolbox.call(tool, arguments))
        assert result.ok, result.error
        return result.value

    def input(self, action: str, **arguments: Any) -> Any:
        """The payload of a call of `input` that must go well."""
        answer = self.call("input", action=action, **arguments)
        assert answer["action"] == action
        return answer["payload"]

    def found(self, **which: str) -> Any:
        """A pack as `get` has it, without the document that stands beside its parts."""
        answer = self.input("get", **which)
        assert answer.pop("document")["sections"] == answer["sections"]
        return answer

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must fail: `kind`, `code`, `message`, `details`, `request_id`."""
        result = asyncio.run(self.toolbox.call(tool, arguments))
        assert result.error is not None, result.value
        details = json.loads(json.dumps(result.error.details))
        contract = details.pop("contract")
        assert set(contract) == {"kind", "code", "request_id"}
        assert contract["request_id"]
        return {**contract, "message": result.error.message, "details": details}


@contextmanager
def bench(folder: Path, target: Path | str | None = None, **settings: Any) -> Iterator[Bench]:
    """A source tree and an empty database."""
    root = folder / "source"
    (root / "src").mkdir(parents=True, exist_ok=True)
    (root / "src" / "auth.py").write_text(CODE, encoding="utf-8")
    clock = TurnableClock(START)
    with open_store(target or folder / "packs.db", lines=[PACKS_LINE], clock=clock) as store:
        packs = ContextPacks(store, settings=PackSettings(source_root=root, **settings))
        yield Bench(packs=packs, store=store, clock=clock, root=root, toolbox=create_contextpack_toolbox(packs))


def ref(
    key: str = "check", *, path: str = "src/auth.py", lines: tuple[int, int] = (2, 4), **more: Any
) -> dict[str, Any]:
    """A reference."""
    return {"key": key, "path": path, "line_start": lines[0], "line_end": lines[1], **more}


def section(key: str, description: str | None = "Something.", **more: Any) -> dict[str, Any]:
    """A section."""
    said = {} if description is None else {"description": description}
    return {"key": key, "title": key.title(), **said, **more}


def document(*sections: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A document, by default one that is ready to be finalized."""
    ready = (
        section("scope", "The login alone."),
        section("findings", "The check is slow.", refs=[ref()]),
        section("qa", "verdict: pass"),
    )
    return {"title": "Token check", "sections": list(sections or ready), **more}


def legend(text: str) -> dict[str, str]:
    """The fields of a LEGEND."""
    head = text.partition("\n[CONTENT]\n")[0].splitlines()
    assert head[0] == "[LEGEND]"
    return dict(line.removeprefix("- ").split(": ", 1) for line in head[3:] if line)
