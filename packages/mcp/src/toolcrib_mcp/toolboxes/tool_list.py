"""The tools of a toolbox as clients see them: names, schemas and hints, in pages, and which tool a name means."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote

from toolcrib_core import (
    InvalidToolId,
    RegistryView,
    ToolDefinition,
    ToolError,
    ToolLifecycle,
    ToolRisk,
    UnknownTool,
    WireNames,
)
from toolcrib_core.json_values import thaw
from toolcrib_core.wording import kind_of
from toolcrib_mcp.catalog import META_REQUIRES_APPROVAL
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.wrapping import needs_wrapper, wrapped_schema
from toolcrib_mcp.outward import outward
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime.policy.bounds import check_whole

NameStyle: TypeAlias = Literal["safe", "id", "dotted"]
"""How tools are called: `safe` for every client, as `weather__forecast`; by whole ids; or as `weather.forecast`."""

META_ID: Final = "io.toolcrib/id"
META_VERSION: Final = "io.toolcrib/version"

_HINTS = frozenset({"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})


class ToolList:
    """What clients of either era are shown of one toolbox; it never changes.

    Raises:
        WireNameCollision: Two tools would be called the same.
        ValueError: `page_size` is not a positive whole number.
    """

    def __init__(self, registry: RegistryView, *, names: NameStyle, page_size: int) -> None:
        check_whole("page_size", page_size, least=1)
        definitions = registry.list()
        self._registry = registry
        self._names = names
        self._page_size = page_size
        self._ids = [each.id for each in definitions]
        self._wire = WireNames(self._ids)
        self._dotted = {f"{each.namespace}.{each.name}": each for each in definitions}
        self._tools = {era: [self._shown(each, era) for each in definitions] for era in Era}

    def page(self, cursor: object, *, era: Era) -> dict[str, Any]:
        """One page of the list, ascending by id; a list that changes between two pages loses no tool that stays.

        Raises:
            RpcError: The cursor is not one of ours.
        """
        start = 0 if cursor is None else bisect_right(self._ids, _read_cursor(cursor))
        end = start + self._page_size
        page: dict[str, Any] = {"tools": self._tools[era][start:end]}
        if end < len(self._ids):
            page["nextCursor"] = _write_cursor(self._ids[end - 1])
        return page

    def find(self, name: object) -> ToolDefinition:
        """The tool that a client means: by the name it is listed under, by its id, or by an alias.

        Raises:
            RpcError: There is none; the message has the nearest name.
        """
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, f"`name` must be the name of a tool, not {kind_of(name)}.")
        if self._names == "dotted" and (dotted := self._dotted.get(name)) is not None:
            return dotted
        try:
            return self._registry.get(self._wire.decode(name))
        except UnknownTool as unknown:
            try:
                return self._registry.resolve(unquote(name))
            except ToolError as failure:
                is_unknown = isinstance(failure, UnknownTool | InvalidToolId)
                error = unknown if is_unknown and self._names == "safe" else failure
                raise RpcError(INVALID_PARAMS, str(error), outward(error)) from None

    def shows_the_same_as(self, other: ToolList) -> bool:
        """Whether no client could tell the two lists apart."""
        return self._tools == other._tools

    def _name_of(self, definition: ToolDefinition) -> str:
        match self._names:
            case "safe":
                return self._wire.encode(definition.id)
            case "id":
                return definition.id
            case "dotted":
                return f"{definition.namespace}.{definition.name}"

    def _shown(self, definition: ToolDefinition, era: Era) -> dict[str, Any]:
        told: dict[str, Any] = {"name": self._name_of(definition)}
        if definition.title is not None:
            told["title"] = definition.title
        if description := _advice(definition.lifecycle) + definition.description:
            told["description"] = description
        told["inputSchema"] = {"type": "object", **thaw(definition.input_schema)}
        if definition.output_schema is not None:
            told["outputSchema"] = _output_schema(definition.output_schema, era)
        theirs = definition.metadata
        annotations = {key: value for key, value in _mapping(theirs.get("annotations")).items() if key not in _HINTS}
        told["annotations"] = annotations | hints_of(definition.risk)
        told["_meta"] = _mapping(theirs.get("_meta")) | {META_ID: definition.id}
        if definition.risk.requires_approval:
            told["_meta"][META_REQUIRES_APPROVAL] = True
        if definition.version is not None:
            told["_meta"][META_VERSION] = definition.version
        return told


def hints_of(risk: ToolRisk) -> dict[str, bool]:
    """The risk in the words of the protocol.

    Where nobody has declared the effects, only what raises the risk is said: the protocol itself assumes the worst of
    what is left out.
    """
    if risk.effects == "unknown":
        said = {"destructiveHint": risk.destructive, "openWorldHint": risk.external_network}
        return {hint: True for hint, holds in said.items() if holds}
    return {
        "readOnlyHint": not risk.may_write,
        "destructiveHint": risk.destructive,
        "idempotentHint": risk.idempotent,
        "openWorldHint": risk.external_network,
    }


def _output_schema(schema: Mapping[str, Any], era: Era) -> dict[str, Any]:
    if era is Era.HANDSHAKE and needs_wrapper(schema):
        return wrapped_schema(schema)
    plain: dict[str, Any] = thaw(schema)
    return plain


def _advice(lifecycle: ToolLifecycle) -> str:
    if not lifecycle.deprecated:
        return ""
    return f"Deprecated: use `{lifecycle.replaced_by}` instead. " if lifecycle.replaced_by else "Deprecated. "


def _mapping(value: object) -> dict[str, Any]:
    plain: dict[str, Any] = thaw(value) if isinstance(value, dict) else {}
    return plain


def _write_cursor(tool_id: str) -> str:
    return urlsafe_b64encode(tool_id.encode()).decode()


def _read_cursor(cursor: object) -> str:
    text = cursor if isinstance(cursor, str) else ""
    try:
        tool_id = b64decode(text, altchars=b"-_", validate=True).decode()
    except ValueError:
        tool_id = ""
    if not tool_id:
        raise RpcError(INVALID_PARAMS, "The `cursor` is not one that was given here; list without one.")
    return tool_id
