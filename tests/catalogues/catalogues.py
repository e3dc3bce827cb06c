"""The catalogues that the gateway is held against: what real servers list, and what invented ones do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.catalogues.replaying_server import Json, read_catalogue

_ROOT: Final = Path(__file__).resolve().parents[2]
_CORPUS: Final = _ROOT / "packages" / "core" / "tests" / "corpus" / "tools.jsonl"
SHARED: Final = _ROOT.parent / "shared" / "data" / "mcp-catalogs" / "catalog.jsonl"
"""What real servers list; it is not ours to copy, so it is read from beside the checkout, where it may be missing."""

_TEXT: Json = {"type": "string", "minLength": 1, "maxLength": 200}
_SERVERS: Final = {
    "ticket-desk": ("ticket", "queue", "macro", "satisfaction_rating"),
    "warehouse": ("pallet", "stock_item", "supplier", "delivery_note"),
    "clinic": ("patient", "appointment", "prescription", "referral"),
    "campus": ("course", "enrolment", "lecture_hall", "exam_grade"),
    "newsroom": ("article", "author", "photo", "correction"),
    "farmhand": ("field", "tractor", "harvest", "irrigation_plan"),
}
# Each verb: what it says, and which parameters the tool takes beside the noun's own.
_VERBS: Final[dict[str, tuple[str, Json, list[str]]]] = {
    "list": (
        "List every {noun} that matches a filter, newest first.",
        {"filter": _TEXT, "limit": {"type": "integer", "minimum": 1, "maximum": 100}},
        [],
    ),
    "create": (
        "Create a new {noun} and return it. Labels are free words.",
        {"title": _TEXT, "labels": {"type": "array", "items": _TEXT, "maxItems": 5, "uniqueItems": True}},
        ["title"],
    ),
    "update": (
        "Change fields of one {noun}; what is not given stays.",
        {
            "id": {"type": "string", "format": "uuid"},
            "changes": {"type": "object", "properties": {"title": _TEXT, "priority": {"enum": ["low", "high"]}}},
        },
        ["id", "changes"],
    ),
    "delete": ("Delete one {noun} for good.", {"id": {"type": "string", "format": "uuid"}}, ["id"]),
}


def invented_servers() -> dict[str, list[Json]]:
    """The corpus of the tests of core, and servers that are as regular as most of the real ones are."""
    regular = {server: [_tool(verb, noun) for noun in nouns for verb in _VERBS] for server, nouns in _SERVERS.items()}
    return {**read_catalogue(_CORPUS), **regular}


def _tool(verb: str, noun: str) -> Json:
    said, properties, required = _VERBS[verb]
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {
        "name": f"{verb}_{noun}",
        "description": said.format(noun=noun.replace("_", " ")),
        "inputSchema": {**schema, "required": required} if required else schema,
    }
