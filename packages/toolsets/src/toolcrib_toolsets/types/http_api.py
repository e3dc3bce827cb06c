"""`http-api`: any web service that has an OpenAPI document and takes a key; its operations are the tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode, urljoin

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from toolcrib_runtime import Toolbox, create_tool, create_toolbox
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.net.urls import parse_url
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.runnable import RunnableTool
from toolcrib_toolsets.contract import ToolsetDefinition
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types.calling import WebService, grant_for
from toolcrib_toolsets.types.kinds import Credentials
from toolcrib_toolsets.types.openapi import BODY, Operation, read_operations, usable

TYPE: Final = "http-api"

_HEADER = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$"


class KeyPlace(BaseModel):
    """Where the key goes in a request: into a header, behind a word if the service wants one."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    header: str = Field(default="Authorization", pattern=_HEADER)
    prefix: Literal["Bearer ", "Token ", "ApiKey ", ""] = "Bearer "


class HttpApiSettings(BaseModel):
    """What an instance is set to."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )

    document: dict[str, JsonValue]
    """The OpenAPI document itself; nothing is fetched."""
    base_url: str | None = Field(default=None, max_length=2048)
    """Where the service is; without it, the first server of the document."""
    key: KeyPlace = Field(default_factory=KeyPlace)


class HttpApi:
    """The type; `grant` is what the operator lets instances reach, by default public hosts over https."""

    def __init__(self, *, grant: NetGrant | None = None) -> None:
        self._grant = grant or NetGrant()

    @property
    def definition(self) -> ToolsetDefinition:
        """What it is, without an instance."""
        return ToolsetDefinition(
            toolset_id=TYPE,
            name="HTTP API",
            description="Any web service with an OpenAPI document and a key: each of its operations is a tool.",
        )

    def check_settings(self, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Settings with a document that can be read and a base that may be asked.

        Raises:
            InvalidSettings: They are none.
            ToolError: The base is not granted.
        """
        read = _read(settings)
        base = _base(read)
        parse_url(base, self._grant)
        usable(read_operations(read.document))
        return {**read.model_dump(mode="json", by_alias=True), "baseUrl": base}

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tools of an instance.

        Raises:
            ToolError: The base cannot be asked.
        """
        settings = _read(credentials.settings)
        base = _base(settings)
        headers: dict[str, Secret] = {}
        if credentials.api_key is not None:
            headers[settings.key.header.lower()] = Secret(settings.key.prefix + credentials.api_key.reveal())
        service = WebService.opened(credentials.namespace, grant=grant_for(base, self._grant), headers=headers)
        async with service as opened:
            if credentials.api_key is not None:
                opened.scrubber.add(credentials.api_key)
            # In a thread: a long document is long to read, and everybody else would wait.
            tools = await asyncio.to_thread(_tools, settings, opened, base, credentials.namespace)
            yield create_toolbox(tools)


def _tools(settings: HttpApiSettings, service: WebService, base: str, namespace: str) -> list[RunnableTool]:
    operations = usable(read_operations(settings.document))
    return [_tool(each, service, base, namespace) for each in operations]


def _tool(operation: Operation, service: WebService, base: str, namespace: str) -> RunnableTool:
    async def handler(arguments: Mapping[str, Any]) -> JsonValue:
        url, headers = request_of(operation, base, arguments)
        return await service.ask(operation.method.upper(), url, headers=headers, body=arguments.get(BODY))

    return create_tool(operation.definition(namespace), handler)


def request_of(operation: Operation, base: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The address and the headers of a call; every argument is escaped for its place.

    Raises:
        InvalidSettings: An argument cannot stand in a path.
    """
    path, query, headers = operation.path, [], {}
    for each in operation.parameters:
        if each.argument not in arguments:
            continue
        value = arguments[each.argument]
        if each.place == "path":
            path = path.replace(f"{{{each.name}}}", _segment(value))
        elif each.place == "query":
            query += [(each.name, _said(item)) for item in (value if isinstance(value, list) else [value])]
        else:
            headers[each.name] = _said(value)
    url = f"{base}{path}"
    return (f"{url}?{urlencode(query, quote_via=quote)}" if query else url), headers


def _segment(value: object) -> str:
    text = _said(value)
    if text in ("", ".", ".."):
        # Escaped or not, these would lead to another operation.
        raise InvalidSettings.because("an argument of a path is empty or made of dots")
    return quote(text, safe="")


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _read(settings: Mapping[str, JsonValue]) -> HttpApiSettings:
    try:
        return HttpApiSettings.model_validate(dict(settings))
    except ValidationError as failure:
        first = failure.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "settings"
        raise InvalidSettings.because(f"at `{place}`: {first['msg'][:1].lower()}{first['msg'][1:]}") from None


def _base(settings: HttpApiSettings) -> str:
    servers = settings.document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    written = first.get("url") if isinstance(first, dict) else None
    base = settings.base_url or (written if isinstance(written, str) else None)
    if base is None or "{" in base or not urljoin(base, "/").startswith(("http://", "https://")):
        raise InvalidSettings.because("the document names no server that can be asked, so `baseUrl` is needed")
    return base.rstrip("/")
