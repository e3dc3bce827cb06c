"""Reading our own settings, from a client's file and from `toolcrib.toml`, which may share them between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from toolcrib_core.json_values import FrozenDict, pointer_join
from toolcrib_core.schema.limits import JsonLimits, find_limit_fault
from toolcrib_core.schema.pointers import pointer_from
from toolcrib_core.wording import quoted
from toolcrib_mcp.config.findings import Findings
from toolcrib_mcp.config.settings import GatewaySettings

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_settings(value: object, findings: Findings, *, place: str, limits: JsonLimits) -> GatewaySettings:
    """Our settings in a part of a document; the default ones, and noted problems, where they cannot be used."""
    fault = find_limit_fault(value, limits)
    if fault is not None:
        findings.problem(f"The settings cannot be read: {fault.reason}.", place=place + fault.pointer)
        return GatewaySettings()
    if _refuse_variables(value, findings, place):
        return GatewaySettings()
    try:
        # Through JSON, because strictness there is about what JSON can say: a list is a tuple, "1" is not a number.
        return GatewaySettings.model_validate_json(orjson.dumps(value), strict=True)
    except ValidationError as failure:
        for error in failure.errors(include_url=False, include_context=False, include_input=False):
            where = place + pointer_from(error["loc"])
            findings.problem(f"The setting {quoted(where[1:])} cannot be used: {_said(error)}.", place=where)
        return GatewaySettings()


def merge_settings(one: ModelT, other: ModelT, findings: Findings, *, place: str = "") -> ModelT:
    """What both say together; a setting that they say differently is noted as a problem."""
    changes: dict[str, object] = {}
    for name in sorted(other.model_fields_set):
        theirs = getattr(other, name)
        if name in one.model_fields_set:
            theirs = _merged(getattr(one, name), theirs, findings, pointer_join(place, _alias(one, name)))
        changes[name] = theirs
    return one.model_copy(update=changes)


def _merged(one: object, other: object, findings: Findings, place: str) -> object:
    if isinstance(one, BaseModel) and isinstance(other, BaseModel):
        return merge_settings(one, other, findings, place=place)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = {
            key: _merged(one[key], value, findings, pointer_join(place, key)) if key in one else value
            for key, value in other.items()
        }
        return FrozenDict({**one, **both})
    if one != other:
        message = f"{quoted(place[1:])} is set here and, differently, in the other file."
        findings.problem(message, place=place, hint="Keep one of them.")
    return one


def _alias(model: BaseModel, name: str) -> str:
    return type(model).model_fields[name].alias or name


def _refuse_variables(value: object, findings: Findings, place: str) -> bool:
    """Note every text with a variable: settings are shown and dumped, and a variable may hold a secret."""
    waiting: list[tuple[str, Any]] = [(place, value)]
    found = False
    while waiting:
        where, item = waiting.pop()
        if isinstance(item, dict):
            waiting += [(pointer_join(where, key), child) for key, child in item.items()]
        elif isinstance(item, list):
            waiting += [(pointer_join(where, index), child) for index, child in enumerate(item)]
        elif isinstance(item, str) and "${" in item:
            found = True
            hint = "Write the value itself; variables are for the servers' own entries."
            findings.problem("Our own settings take no variables.", place=where, hint=hint)
    return found


def _said(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such setting"
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return message[:1].lower() + message[1:]
