"""`http-api`: a web service with an OpenAPI document and a key; its operations are the tools."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from toolcrib_core import ToolError
from toolcrib_runtime import Toolbox, create_tool, create_toolbox
from toolcrib_runtime.guards.net import FetchResponse, NetGrant
from toolcrib_runtime.guards.net.urls import parse_url
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.runnable import RunnableTool
from toolcrib_toolsets.contract import ToolsetDefinition
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types.calling import WebService, grant_for
from toolcrib_toolsets.types.kinds import Credentials
from toolcrib_toolsets.types.openapi.operations import Api, KeyPlace, Operation, Refusal
from toolcrib_toolsets.types.openapi.requests import build_request

TYPE: Final = "http-api"

_TEXT_TYPE: Final = re.compile(r"text/|application/(?:[a-z0-9.+-]+\+)?(?:xml|yaml)|application/(?:x-yaml|javascript)")
_JSON_TYPE: Final = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json")


class HttpApiSettings(BaseModel):
    """What an instance is set to."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )

    document: dict[str, JsonValue]
    """The OpenAPI document itself; nothing is fetched."""
    base_url: str | None = Field(default=None, max_length=2048)
    """Where the service is; without it, where the servers of the document are."""
    variables: dict[str, str] = Field(default_factory=dict, max_length=100)
    """Values of variables in the addresses of the servers; without one, its default."""
    key: KeyPlace | None = None
    """Where the key goes; without it, where the security schemes of the document say."""
    only: tuple[str, ...] = Field(default=(), max_length=1000)
    """The operations that become tools, by name, `operationId` or pattern; without it, all."""


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

    def read(self, settings: Mapping[str, JsonValue]) -> Api:
        """The operations that are tools under these settings, and those that are refused.

        Raises:
            InvalidSettings: They are wrong, or no operation is a tool.
            ToolError: No operation is at an address that is granted.
        """
        from toolcrib_toolsets.types.openapi.reading import read_api

        read = _read(settings)
        if read.base_url is not None:
            parse_url(read.base_url, self._grant)
        api = read_api(read.document, base_url=read.base_url, variables=read.variables, key=read.key, only=read.only)
        failures = {base: self._failure(base) for base in dict.fromkeys(each.base for each in api.operations)}
        granted = tuple(each for each in api.operations if failures[each.base] is None)
        if not granted:
            raise next(failure for failure in failures.values() if failure is not None)
        refused = [
            Refusal(name=each.name, method=each.method.upper(), path=each.path, reason=failure.message.rstrip("."))
            for each in api.operations
            if (failure := failures[each.base]) is not None
        ]
        return replace(api, operations=granted, refused=(*api.refused, *refused))

    def check_settings(self, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Settings with a document that can be read and servers that may be asked.

        Raises:
            InvalidSettings: They are wrong, or no operation is a tool.
            ToolError: No operation is at an address that is granted.
        """
        self.read(settings)
        return _read(settings).model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def key_destinations(self, settings: Mapping[str, JsonValue]) -> frozenset[str]:
        """The address of each server with the header, query parameter or cookie that has the key.

        Raises:
            InvalidSettings: They are wrong, or no operation is a tool.
            ToolError: No operation is at an address that is granted.
        """
        return frozenset(
            f"{each.base} {each.key.place} {each.key.name} {'Basic ' if each.key.basic else each.key.word}"
            for each in self.read(settings).operations
            if each.key is not None
        )

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tools of an instance.

        Raises:
            ToolError: No operation can be called.
        """
        # In a thread: a long document takes long to read, and other calls would wait.
        api = await asyncio.to_thread(self.read, credentials.settings)
        bases = sorted({each.base for each in api.operations})
        hosts = {host for base in bases for host in grant_for(base, self._grant).hosts or ()}
        grant = self._grant.model_copy(update={"hosts": tuple(sorted(hosts))})
        async with WebService.opened(credentials.namespace, grant=grant, headers={}) as service:
            key = credentials.api_key
            if key is not None:
                service.scrubber.add(key, Secret(base64.b64encode(key.reveal().encode()).decode()))
            yield create_toolbox([_tool(each, service, key, credentials.namespace) for each in api.operations])

    def _failure(self, base: str) -> ToolError | None:
        try:
            parse_url(base, self._grant)
        except ToolError as failure:
            return failure
        return None


def _tool(operation: Operation, service: WebService, key: Secret | None, namespace: str) -> RunnableTool:
    async def handler(arguments: Mapping[str, Any]) -> JsonValue:
        request = build_request(operation, arguments, key)
        answer = await service.fetch(request.method, request.url, headers=request.headers, content=request.content)
        return _value_of(answer, service)

    return create_tool(operation.definition(namespace), handler)


def _value_of(answer: FetchResponse, service: WebService) -> JsonValue:
    """What was answered: JSON as a value, text as text, other bytes in base64, and nothing without a body."""
    if not answer.body:
        return None
    written = answer.headers.get("content-type", "")
    media_type = written.partition(";")[0].strip().lower()
    if _JSON_TYPE.fullmatch(media_type) or not media_type:
        return service.value_of(answer)
    if _TEXT_TYPE.match(media_type):
        return service.scrubber.scrub_known(answer.body.decode("utf-8", errors="replace"))
    try:
        return service.value_of(answer)
    except ToolError:
        return {"contentType": media_type, "base64": base64.b64encode(answer.body).decode()}


def _read(settings: Mapping[str, JsonValue]) -> HttpApiSettings:
    try:
        return HttpApiSettings.model_validate(dict(settings))
    except ValidationError as failure:
        first = failure.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "settings"
        raise InvalidSettings.because(f"at `{place}`: {first['msg'][:1].lower()}{first['msg'][1:]}") from None
