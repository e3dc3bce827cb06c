"""The types of the contract: instances, types, switches, requests; none of them can hold a key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from toolcrib_core import ToolDefinition
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.errors import InvalidApiKey

MAX_API_KEY_LEN = 4096
"""Characters of a key at most."""

_SCOPE_PREFIX = "scope_toolset-"


class _Wire(BaseModel):
    """Read and written as JSON with camelCase names; frozen; nothing unknown is taken."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
        strict=True,
    )


class Toolset(_Wire):
    """An instance: one user's configured copy of a type."""

    id: str
    """A UUID."""
    name: str
    toolset_type: str
    description: str | None = Field(default=None, exclude_if=lambda text: text is None)
    """Left out where there is none."""
    enabled: bool
    created_at: datetime
    updated_at: datetime


class ToolsetState(_Wire):
    """An instance with what its owner wants to know of it, all of one moment."""

    toolset: Toolset
    has_api_key: bool
    available: bool
    """Whether it could be called now: both switches on, and a key where one is needed."""


class FunctionDefinition(_Wire):
    """The function within a tool, as model providers write it: its name, what it does, and its parameters."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """The JSON Schema of its arguments."""

    @classmethod
    def of(cls, tool: ToolDefinition) -> Self:
        """The function of a tool."""
        schema = orjson.loads(tool.wire_json)["inputSchema"]
        return cls(name=tool.name, description=tool.description or "", parameters=schema)


class ToolsetDefinition(_Wire):
    """A type: a family of tools that needs a key, and what every instance of it can do."""

    toolset_id: str
    """The name of the type; an instance has it as `toolset_type`."""
    name: str
    description: str
    requires_api_key: bool = True
    tools: tuple[ToolDefinition, ...] = ()
    """What is known of its methods without an instance; some types learn them from what an instance is set to."""


class ToolsetWithTools(_Wire):
    """A type as administrators see it: with the switch for everybody."""

    toolset_id: str
    name: str
    description: str
    app_enabled: bool
    tools: tuple[ToolDefinition, ...] = ()


class AppToolsetConfig(_Wire):
    """The switch of a type for everybody, and who moved it last."""

    toolset_id: str
    enabled: bool
    updated_by: str
    created_at: datetime
    updated_at: datetime


class ToolsetExecutionRequest(_Wire):
    """What a method of an instance is called with."""

    params: Mapping[str, JsonValue] = Field(default_factory=dict)


class ToolsetExecutionResponse(_Wire):
    """What it answered."""

    result: JsonValue = None
    error: Mapping[str, JsonValue] | None = None
    """What went wrong, as every error of ours is told, or nothing."""


class KeepApiKey(_Wire):
    """Leave the key as it is."""

    action: Literal["keep"] = "keep"


class SetApiKey(_Wire):
    """Take another key, or none any more."""

    action: Literal["set"] = "set"
    value: Secret | None

    @classmethod
    def clear(cls) -> Self:
        """Take the key away."""
        return cls(value=None)


ApiKeyUpdate = Annotated[KeepApiKey | SetApiKey, Field(discriminator="action")]
"""What an update does with the key: `{"action": "keep"}` or `{"action": "set", "value": …}`, where null clears it."""


class Role(StrEnum):
    """What a principal may do: a user with instances of their own, an administrator with the switches, too."""

    USER = "user"
    ADMIN = "admin"


class ToolsetScope(_Wire):
    """One scope of an access token that names a toolset type: `scope_toolset-<type>`."""

    toolset_type: str

    @classmethod
    def parse_claim(cls, claim: str) -> frozenset[Self]:
        """The scopes of a claim that are about toolsets; what is not known is passed over."""
        words = (word.removeprefix(_SCOPE_PREFIX) for word in claim.split() if word.startswith(_SCOPE_PREFIX))
        return frozenset(cls(toolset_type=word) for word in words if word)

    def __str__(self) -> str:
        return f"{_SCOPE_PREFIX}{self.toolset_type}"


def read_api_key(text: str) -> Secret:
    """A key that was given, checked.

    Raises:
        InvalidApiKey: It is empty, too long, or has characters that no header can carry.
    """
    if not text:
        raise InvalidApiKey.because("it is empty")
    if len(text) > MAX_API_KEY_LEN:
        raise InvalidApiKey.because(f"it has more than {MAX_API_KEY_LEN} characters")
    if not text.isprintable() or text != text.strip():
        raise InvalidApiKey.because("it has a line break, a blank at an end, or a character that cannot be shown")
    try:
        return Secret(text)
    except ValueError:
        raise InvalidApiKey.because("it is the mark that stands for a hidden key") from None
