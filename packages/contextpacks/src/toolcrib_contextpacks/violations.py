"""What a schema says against a request, in the words of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_core import InvalidArguments

_MAX_TOLD: Final = 20
_KEPT: Final = ("pointer", "keyword", "message", "expected", "didYouMean")


def invalid_data(refused: InvalidArguments, value: object, *, prefix: str = "") -> InvalidPack:
    """The refusal of a value as one of ours: the field that was asked for, and what is allowed in its place."""
    violations: Any = refused.details.get("violations", [])
    details: dict[str, object] = {"violations": [_placed(each, prefix) for each in violations[:_MAX_TOLD]]}
    if violations:
        details |= _first(violations[0], value, prefix)
    return InvalidPack(refused.message, hint=refused.hint, details=details)


def _placed(violation: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    kept = {name: violation[name] for name in _KEPT if name in violation}
    return {**kept, "pointer": f"/{prefix}{kept['pointer']}" if prefix else kept["pointer"]}


def _first(violation: Mapping[str, Any], value: object, prefix: str) -> dict[str, object]:
    parts = [each for each in violation["pointer"].split("/") if each]
    field = ".".join([prefix, *parts] if prefix else parts)
    expected = violation.get("expected")
    match violation["keyword"]:
        case "required":
            missing = expected if isinstance(expected, list) else [expected]
            return {"required_fields": [".".join(filter(None, [field, str(each)])) for each in missing]}
        case "additionalProperties":
            unknown = next((each for each in _inside(value, parts) if each not in (expected or ())), "")
            named = ".".join(filter(None, [field, unknown]))
            told: dict[str, object] = {"requested_field": named, "unsupported_field": named, "allowed_fields": expected}
            meant = violation.get("didYouMean")
            return told | ({"supported_field": meant} if meant else {})
        case "enum":
            return {"requested_field": field, f"allowed_{_plural(field)}": expected}
    return {"requested_field": field}


def _inside(value: Any, parts: Sequence[str]) -> Sequence[str]:
    """The properties of the object at a place."""
    for part in parts:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return list(value)


def _plural(field: str) -> str:
    name = field.rpartition(".")[2]
    return {"status": "statuses", "freshness": "freshness"}.get(name, f"{name}s")
