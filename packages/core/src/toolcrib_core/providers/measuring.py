"""How large a converted schema is, by what vendors count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolcrib_core.json_values import JsonObject
from toolcrib_core.providers.dialects import VendorDialect
from toolcrib_core.providers.documents import SchemaDocument
from toolcrib_core.providers.losses import Loss
from toolcrib_core.providers.results import as_text
from toolcrib_core.schema.subschemas import subschemas
from toolcrib_core.wording import count

# A property and a value of an enum take two bytes at least; nothing but a reference makes a schema much longer.
_FEWEST_BYTES = 2
_DEEPER = frozenset({"properties", "items", "prefixItems", "additionalProperties", "patternProperties"})


def over_limits(schema: JsonObject, dialect: VendorDialect, document: SchemaDocument) -> Iterator[Loss]:
    """The limits of the dialect that the schema breaks; each is a narrowing, because the vendor would refuse it all.

    `document` is what the schema was made of.
    """
    if _is_surely_small(dialect, document):
        return
    depth = properties = values = text = 0
    waiting: list[tuple[Any, int]] = [(schema, 1)]
    while waiting:
        each, level = waiting.pop()
        if not isinstance(each, dict):
            continue
        depth = max(depth, level)
        named = each.get("properties", {})
        listed = [*each.get("enum", ()), *([each["const"]] if "const" in each else ())]
        properties += len(named)
        values += len(each.get("enum", ()))
        text += sum(map(len, [*named, *each.get("$defs", ())])) + sum(len(as_text(value)) for value in listed)
        waiting += [(inner, level + (keys[0] in _DEEPER)) for keys, inner in subschemas(each)]
    measured = (
        (depth, dialect.max_depth, "level", "of nesting"),
        (properties, dialect.max_properties, "property|properties", "in all"),
        (values, dialect.max_enum_values, "enum value", "in all"),
        (text, dialect.max_text, "character", "of names and enum values"),
    )
    for size, limit, unit, what in measured:
        if limit is not None and size > limit:
            one, _, many = unit.partition("|")
            yield Loss(
                pointer="",
                keyword="limit",
                effect="narrowed",
                mitigation=f"{dialect.name} takes {count(limit, one, many or None)} {what}; this has {size:,}.",
            )


def _is_surely_small(dialect: VendorDialect, document: SchemaDocument) -> bool:
    counted = [each for each in (dialect.max_properties, dialect.max_enum_values, dialect.max_text) if each is not None]
    if counted and (document.has_references or document.size > _FEWEST_BYTES * min(counted)):
        return False
    return dialect.max_depth is None or (not document.has_references and document.nesting <= dialect.max_depth)
