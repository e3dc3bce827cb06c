"""What a vendor sent, read alike whether it is the SDK's object or the same as a dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fields_of(value: object) -> Mapping[str, Any]:
    """The fields of a vendor's object by name, without looking into their values; nothing for what has no fields."""
    if isinstance(value, Mapping):
        return value
    # The models of the SDKs keep their fields here; dumping would copy a whole answer at every event of a stream.
    return getattr(value, "__dict__", {})


def text_in(fields: Mapping[str, Any], name: str) -> str:
    """A field that is to be text; empty when it is anything else, or not there."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def items_in(fields: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A field that is to be a list of objects; empty when it is anything else, or not there."""
    value = fields.get(name)
    return [fields_of(each) for each in value] if isinstance(value, list | tuple) else []
