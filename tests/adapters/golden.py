"""Golden files: what an adapter made of every tool of the corpus, so that a change is seen and meant.

A file holds a few tools whole, for people to read, and a digest of each of our own. Tools of real servers are not ours
to copy: one digest stands for all of them, beside that of the catalogue that they were read from.
`TOOLCRIB_GOLDEN=update` writes the files anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.catalogues.catalogues import SHARED, invented_servers
from toolcrib_core import ToolDefinition, upstream_identity

_FOLDER: Final = Path(__file__).parent / "golden"
_WHOLE: Final = 6
_DIGITS: Final = 12


def differences(name: str, made: Mapping[str, object], definitions: tuple[ToolDefinition, ...]) -> list[str]:
    """What differs from the golden file: ids of our own tools, or `real catalogue` for those that are not.

    `made` has the output of the adapter by tool id.
    """
    # By their servers, none of which exists: a real server may have a tool of the same name.
    own = {upstream_identity("any", server=server).namespace for server in invented_servers()}
    ours = {each.id for each in definitions if each.namespace in own}
    fresh = _golden({key: made[key] for key in sorted(made)}, ours)
    path = _FOLDER / f"{name}.json"
    if os.environ.get("TOOLCRIB_GOLDEN") == "update":
        path.write_text(json.dumps(fresh, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    known = json.loads(path.read_text(encoding="utf-8"))
    changed = [
        key for key in fresh["digests"] | known["digests"] if fresh["digests"].get(key) != known["digests"].get(key)
    ]
    changed += [key for key in known["whole"] if fresh["whole"].get(key) != known["whole"][key]]
    if fresh["catalogue"] == known["catalogue"] and fresh["real"] != known["real"]:
        changed.append("real catalogue")
    return changed


def _golden(made: Mapping[str, object], ours: set[str]) -> dict[str, Any]:
    own = {key: value for key, value in made.items() if key in ours}
    telling = sorted(own, key=lambda key: (-len(_text(own[key])), key))[: _WHOLE * 4 : 4]
    real = [_text(value) for key, value in made.items() if key not in ours]
    return {
        "whole": {key: own[key] for key in sorted(telling)},
        "digests": {key: _digest(_text(value)) for key, value in own.items()},
        "catalogue": _digest(SHARED.read_text(encoding="utf-8")) if SHARED.is_file() else "",
        "real": _digest("\n".join(real)),
    }


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
