"""What a caller of `input` or `output` asks for, checked before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.legacy import refuse_legacy
from toolcrib_contextpacks.schemas import INPUT_FIELDS, INPUT_SCHEMA, OUTPUT_FIELDS, OUTPUT_SCHEMA
from toolcrib_contextpacks.violations import invalid_data
from toolcrib_core import InvalidArguments, ToolError
from toolcrib_core.schema.validate import validate_value
from toolcrib_core.wording import kind_of, listed, nearest, quoted

_FIELDS: Final = {"input": INPUT_FIELDS, "output": OUTPUT_FIELDS}
_SCHEMAS: Final = {"input": INPUT_SCHEMA, "output": OUTPUT_SCHEMA}
_NEED_A_PACK: Final = frozenset({"get", "ttl", "delete", "read"})


def check_request(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, if the tool may be called with them.

    Raises:
        InvalidPack: They break the contract; `details` has what is allowed.
    """
    refuse_legacy(tool, arguments)
    fields = _FIELDS[tool]
    action = arguments.get("action")
    if not isinstance(action, str) or action not in fields:
        raise _no_action(tool, action)
    _check_fields(tool, action, arguments)
    try:
        validate_value(_SCHEMAS[tool], dict(arguments), what="arguments", tool=tool)
    except InvalidArguments as refused:
        raise invalid_data(refused, arguments) from None
    except ToolError as refused:
        raise InvalidPack(refused.message, hint=refused.hint, details=refused.details) from None
    _check_which(tool, action, arguments)
    _check_action(action, arguments)
    return {name: _whole(value) for name, value in arguments.items()}


def _whole(value: Any) -> Any:
    # JSON Schema takes 5.0 for an integer.
    return int(value) if isinstance(value, float) else value


def _no_action(tool: str, action: object) -> InvalidPack:
    allowed = list(_FIELDS[tool])
    details: dict[str, object] = {"tool": tool, "allowed_actions": allowed, "required_fields": ["action"]}
    if action is None:
        message = f"`{tool}` needs an `action`."
    elif isinstance(action, str):
        message = f"unknown {tool} action {quoted(action)}."
        details |= {"requested_action": action[:80], "requested_field": "action"}
    else:
        message = f"`action` of `{tool}` is {kind_of(action)}, not a string."
        details |= {"requested_field": "action"}
    return InvalidPack(message, hint=f"Allowed actions: {listed(allowed)}.", details=details)


def _check_fields(tool: str, action: str, arguments: Mapping[str, Any]) -> None:
    allowed = ("action", *_FIELDS[tool][action])
    unknown = [name for name in arguments if name not in allowed]
    if not unknown:
        return
    first = unknown[0]
    details: dict[str, object] = {
        "tool": tool,
        "requested_action": action,
        "requested_field": first,
        "unsupported_field": first,
        "allowed_fields": list(allowed),
    }
    meant = nearest(first, allowed)
    if meant is not None:
        details["supported_field"] = meant
    elsewhere = [each for each, names in _FIELDS[tool].items() if first in names]
    if elsewhere:
        details["allowed_actions"] = elsewhere
    asked = f" Did you mean {quoted(meant)}?" if meant else ""
    raise InvalidPack(
        f"`{tool}` takes no {listed(unknown)} with action='{action}'.{asked}",
        hint=f"Allowed: {listed(allowed)}.",
        details=details,
    )


def _check_which(tool: str, action: str, arguments: Mapping[str, Any]) -> None:
    given = [name for name in ("id", "name") if name in arguments]
    either = {"tool": tool, "requested_action": action, "mutually_interchangeable": ["id", "name"]}
    if len(given) > 1:
        raise InvalidPack(
            "Both `id` and `name` are given.", hint="Give one of them.", details={**either, "requested_field": "name"}
        )
    if not given and action in _NEED_A_PACK:
        raise InvalidPack(
            f"`{tool}` with action='{action}' needs to know which pack: `id` or `name`.",
            hint="List packs with action='list' to find the id.",
            details={**either, "required_fields": ["id|name"]},
        )


def _check_action(action: str, arguments: Mapping[str, Any]) -> None:
    if action == "write":
        _check_write(arguments)
    if action == "ttl" and ("ttl_minutes" in arguments) == ("extend_minutes" in arguments):
        raise InvalidPack(
            "action='ttl' takes exactly one of `ttl_minutes` and `extend_minutes`.",
            hint="`ttl_minutes` counts from now, `extend_minutes` from the expiry.",
            details={
                "requested_action": "ttl",
                "required_fields": ["ttl_minutes|extend_minutes"],
                "mutually_exclusive": ["ttl_minutes", "extend_minutes"],
            },
        )
    if action == "read" and "page_token" in arguments and "offset" in arguments:
        raise InvalidPack(
            "invalid_page_token: give either `offset` or `page_token`, not both.",
            hint="Go on with `page_token` alone.",
            details={"requested_field": "page_token", "mutually_exclusive": ["offset", "page_token"]},
        )


def _check_write(arguments: Mapping[str, Any]) -> None:
    which = "id" in arguments or "name" in arguments
    if "document" not in arguments:
        raise InvalidPack(
            "action='write' needs the `document`.",
            hint="Send the whole pack: `sections`, and `title`, `brief`, `tags` and `status` as they apply.",
            details={"requested_action": "write", "required_fields": ["document"]},
        )
    if which and "expected_revision" not in arguments:
        raise InvalidPack(
            "An update needs `expected_revision`.",
            hint="Read the pack with action='get', and give the `revision` that you found.",
            details={"requested_action": "write", "required_fields": ["expected_revision"]},
        )
    if not which and "expected_revision" in arguments:
        raise InvalidPack(
            "`expected_revision` is for an update, and no pack is named.",
            hint="Name the pack by `id` or `name`; to make a new one, leave `expected_revision` out.",
            details={
                "requested_field": "expected_revision",
                "required_fields": ["id|name"],
                "mutually_interchangeable": ["id", "name"],
            },
        )
