"""`ToolDefinition`: what a tool is, with nothing of how it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from functools import cached_property, reduce
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias, TypeGuard

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails, PydanticCustomError

from toolcrib_core.errors import InvalidDefinition, ToolError
from toolcrib_core.identity import ToolId, ToolIdentity, format_tool_id, hash8, normalize_identity
from toolcrib_core.json_values import FrozenDict, check_text, freeze_object, pointer_join
from toolcrib_core.risk import ToolRisk
from toolcrib_core.schema.canonical import digest
from toolcrib_core.schema.check import inspect_schema
from toolcrib_core.schema.ordering import order_data, order_schema
from toolcrib_core.tags import normalize_tags
from toolcrib_core.wording import count, nearest

ToolKind: TypeAlias = Literal["tool", "agent", "skill", "internal"]

SCHEMA_VERSION = "2020-12"
"""The JSON Schema dialect of every schema in a definition."""

_MAX_NAME_LENGTH = 256
_CONFIG = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


def _as_violation(failure: ToolError) -> PydanticCustomError:
    return PydanticCustomError("tool_error", "{message}", {"message": failure.message, "error": failure})


def _frozen_object(value: Any) -> Any:
    try:
        return order_data(freeze_object(value))
    except ToolError as failure:
        raise _as_violation(failure) from None


def _usable_schema(value: Any) -> Any:
    try:
        schema, _ = inspect_schema(freeze_object(value))
    except ToolError as failure:
        raise _as_violation(failure) from None
    return order_schema(schema)


def _object_schema(value: dict[str, Any]) -> dict[str, Any]:
    if value.get("type", "object") != "object":
        raise PydanticCustomError("not_an_object", "the input schema must describe an object: `type` must be `object`")
    return value


def _legal_name(value: str) -> str:
    if not value:
        raise PydanticCustomError("empty_name", "must not be empty")
    # A look-alike letter of another script would make two names that read the same; `title` takes any script.
    if not (value.isascii() and value.isprintable()):
        raise PydanticCustomError("name_not_ascii", "must be printable ASCII; put other scripts into `title`")
    if len(value) > _MAX_NAME_LENGTH:
        raise PydanticCustomError("name_too_long", f"must have at most {_MAX_NAME_LENGTH} characters")
    return value


def _carriable_text(value: str) -> str:
    try:
        return check_text(value)
    except ToolError as failure:
        raise _as_violation(failure) from None


def _normal_tags(value: Any) -> tuple[str, ...]:
    try:
        return normalize_tags(value)
    except ToolError as failure:
        raise _as_violation(failure) from None


_Text = Annotated[str, AfterValidator(_carriable_text)]
_Name = Annotated[str, AfterValidator(_legal_name)]
# Plain validators: pydantic's own dict validation would copy the frozen value into a plain dict.
_JsonObject = Annotated[dict[str, Any], PlainValidator(_frozen_object)]
_Schema = Annotated[dict[str, Any], PlainValidator(_usable_schema)]


class ToolLifecycle(BaseModel):
    """Where a tool is in its life: whether to stop using it, why, since when, until when, and what to use instead."""

    model_config = _CONFIG

    deprecated: bool = False
    message: _Text | None = None
    since: _Text | None = None
    """The version or date from which it is deprecated."""
    sunset: date | None = None
    """The day on which it goes away."""
    replaced_by: _Text | None = None
    """The id, or `namespace:name`, of the tool to use instead."""


class LossyFeature(BaseModel):
    """One thing the source of a definition says that its JSON Schema cannot."""

    model_config = _CONFIG

    pointer: _Text
    feature: _Text
    message: _Text


class ToolDefinition(BaseModel):
    """The provider-neutral description of one tool.

    It can be given flat (`namespace=`, `name=`, `version=`) or with `identity=` (an id, a mapping or a `ToolIdentity`),
    and in the camelCase of the wire. It is deeply immutable: schemas and metadata refuse changes too.

    Raises:
        InvalidDefinition: Several parts are wrong, or one without a narrower error; `details["violations"]` has all.
        NotJson: The only fault is a value in `metadata` or a schema that is not JSON.
        SchemaError: The only fault is a schema that cannot be used.
    """

    model_config = _CONFIG

    namespace: _Name = "default"
    name: _Name
    version: _Name | None = None
    title: _Text | None = None
    description: _Text = ""
    input_schema: Annotated[_Schema, AfterValidator(_object_schema)] = Field(
        default_factory=lambda: FrozenDict(type="object")
    )
    output_schema: _Schema | None = None
    tags: Annotated[tuple[str, ...], BeforeValidator(_normal_tags)] = ()
    examples: tuple[_Text, ...] = ()
    """Requests, in words, that this tool answers."""
    input_examples: tuple[_JsonObject, ...] = ()
    """Arguments that would be valid."""
    kind: ToolKind = "tool"
    risk: ToolRisk = ToolRisk()
    lifecycle: ToolLifecycle = ToolLifecycle()
    cost_hint: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    metadata: _JsonObject = Field(default_factory=FrozenDict)
    upstream_name: _Text | None = None
    """The name that the server gives the tool, for a tool that comes from a server; its id then has a hash."""
    lossy: tuple[LossyFeature, ...] = ()
    """What the source of this definition says that its schemas cannot."""

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as failure:
            raise _narrowest_error(failure, data) from None

    @model_validator(mode="before")
    @classmethod
    def _spread_identity(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("identity") is None:
            return data
        spread = {key: value for key, value in data.items() if key != "identity"}
        try:
            identity = normalize_identity(data["identity"])
        except ToolError as failure:
            raise _as_violation(failure) from None
        for part in ("namespace", "name", "version"):
            if spread.setdefault(part, getattr(identity, part)) != getattr(identity, part):
                raise PydanticCustomError("identity_twice", f"`identity` and `{part}` say different things")
        return spread

    def replace(self, **changes: Any) -> Self:
        """A new definition with some fields changed, checked like any other."""
        # Only what was set: an explicit default would hide a field that `identity` may say.
        return type(self)(**{name: getattr(self, name) for name in self.model_fields_set} | changes)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """`replace`: pydantic's own would skip the checks and keep the old id and digests."""
        del deep  # nothing in a definition can change, so a deep copy is the definition itself
        return self.replace(**update) if update else self

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def identity(self) -> ToolIdentity:
        """The parts of `id`: a tool of a server that has no version carries the hash of its input shape."""
        upstream_name = self.upstream_name if self.version is None else None
        return ToolIdentity(
            namespace=self.namespace,
            name=self.name,
            version=self.version,
            hash8=None if upstream_name is None else hash8(upstream_name, self.input_schema),
        )

    @cached_property
    def id(self) -> ToolId:
        """The fully qualified tool id."""
        return format_tool_id(self.identity)

    @cached_property
    def shape_digest(self) -> str:
        """SHA-256 over the full canonical input and output schema."""
        return digest({"input": self.input_schema, "output": self.output_schema})

    @cached_property
    def prose_digest(self) -> str:
        """SHA-256 over what the tool says about itself: title, description, tags, examples, risk and annotations."""
        return digest(
            {
                "title": self.title,
                "description": self.description,
                "tags": self.tags,
                "examples": self.examples,
                "inputExamples": self.input_examples,
                "risk": self.risk.model_dump(mode="json"),
                "annotations": self.metadata.get("annotations"),
            }
        )

    @cached_property
    def wire_json(self) -> bytes:
        """The serialized definition as JSON: the same bytes for equal definitions, in any process."""
        known = {
            "schemaVersion": SCHEMA_VERSION,
            "id": self.id,
            "namespace": self.namespace,
            "name": self.name,
            "version": self.version,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "tags": self.tags,
            "examples": self.examples,
            "inputExamples": self.input_examples,
            "kind": self.kind,
            "risk": self.risk.model_dump(by_alias=True),
            "lifecycle": self.lifecycle.model_dump(mode="json", by_alias=True, exclude_none=True),
            "costHint": self.cost_hint,
            "metadata": self.metadata,
            "upstreamName": self.upstream_name,
            "serialization": {
                "lossy": bool(self.lossy),
                "warnings": [each.model_dump(by_alias=True) for each in self.lossy],
            },
        }
        return orjson.dumps({key: value for key, value in known.items() if value is not None})

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything, the order of parameters included."""
        return hashlib.sha256(self.wire_json).hexdigest()


def is_tool_definition(value: object) -> TypeGuard[ToolDefinition]:
    """Whether the value is a `ToolDefinition`."""
    return isinstance(value, ToolDefinition)


def _narrowest_error(failure: ValidationError, data: dict[str, Any]) -> ToolError:
    violations = [_violation(each) for each in failure.errors(include_url=False, include_input=False)]
    name = data.get("name") or data.get("identity") or "?"
    cause = violations[0].cause
    if len(violations) == 1 and cause is not None:
        where = violations[0].pointer
        return type(cause)(
            f"`{name}` has an unusable `{where}`: {cause.message}" if where else cause.message,
            code=cause.code,
            hint=cause.hint,
            details={**cause.details, "field": where},
        )
    listed = "; ".join(f"`{each.pointer or '/'}` {each.message.rstrip('.')}" for each in violations)
    return InvalidDefinition(
        f"The definition of `{name}` is wrong in {count(len(violations), 'place')}: {listed}.",
        hint="Mend every place listed; nothing was registered.",
        details={"violations": [each.to_dict() for each in violations]},
    )


class _Violation(NamedTuple):
    pointer: str
    message: str
    cause: ToolError | None

    def to_dict(self) -> dict[str, object]:
        told = {} if self.cause is None else {"code": self.cause.code, "details": self.cause.details}
        return {"pointer": self.pointer, "message": self.message, **told}


def _violation(found: ErrorDetails) -> _Violation:
    pointer = reduce(pointer_join, found["loc"], "")
    if found["type"] == "missing":
        return _Violation(pointer, "is missing", None)
    if found["type"] == "extra_forbidden":
        meant = nearest(str(found["loc"][-1]), ToolDefinition.model_fields)
        return _Violation(pointer, f"is not known here{f'; did you mean `{meant}`?' if meant else ''}", None)
    cause = found.get("ctx", {}).get("error")
    return _Violation(pointer, found["msg"], cause if isinstance(cause, ToolError) else None)
