"""Calls as earlier contracts had them: refused, with the call that takes their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.schemas import INPUT_ACTIONS, OUTPUT_ACTIONS
from toolcrib_core.wording import listed, quoted

_ACTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "input": {
        **dict.fromkeys(
            "create update upsert_section upsert_ref upsert_diagram delete_section delete_ref delete_diagram "
            "set_status set_meta set_section_description".split(),
            "write",
        ),
        "touch_ttl": "ttl",
        "delete_pack": "delete",
    },
    "output": {"get": "read"},
}
# Of `input`, all of these are parts of the document now.
_DOCUMENT_FIELDS: Final = frozenset(
    "op snapshot section_key section_title section_description section_order ref_key ref_title ref_why path line_start "
    "line_end group diagram_key mermaid diagram_why title brief tags sections".split()
)
_OUTPUT_FIELDS: Final = {"mode": "profile", "cursor": "page_token", "match": "contains"}
_PROFILES: Final = {"full": "reviewer", "compact": "orchestrator"}


def refuse_legacy(tool: str, arguments: Mapping[str, Any]) -> None:
    """Refuse what an earlier contract allowed, and say what takes its place.

    Raises:
        InvalidPack: It is such a call.
    """
    action = arguments.get("action")
    if isinstance(action, str) and action in _ACTIONS[tool]:
        raise _legacy_action(tool, action, arguments)
    if tool == "input":
        _refuse_input_fields(action, arguments)
    else:
        _refuse_output_fields(arguments)


def _legacy_action(tool: str, action: str, arguments: Mapping[str, Any]) -> InvalidPack:
    instead = _ACTIONS[tool][action]
    allowed = INPUT_ACTIONS if tool == "input" else OUTPUT_ACTIONS
    details: dict[str, object] = {
        "tool": tool,
        "requested_action": action,
        "allowed_actions": list(allowed),
        "legacy_mapping": {action: instead},
    }
    with_document = " with `document`" if instead == "write" else ""
    if instead == "write":
        details |= {"supported_field": "document", "required_fields": ["document"]}
    if tool == "output":
        details |= {"legacy_mapping": {action: instead, **_OUTPUT_FIELDS}, "suggested_arguments": _modern(arguments)}
    return InvalidPack(
        f"`{tool}` has no action {quoted(action)} any more: use action='{instead}'{with_document}.",
        hint=f"Allowed actions: {listed(allowed)}.",
        details=details,
    )


def _refuse_input_fields(action: object, arguments: Mapping[str, Any]) -> None:
    legacy = [name for name in arguments if name in _DOCUMENT_FIELDS]
    if action == "write":
        legacy += [name for name in ("ttl_minutes", "status") if name in arguments]
    if not legacy:
        return
    details: dict[str, object] = {
        "tool": "input",
        "action": action if isinstance(action, str) else None,
        "requested_field": legacy[0],
        "unsupported_field": legacy[0],
        "unsupported_fields": legacy,
        "supported_field": "document",
        "form": "document_full_replace",
    }
    if "op" in legacy:
        details |= {
            "requested_op": str(arguments["op"])[:80],
            "allowed_ops": [],
            "allowed_actions": list(INPUT_ACTIONS),
        }
    raise InvalidPack(
        f"`input` takes no {listed(legacy)}: send the whole pack as `document` with action='write'.",
        hint="Read the pack with action='get', change it, and write all of it back with `expected_revision`.",
        details=details,
    )


def _refuse_output_fields(arguments: Mapping[str, Any]) -> None:
    if "format" in arguments:
        raise InvalidPack(
            "`output` takes no `format`: output is always markdown.",
            hint="Leave `format` out; `input` with action='get' gives a pack as JSON.",
            details={"tool": "output", "unsupported_field": "format", "allowed_formats": ["markdown"]},
        )
    legacy = [name for name in arguments if name in _OUTPUT_FIELDS]
    if legacy:
        first = legacy[0]
        raise InvalidPack(
            f"`output` takes no {listed(legacy)} any more: use {listed(_OUTPUT_FIELDS[each] for each in legacy)}.",
            hint="`suggested_arguments` has the call that takes its place.",
            details={
                "tool": "output",
                "requested_field": first,
                "unsupported_field": first,
                "supported_field": _OUTPUT_FIELDS[first],
                "legacy_mapping": {each: _OUTPUT_FIELDS[each] for each in legacy},
                "suggested_arguments": _modern(arguments),
            },
        )


def _modern(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The call of today for one of then; a cursor of then leads nowhere, so a token stands for it."""
    kept = {name: value for name, value in arguments.items() if name in {"id", "name", "limit", "offset", "status"}}
    made: dict[str, Any] = {"action": "read", **kept}
    mode = arguments.get("mode")
    if mode is not None:
        made["profile"] = _PROFILES.get(str(mode), "reviewer")
    if "cursor" in arguments:
        made["page_token"] = "<page_token>"  # noqa: S105  # a placeholder, as the contract writes it
    if "match" in arguments:
        made["contains"] = arguments["match"]
    return made
