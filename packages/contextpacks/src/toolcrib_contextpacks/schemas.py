"""The JSON Schemas of the two tools and of a document: complete, so that nobody has to guess a field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

ID_PATTERN: Final = "^pk_[a-z2-7]{8}$"
# Without the length: a counted repetition costs so much more to match that a large document would not be validated.
KEY_PATTERN: Final = "^[a-z0-9][a-z0-9_-]+$"
MAX_KEY: Final = 64

MAX_TTL_MINUTES: Final = 2_628_000
"""Five years."""
MIN_NAME: Final = 3
MAX_SPAN: Final = 2_000
"""How many lines one reference may cover."""
MAX_LINE: Final = 10_000_000
MAX_LIMIT: Final = 500
"""How many packs or chunks one page may be asked to hold."""
MAX_OFFSET: Final = 10_000_000
MAX_REVISION: Final = 2**53 - 1
MAX_SEARCHED: Final = 200
"""How long a text to look for may be."""
MAX_TOKEN: Final = 2_000

STATUSES: Final = ("draft", "finalized")
FRESHNESS: Final = ("fresh", "expiring_soon", "expired")
PROFILES: Final = ("orchestrator", "reviewer", "executor")
INPUT_ACTIONS: Final = ("list", "get", "write", "ttl", "delete")
OUTPUT_ACTIONS: Final = ("list", "read")


def _text(description: str, maximum: int, *, least: int = 0) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": maximum, "description": description}


def _whole(description: str, least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "description": description}


def _choice(description: str, options: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(options), "description": description}


def _key(description: str) -> dict[str, Any]:
    return {"type": "string", "pattern": KEY_PATTERN, "maxLength": MAX_KEY, "description": description}


def _object(description: str, properties: Mapping[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _list(description: str, items: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(items), "maxItems": most, "description": description}


REF_SCHEMA: Final = _object(
    "One place in the code, as a path and a range of lines. The code itself is never stored; it is read when shown.",
    {
        "key": _key("What the reference is called within its section: 2 to 64 of a-z, 0-9, _ and -."),
        "path": _text("The file, relative to the source root, with `/`: no `..`, not absolute.", 1024, least=1),
        "line_start": _whole("The first line, counted from 1.", 1, MAX_LINE),
        "line_end": _whole(f"The last line, at least `line_start`; at most {MAX_SPAN:,} lines in all.", 1, MAX_LINE),
        "title": _text("A short heading.", 300),
        "why": _text("Why this place matters to the reader.", 2_000),
        "group": _text("References of one group are shown together.", 120),
    },
    ("key", "path", "line_start", "line_end"),
)

DIAGRAM_SCHEMA: Final = _object(
    "One diagram in Mermaid.",
    {
        "key": _key("What the diagram is called within its section."),
        "title": _text("A short heading.", 300, least=1),
        "mermaid": _text("The source of the diagram, without a fence around it.", 65_536, least=1),
        "why": _text("What the diagram shows the reader.", 2_000),
    },
    ("key", "title", "mermaid"),
)

SECTION_SCHEMA: Final = _object(
    "One part of the pack. To be finalized, a pack needs the sections `scope`, `findings` and `qa`.",
    {
        "key": _key("What the section is called within the pack, as `scope`, `findings` or `qa`."),
        "title": _text("The heading.", 300, least=1),
        "description": _text(
            "Markdown. That of `qa` says `verdict: pass` (or fail, blocked, partial) on a line, or `verdict_other:` "
            "with any word.",
            65_536,
        ),
        "refs": _list("The places in the code that this section is about.", REF_SCHEMA, 200),
        "diagrams": _list("Diagrams.", DIAGRAM_SCHEMA, 50),
    },
    ("key", "title"),
)

DOCUMENT_SCHEMA: Final = _object(
    "The whole content of the pack. It replaces all that was there: what is left out is gone.",
    {
        "name": _text(
            "A name to find the pack by, unique among packs that have not expired; it cannot be changed later. "
            "3 to 120 characters.",
            120,
            least=MIN_NAME,
        ),
        "title": _text("The heading: what the pack is about.", 300),
        "brief": _text("The objective and the scope in a few sentences.", 4_000),
        "tags": _list("Words to find the pack by.", _text("One tag.", 64, least=1), 50),
        "status": _choice(
            "`draft` (the default of a new pack) or `finalized`, which is checked. To change a finalized pack say it.",
            STATUSES,
        ),
        "ttl_minutes": _whole("How long the pack lives from now; 1,440 for a new one.", 1, MAX_TTL_MINUTES),
        "sections": _list("The parts of the pack, in the order they are shown in; may be empty.", SECTION_SCHEMA, 100),
    },
    ("sections",),
)

_WHICH: Final = {
    "id": {
        "type": "string",
        "pattern": ID_PATTERN,
        "description": "The pack, by its id, as `pk_abcd2345`. Give `id` or `name`, not both.",
    },
    "name": _text("The pack, by its name.", 120, least=1),
}
_LISTED: Final = {
    "status": _choice("Only packs of this status.", STATUSES),
    "query": _text("Only packs with this text in their title, name, brief or tags, whatever the case.", MAX_SEARCHED),
}


def _freshness(action: str) -> dict[str, Any]:
    return _choice(
        f"With `list`: only packs of this freshness; without it, expired packs are left out. With `{action}`: a name "
        "means a pack of this freshness, and any other pack is refused. An expired pack is there for its grace period.",
        FRESHNESS,
    )


INPUT_SCHEMA: Final = _object(
    "",
    {
        "action": _choice(
            "`list` packs; `get` one as data; `write` a document; `ttl` sets how long a pack lives; `delete` one.",
            INPUT_ACTIONS,
        ),
        **_WHICH,
        "expected_revision": _whole(
            "The revision that you have read. An update needs it, and is refused when somebody else was quicker.",
            1,
            MAX_REVISION,
        ),
        "validate_only": {
            "type": "boolean",
            "description": "With `write`: check everything, and keep nothing. Do so before you finalize.",
        },
        "document": DOCUMENT_SCHEMA,
        "ttl_minutes": _whole("With `ttl`: the pack lives so long from now.", 1, MAX_TTL_MINUTES),
        "extend_minutes": _whole(
            "With `ttl`: the pack lives so much longer, from its expiry, or from now if that is past.",
            1,
            MAX_TTL_MINUTES,
        ),
        **_LISTED,
        "freshness": _freshness("get"),
        "limit": _whole("With `list`: how many packs at most; 50 if left out.", 1, MAX_LIMIT),
        "offset": _whole("With `list`: how many packs to skip.", 0, MAX_OFFSET),
    },
    ("action",),
)

OUTPUT_SCHEMA: Final = _object(
    "",
    {
        "action": _choice("`list` packs, or `read` one; both answer in Markdown.", OUTPUT_ACTIONS),
        **_WHICH,
        "profile": _choice(
            "With `read`: `orchestrator` (the default) is a compact handoff, `executor` what to do and where, "
            "`reviewer` everything with the code.",
            PROFILES,
        ),
        "contains": _text("With `read`: only chunks with this text, whatever the case.", MAX_SEARCHED, least=1),
        "page_token": _text(
            "With `read`: `next_page_token` of the page before, and otherwise the same request or just the id.",
            MAX_TOKEN,
            least=1,
        ),
        **_LISTED,
        "freshness": _freshness("read"),
        "status": _choice("Only packs of this status; a `read` of a pack with another is refused.", STATUSES),
        "limit": _whole("How many packs or chunks at most.", 1, MAX_LIMIT),
        "offset": _whole("How many packs or chunks to skip; not together with `page_token`.", 0, MAX_OFFSET),
    },
    ("action",),
)

INPUT_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "list": ("status", "freshness", "query", "limit", "offset"),
    "get": ("id", "name", "freshness"),
    "write": ("id", "name", "expected_revision", "validate_only", "document"),
    "ttl": ("id", "name", "expected_revision", "ttl_minutes", "extend_minutes"),
    "delete": ("id", "name", "expected_revision"),
}
"""Which fields each action of `input` takes, beside `action`."""

OUTPUT_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "list": INPUT_FIELDS["list"],
    "read": ("id", "name", "status", "freshness", "profile", "limit", "offset", "page_token", "contains"),
}
"""Which fields each action of `output` takes, beside `action`."""
