"""What travels over the management API; a key only ever goes in."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.contract import (
    MAX_API_KEY_LEN,
    ApiKeyUpdate,
    AppToolsetConfig,
    FunctionDefinition,
    KeepApiKey,
    Toolset,
)
from toolcrib_toolsets.names import MAX_TOOLSET_DESCRIPTION_LEN, MAX_TOOLSET_NAME_LEN

# The service checks these, so that a refusal has its code of the contract; here they only stand in the document.
ApiKey = Annotated[Secret, Field(json_schema_extra={"maxLength": MAX_API_KEY_LEN})]
Name = Annotated[
    str,
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_TOOLSET_NAME_LEN, "pattern": r"^[A-Za-z0-9-]+$"}),
]
Description = Annotated[str, Field(json_schema_extra={"maxLength": MAX_TOOLSET_DESCRIPTION_LEN})]


class _Body(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )


class NewToolset(_Body):
    """An instance that is to be made."""

    toolset_type: str
    name: Name
    description: Description | None = None
    enabled: bool = True
    api_key: ApiKey | None = None
    settings: dict[str, JsonValue] = Field(default_factory=dict)


class ChangedToolset(_Body):
    """All of an instance; the key stays unless it is set, and so do the settings."""

    name: Name
    description: Description | None = None
    enabled: bool
    api_key: ApiKeyUpdate = Field(default_factory=KeepApiKey)
    settings: dict[str, JsonValue] | None = None


class ToolsetBody(Toolset):
    """An instance as it is told, with whether it has a key."""

    has_api_key: bool


class ToolsetList(_Body):
    """The instances of the caller."""

    toolsets: list[ToolsetBody]


class ToolBody(_Body):
    """A tool in the form that model providers take."""

    type: Literal["function"] = "function"
    function: FunctionDefinition


class TypeBody(_Body):
    """A type, with its switch for everybody."""

    toolset_id: str
    name: str
    description: str
    requires_api_key: bool
    app_enabled: bool
    tools: list[ToolBody]


class TypeList(_Body):
    """All types."""

    types: list[TypeBody]


class SwitchList(_Body):
    """The switches of types."""

    configs: list[AppToolsetConfig]


class ErrorBody(_Body):
    """What went wrong."""

    error: str
    """A stable name."""
    code: str
    message: str
    hint: str | None = None
    details: dict[str, JsonValue] = Field(default_factory=dict)
