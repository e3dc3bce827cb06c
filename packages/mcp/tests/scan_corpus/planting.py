"""The corpus of poisoned tools: what each row says, planted where the row says."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_HERE = Path(__file__).resolve().parent
_BASE64 = re.compile(r"\{base64:([^}]*)\}")

Part = Literal["tuned", "heldout"]


@dataclass(frozen=True)
class Poisoned:
    """One poisoned text, and where in a tool it stands."""

    kind: str
    place: str
    text: str
    part: Part

    @property
    def tool(self) -> dict[str, Any]:
        """An ordinary tool with the text in its place."""
        return planted(self.place, self.text)


def poisoned() -> list[Poisoned]:
    """Every row: `tuned` were at hand when the rules were written, `heldout` were written after them."""
    parts: tuple[Part, ...] = ("tuned", "heldout")
    return [row for part in parts for row in _rows(part)]


def planted(place: str, text: str) -> dict[str, Any]:
    """An ordinary tool that has this text in this place."""
    amount: dict[str, Any] = {"type": "integer", "description": "How much of it."}
    properties: dict[str, Any] = {"amount": amount, "unit": {"type": "string"}}
    tool: dict[str, Any] = {
        "name": "measure_it",
        "description": "Measures something and says how much it is.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["amount"]},
    }
    match place:
        case "name" | "title" | "description":
            tool[place] = text
        case "parameter":
            properties[text] = {"type": "string"}
        case "parameter-description":
            amount["description"] = text
        case "enum":
            properties["unit"]["enum"] = ["metre", text]
        case "default":
            properties["unit"]["default"] = text
        case "output":
            tool["outputSchema"] = {"type": "object", "properties": {"sum": {"type": "number", "description": text}}}
        case "annotation":
            tool["annotations"] = {"title": text}
        case "meta":
            tool["_meta"] = {"example.com/note": text}
        case _:
            raise ValueError(place)
    return tool


def _rows(part: Part) -> Iterator[Poisoned]:
    file = _HERE / f"{part}.jsonl"
    for line in file.read_text(encoding="ascii").splitlines():
        kind, place, text = json.loads(line)
        yield Poisoned(kind, place, _BASE64.sub(_encoded, text), part)


def _encoded(found: re.Match[str]) -> str:
    return base64.b64encode(found[1].encode()).decode()
