"""What the schemas of the Anthropic API can say, plain and strict, and how much of it is strict in one request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.providers.dialects import VendorDialect
from toolcrib_core.providers.losses import Loss
from toolcrib_core.schema.subschemas import subschemas
from toolcrib_core.wording import count

PLAIN: Final = VendorDialect(
    name="Anthropic",
    root_combinators=False,
    parameters=re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
    parameter_rule="letters, digits, `_`, `.` and `-`, at most 64 characters.",
)
"""Every keyword is taken; only at the root the API refuses `anyOf`, `oneOf` and `allOf`."""

STRICT: Final = VendorDialect(
    name="Anthropic's strict mode",
    keywords=frozenset(
        {
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "minItems",
            "enum",
            "const",
            "anyOf",
            "$ref",
            "$defs",
            "format",
            "title",
            "description",
        }
    ),
    formats=frozenset(
        {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
    ),
    closed_objects=True,
    typed=True,
    type_lists=False,
    enum_types=frozenset({"string", "integer", "number", "boolean", "null"}),
    root_combinators=False,
    ref_siblings=False,
    recursion=False,
    max_min_items=1,
)
"""The subset that the API holds a model to: as the SDK's own `transform_schema`, but without its narrowings."""

MAX_STRICT_TOOLS: Final = 20
MAX_OPTIONAL: Final = 24
MAX_UNIONS: Final = 16
"""How much one request may have that is strict: tools, properties that may be left out, and properties with
alternatives."""


class StrictBudget:
    """What is left of the limits of one request while its tools are converted."""

    def __init__(self) -> None:
        self._tools = self._optional = self._unions = 0

    def spend(self, schema: Mapping[str, Any]) -> Loss | None:
        """Count a strict schema in, or say which limit it would break; then it is not counted."""
        optional, unions = _measured(schema)
        for size, limit, what in (
            (self._tools + 1, MAX_STRICT_TOOLS, "tool"),
            (self._optional + optional, MAX_OPTIONAL, "optional property|optional properties"),
            (self._unions + unions, MAX_UNIONS, "property with alternatives|properties with alternatives"),
        ):
            if size > limit:
                one, _, many = what.partition("|")
                room = count(limit, one, many or None)
                return Loss("", "limit", "narrowed", f"One request has room for {room} that are strict.")
        self._tools += 1
        self._optional += optional
        self._unions += unions
        return None


def _measured(schema: Any) -> tuple[int, int]:
    """How many properties may be left out, and how many schemas are alternatives."""
    optional = unions = 0
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            optional += len(each.get("properties", {})) - len(each.get("required", ()))
            unions += "anyOf" in each
            waiting += [inner for _, inner in subschemas(each)]
    return optional, unions
