"""Operations of an API: where each argument goes, what the body is, and where the key goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from toolcrib_core import ToolRisk, define_tool
from toolcrib_core.definition import ToolDefinition, ToolLifecycle

BODY: Final = "body"
"""The argument that is the body of a request."""

SAFE: Final = ("get", "head", "options")
METHODS: Final = (*SAFE, "post", "put", "patch", "delete")
_IDEMPOTENT: Final = (*SAFE, "put", "delete")

Place = Literal["path", "query", "header", "cookie"]
StyleName = Literal[
    "simple", "label", "matrix", "form", "spaceDelimited", "tabDelimited", "pipeDelimited", "deepObject", "json"
]
BodyKind = Literal["json", "form", "multipart", "text", "base64"]


class OperationRefused(Exception):
    """An operation cannot be a tool; `reason` is half a sentence about it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KeyPlace(BaseModel):
    """Where the key goes in a request: one header, query parameter or cookie, or HTTP Basic authentication.

    In a header, `prefix` stands before the key; without it, `Bearer ` in `Authorization` and nothing elsewhere. For
    `basic` the key is `user:password`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
    query: str | None = Field(default=None, min_length=1, max_length=100)
    cookie: str | None = Field(default=None, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
    prefix: Literal["Bearer ", "Token ", "ApiKey ", ""] | None = None
    basic: bool = False

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        places = [self.header, self.query, self.cookie, self.basic or None]
        if sum(each is not None for each in places) > 1:
            raise ValueError("name one of `header`, `query`, `cookie` and `basic`")
        if self.prefix and (self.query or self.cookie or self.basic):
            raise ValueError("`prefix` belongs to a header")
        return self

    @property
    def place(self) -> Place:
        """Header, query or cookie."""
        return "query" if self.query is not None else "cookie" if self.cookie is not None else "header"

    @property
    def name(self) -> str:
        """What the header, the query parameter or the cookie is called."""
        return self.query or self.cookie or self.header or "Authorization"

    @property
    def word(self) -> str:
        """What stands before the key."""
        if self.prefix is not None or self.place != "header":
            return self.prefix or ""
        return "Bearer " if self.name.lower() == "authorization" else ""


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a value is written: `json` writes JSON, the others are those of OpenAPI and, for 2.0, `tabDelimited`."""

    name: StyleName
    explode: bool = False
    allow_reserved: bool = False


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One argument that goes into the address, the headers or the cookies."""

    name: str
    argument: str
    place: Place
    style: Style


@dataclass(frozen=True, kw_only=True)
class Body:
    """How the argument `body` is written. A field of a form without a style is written by what its value is."""

    kind: BodyKind
    media_type: str
    styles: Mapping[str, Style] = field(default_factory=dict)
    part_types: Mapping[str, str] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of an API, and the tool that it becomes."""

    name: str
    method: str
    path: str
    base: str
    parameters: tuple[Parameter, ...]
    defaults: Mapping[str, Any]
    """Arguments that the service requires and the document gives a value for."""
    body: Body | None
    key: KeyPlace | None
    input_schema: Mapping[str, Any]
    description: str
    tags: tuple[str, ...]
    deprecated: bool

    def definition(self, namespace: str) -> ToolDefinition:
        """The definition of its tool.

        Raises:
            CatalogError: Its schema cannot be used.
        """
        safe = self.method in SAFE
        risk = ToolRisk(
            effects="read" if safe else "write",
            destructive=self.method == "delete",
            idempotent=self.method in _IDEMPOTENT,
            external_network=True,
        )
        return define_tool(
            dict(self.input_schema),
            name=self.name,
            namespace=namespace,
            description=self.description,
            tags=self.tags,
            risk=risk,
            lifecycle=ToolLifecycle(deprecated=True, message="The API calls it deprecated.")
            if self.deprecated
            else None,
        )


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """An operation that cannot be a tool, and why."""

    name: str
    method: str
    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Api:
    """What a document was read as: the operations that are tools, and those that cannot be."""

    operations: tuple[Operation, ...]
    refused: tuple[Refusal, ...]
