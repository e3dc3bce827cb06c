"""One key order for equal schemas, with the author's order of parameters kept: models read it."""

from __future__ import annotations

from typing import Any

from toolcrib_core.json_values import FrozenDict, FrozenList
from toolcrib_core.schema.subschemas import APPLICATORS

_AUTHORED_ORDER = frozenset({"properties"})


def order_schema(schema: Any) -> Any:
    """A frozen copy of a schema with sorted keys everywhere but in `properties`."""
    if isinstance(schema, dict):
        return FrozenDict((keyword, _order_value(keyword, schema[keyword])) for keyword in sorted(schema))
    if isinstance(schema, list):
        return FrozenList(order_schema(each) for each in schema)
    return schema


def order_data(value: Any) -> Any:
    """A frozen copy of a JSON value with sorted keys everywhere."""
    if isinstance(value, dict):
        return FrozenDict((key, order_data(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return FrozenList(order_data(each) for each in value)
    return value


def _order_value(keyword: str, value: Any) -> Any:
    form = APPLICATORS.get(keyword)
    if form == "map" and isinstance(value, dict):
        names = value if keyword in _AUTHORED_ORDER else sorted(value)
        return FrozenDict((name, order_schema(value[name])) for name in names)
    return order_data(value) if form is None else order_schema(value)
