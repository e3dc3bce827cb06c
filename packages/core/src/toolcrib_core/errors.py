"""What can go wrong, as data.

ToolError
  CatalogError        InvalidToolId, InvalidDefinition, NotJson, DuplicateTool, CardOverBudget,
                      WireNameCollision, UnsupportedTool
    SchemaError       InvalidSchema, SchemaTooComplex
    AliasError        AliasCycle, AliasTooDeep, AliasConflict
  ResolutionError     UnknownTool, UnknownVersion, AmbiguousTool, DeprecatedTool
  ArgumentError       InvalidArguments, ArgumentsTooLarge, MalformedJson, UnreadableCall
  InvalidOutput
  PathInvalid, PathNotFound
  QueryError
  EmbedderUnusable
  VocabularyError

Every error carries a stable `code`, a `message` written for the model or person that reads it, a `hint` (what to do
next), `retryable` and JSON `details`. Messages never hold argument values: an argument may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import core_schema


class ToolErrorCategory(StrEnum):
    """What kind of failure it was: the part a policy or a retry loop may branch on."""

    VALIDATION = "validation"
    OUTPUT_VALIDATION = "output_validation"
    PERMISSION = "permission"
    APPROVAL_REQUIRED = "approval_required"
    NOT_FOUND = "not_found"
    UNAVAILABLE = "unavailable"
    CONFLICT = "conflict"
    TRANSIENT = "transient"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    LIMIT = "limit"
    BUDGET = "budget"
    UNKNOWN_OUTCOME = "unknown_outcome"
    INTERNAL = "internal"


_RETRYABLE = frozenset({ToolErrorCategory.TRANSIENT, ToolErrorCategory.TIMEOUT, ToolErrorCategory.UNAVAILABLE})


class ToolError(Exception):
    """A failure with a stable code, a message for the reader, a hint and JSON details.

    Two errors are equal when all they say is equal. `to_dict` and `from_dict` are inverse, and a pydantic model may use
    `ToolError` as a field type.
    """

    default_code: ClassVar[str] = "toolbox.internal-error"
    default_category: ClassVar[ToolErrorCategory] = ToolErrorCategory.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        category: ToolErrorCategory | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.category = ToolErrorCategory(category or self.default_category)
        self.hint = hint
        self.retryable = self.category in _RETRYABLE if retryable is None else retryable
        self.details: dict[str, object] = dict(details or {})

    def to_dict(self) -> dict[str, object]:
        """The error as JSON, with the keys that travel on the wire."""
        data: dict[str, object] = {
            "code": self.code,
            "category": self.category.value,
            "message": self.message,
            "retryable": self.retryable,
        }
        if self.hint is not None:
            data["hint"] = self.hint
        if self.details:
            data["details"] = self.details
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ToolError:
        """Read an error that `to_dict` wrote.

        Raises:
            CatalogError: A key is missing, unknown or of the wrong type.
        """
        wrong = _wire_faults(data)
        if wrong:
            raise CatalogError(f"Not a serialized error: {'; '.join(wrong)}.", details={"violations": wrong})
        return ToolError(
            data["message"],
            code=data["code"],
            category=ToolErrorCategory(data["category"]),
            hint=data.get("hint"),
            retryable=data["retryable"],
            details=data.get("details"),
        )

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolError):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.code, self.message, self.hint))

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own pickling calls `cls(*args)` and would drop everything but the message.
        fields = {
            "code": self.code,
            "category": self.category,
            "hint": self.hint,
            "retryable": self.retryable,
            "details": self.details,
        }
        return (_rebuild, (type(self), self.message, fields))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Self], handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        from pydantic_core import core_schema

        from_wire = core_schema.no_info_plain_validator_function(ToolError.from_dict)
        return core_schema.json_or_python_schema(
            json_schema=from_wire,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(ToolError), from_wire]),
            serialization=core_schema.plain_serializer_function_ser_schema(ToolError.to_dict),
        )


class CatalogError(ToolError):
    """Something that was to enter the catalogue is wrong: an id, a definition, an alias, a card."""

    default_code = "toolbox.catalog-error"
    default_category = ToolErrorCategory.VALIDATION


class InvalidToolId(CatalogError):
    """The text is not a tool id; the hint names the first bad part."""

    default_code = "toolbox.invalid-tool-id"


class InvalidDefinition(CatalogError):
    """A definition breaks the contract; `details["violations"]` lists every place."""

    default_code = "toolbox.invalid-definition"


class NotJson(CatalogError):
    """A value that must be JSON is not; `details["pointer"]` says where."""

    default_code = "toolbox.not-json"


class DuplicateTool(CatalogError):
    """The id is taken by a different definition."""

    default_code = "toolbox.duplicate-tool"
    default_category = ToolErrorCategory.CONFLICT


class CardOverBudget(CatalogError):
    """A card does not fit its token budget, or a field its length, even after truncation."""

    default_code = "toolbox.card-over-budget"
    default_category = ToolErrorCategory.LIMIT


class WireNameCollision(CatalogError):
    """Two tool ids have the same provider-legal name."""

    default_code = "toolbox.wire-name-collision"
    default_category = ToolErrorCategory.CONFLICT


class UnsupportedTool(CatalogError):
    """A vendor cannot take the tool, in no mode; the message says what it is that it cannot take."""

    default_code = "toolbox.unsupported-tool"


class SchemaError(CatalogError):
    """A JSON Schema cannot be used."""

    default_code = "toolbox.schema-error"


class InvalidSchema(SchemaError):
    """The schema is not valid in its dialect, or refers to something outside itself."""

    default_code = "toolbox.invalid-schema"


class SchemaTooComplex(SchemaError):
    """The schema is over a bound on depth, size or branching."""

    default_code = "toolbox.schema-too-complex"
    default_category = ToolErrorCategory.LIMIT


class AliasError(CatalogError):
    """An alias cannot be added or followed; `details["chain"]` lists the hops."""

    default_code = "toolbox.alias-error"
    default_category = ToolErrorCategory.CONFLICT


class AliasCycle(AliasError):
    """Following the alias would come back to it."""

    default_code = "toolbox.alias-cycle"


class AliasTooDeep(AliasError):
    """The chain of aliases is longer than the registry allows."""

    default_code = "toolbox.alias-too-deep"


class AliasConflict(AliasError):
    """The alias is taken, or would hide a registered tool."""

    default_code = "toolbox.alias-conflict"


class ResolutionError(ToolError):
    """A name did not lead to one tool."""

    default_code = "toolbox.resolution-error"
    default_category = ToolErrorCategory.NOT_FOUND


class UnknownTool(ResolutionError):
    """No tool has that id, name or alias."""

    default_code = "toolbox.unknown-tool"


class UnknownVersion(ResolutionError):
    """The tool exists, but no version of it satisfies the request; `details["candidates"]` lists those there are."""

    default_code = "toolbox.unknown-version"


class AmbiguousTool(ResolutionError):
    """The id fits several tools; `details["candidates"]` lists them."""

    default_code = "toolbox.ambiguous-tool"
    default_category = ToolErrorCategory.CONFLICT


class DeprecatedTool(ResolutionError):
    """Every version that fits is deprecated and was not named exactly."""

    default_code = "toolbox.deprecated-tool"


class PathInvalid(ToolError):
    """The text is not a browse path; `details["segment"]` counts to the bad segment, from 1, where one is to blame."""

    default_code = "toolbox.path-invalid"
    default_category = ToolErrorCategory.VALIDATION


class PathNotFound(ToolError):
    """The path is well formed and leads nowhere; `details["nearest"]` lists existing paths, best first."""

    default_code = "toolbox.path-not-found"
    default_category = ToolErrorCategory.NOT_FOUND


class ArgumentError(ToolError):
    """The arguments of a call cannot be used."""

    default_code = "toolbox.argument-error"
    default_category = ToolErrorCategory.VALIDATION


class InvalidArguments(ArgumentError):
    """The arguments do not satisfy the schema; `details["violations"]` lists every place."""

    default_code = "toolbox.invalid-arguments"


class ArgumentsTooLarge(ArgumentError):
    """The arguments are over a bound on depth, size or number, and were not validated."""

    default_code = "toolbox.arguments-too-large"
    default_category = ToolErrorCategory.LIMIT


class MalformedJson(ArgumentError):
    """The text is not JSON we accept; `details` has line, column and offset."""

    default_code = "toolbox.malformed-json"


class UnreadableCall(ArgumentError):
    """A model's call cannot be read: its JSON is broken, it ended too early, it names no tool; nothing was run."""

    default_code = "toolbox.unreadable-call"


