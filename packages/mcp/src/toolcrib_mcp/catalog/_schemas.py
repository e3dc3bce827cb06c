"""The schemas of tools that come from elsewhere, made usable where that takes nothing from the tool."""

from __future__ import annotations

from typing import Any

from toolcrib_core import InvalidSchema, LossyFeature, SchemaError, check_schema, relax_patterns
from toolcrib_core.schema.dialect import upgrade_dialect
from toolcrib_core.wording import kind_of

_PATTERNS = frozenset({"pattern", "patternProperties"})


def checked_object(schema: object, where: str) -> dict[str, Any]:
    """The schema, if it is a JSON object.

    Raises:
        InvalidSchema: It is something else.
    """
    if not isinstance(schema, dict):
        raise InvalidSchema(
            f"`{where}` must be an object, not {kind_of(schema)}.", hint='Any arguments: `{"type": "object"}`.'
        )
    return schema


def mended(schema: dict[str, Any], where: str) -> tuple[dict[str, Any], tuple[LossyFeature, ...]]:
    """The schema without the patterns that cannot be matched in bounded time, if those are all its faults.

    Raises:
        SchemaError: It has other faults.
    """
    try:
        check_schema(schema)
    except SchemaError as failure:
        # Patterns are only looked at once the form of the schema is right, so it can be walked here.
        if not _is_about_patterns(failure):
            raise
        return relax_patterns(upgrade_dialect(schema), pointer=where)
    return schema, ()


def _is_about_patterns(failure: SchemaError) -> bool:
    violations: Any = failure.details.get("violations", ())
    keywords = {each["keyword"] for each in violations}
    return bool(keywords) and keywords <= _PATTERNS