class InvalidOutput(ToolError):
    """What a tool gave does not satisfy its output schema; `details["violations"]` lists every place."""

    default_code = "toolbox.invalid-output"
    default_category = ToolErrorCategory.OUTPUT_VALIDATION


class QueryError(ToolError):
    """A query is malformed or over its bounds."""

    default_code = "toolbox.invalid-query"
    default_category = ToolErrorCategory.VALIDATION


class EmbedderUnusable(ToolError):
    """An embedder cannot be had, or gives something else than one vector per text; search works without it."""

    default_code = "toolbox.embedder-unusable"


class VocabularyError(ToolError):
    """The shipped token vocabulary is missing or damaged; tokens are never estimated instead."""

    default_code = "toolbox.vocabulary-unusable"


_WIRE_TYPES: dict[str, type] = {
    "code": str,
    "category": str,
    "message": str,
    "retryable": bool,
    "hint": str,
    "details": Mapping,
}
_REQUIRED = ("code", "category", "message", "retryable")


def _wire_faults(data: object) -> list[str]:
    if not isinstance(data, Mapping):
        return [f"expected an object, got {type(data).__name__}"]
    faults = [f"`{key}` is missing" for key in _REQUIRED if key not in data]
    for key, value in data.items():
        if key not in _WIRE_TYPES:
            faults.append(f"`{key}` is not a key of an error")
        elif not isinstance(value, _WIRE_TYPES[key]):
            faults.append(f"`{key}` has the wrong type")
        elif key == "category" and value not in set(ToolErrorCategory):
            faults.append(f"`{value}` is not an error category")
    return faults


def _rebuild(cls: type[ToolError], message: str, fields: dict[str, Any]) -> ToolError:
    error = cls.__new__(cls)
    ToolError.__init__(error, message, **fields)
    return error
