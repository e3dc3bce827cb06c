"""OpenAPI documents (3.0 and 3.1) as lists of operations that can be called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from toolcrib_core import ToolError, ToolRisk, define_tool
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.wording import count, quoted
from toolcrib_toolsets.errors import InvalidSettings

MAX_OPERATIONS: Final = 500
MAX_VALUES: Final = 200_000
"""Values in the schemas of all operations together; what operations share counts for each, as each gets its own."""

BODY: Final = "body"
"""The argument that is the body of a request."""

_SAFE: Final = ("get", "head", "options")
_METHODS: Final = (*_SAFE, "post", "put", "patch", "delete")
_IDEMPOTENT: Final = (*_SAFE, "put", "delete")
_NAME = re.compile(r"[^A-Za-z0-9-]+")
_MAX_NAME: Final = 64
_LITERALS: Final = ("enum", "const", "default", "example", "examples")
_LONG_TEXT: Final = 100  # characters that count as one value more
_REF: Final = "#/components/schemas/"
_JSON_TYPE = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json(?:\s*;.*)?", re.IGNORECASE)
# Headers that belong to the connection, to the key, or to us.
_RESERVED_HEADERS: Final = frozenset({"accept", "authorization", "content-type", "content-length", "cookie", "host"})

Place = Literal["path", "query", "header"]


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One argument that goes into the address or the headers."""

    name: str
    argument: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One thing that a service does."""

    name: str
    method: str
    path: str
    parameters: tuple[Parameter, ...]
    input_schema: Mapping[str, Any]
    description: str
    tags: tuple[str, ...]

    def definition(self, namespace: str) -> ToolDefinition:
        """The tool that calls it.

        Raises:
            CatalogError: Its schema cannot be used.
        """
        safe = self.method in _SAFE
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
        )


def read_operations(document: object) -> list[Operation]:
    """The operations of a document whose schemas can be used, in its order.

    Raises:
        InvalidSettings: It is no OpenAPI document of version 3.0 or 3.1, or nothing in it can be called.
    """
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith(("3.0", "3.1")):
        raise InvalidSettings.because("the document is not OpenAPI 3.0 or 3.1")
    reader = _Reader(document)
    found: dict[str, Operation] = {}
    for operation in reader.operations():
        name, number = operation.name, 2
        while name in found:
            name, number = f"{operation.name[: _MAX_NAME - 4]}_{number}", number + 1
        found[name] = operation if name == operation.name else replace(operation, name=name)
        if len(found) > MAX_OPERATIONS:
            raise InvalidSettings.because(f"the document has more than {count(MAX_OPERATIONS, 'operation')}")
    if not found:
        raise InvalidSettings.because("the document has no operation that can be called")
    return list(found.values())


class _Reader:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._old = str(document["openapi"]).startswith("3.0")
        self._values = 0

    def operations(self) -> Iterator[Operation]:
        for path, item in _members(self._document.get("paths")):
            if not path.startswith("/"):
                continue  # put behind the base it would change the host or the port
            shared = self._parameters(item)
            for method, said in _members(item):
                if method in _METHODS:
                    yield self._operation(path, method, said, shared)

    def _operation(self, path: str, method: str, said: Mapping[str, Any], shared: Mapping[Any, Any]) -> Operation:
        parameters: list[Parameter] = []
        properties: dict[str, Any] = {}
        required: list[str] = []
        for (name, place), each in {**shared, **self._parameters(said)}.items():
            argument = name if name not in properties and name != BODY else f"{place}_{name}"
            parameters.append(Parameter(name=name, argument=argument, place=place))
            properties[argument] = _described(self._schema(each.get("schema", {})), each.get("description"))
            if place == "path" or each.get("required") is True:
                required.append(argument)
        body = self._body(said)
        if body is not None:
            properties[BODY] = body[0]
            if body[1]:
                required.append(BODY)
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = required
        schema |= self._definitions(schema)
        return Operation(
            name=_tool_name(said.get("operationId"), method, path),
            method=method,
            path=path,
            parameters=tuple(parameters),
            input_schema=schema,
            description=_text(said) or f"{method.upper()} {path}",
            tags=tuple(each for each in _listed(said.get("tags")) if isinstance(each, str))[:5],
        )

    def _parameters(self, holder: Mapping[str, Any]) -> dict[tuple[str, Place], Mapping[str, Any]]:
        found: dict[tuple[str, Place], Mapping[str, Any]] = {}
        for given in _listed(holder.get("parameters")):
            each = self._followed(given)
            name, place = each.get("name"), each.get("in")
            if not isinstance(name, str) or place not in ("path", "query", "header"):
                continue
            if place == "header" and name.lower() in _RESERVED_HEADERS:
                continue
            found[name, place] = each
        return found

    def _body(self, said: Mapping[str, Any]) -> tuple[Any, bool] | None:
        body = self._followed(said.get("requestBody"))
        for media_type, each in _members(body.get("content")):
            if _JSON_TYPE.fullmatch(media_type):
                return _described(self._schema(each.get("schema", {})), body.get("description")), bool(
                    body.get("required")
                )
        return None

    def _followed(self, given: object) -> Mapping[str, Any]:
        """What a reference within the document leads to; others lead nowhere, since nothing is ever fetched."""
        for _ in range(10):
            if not isinstance(given, dict):
                return {}
            reference = given.get("$ref")
            if not isinstance(reference, str):
                return given
            given = self._at(reference)
        return {}

    def _at(self, reference: str) -> object:
        here: object = self._document if reference.startswith("#/") else None
        for part in reference[2:].split("/"):
            here = here.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(here, dict) else None
        return here

    def _definitions(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The schemas of the document that a schema needs, by name."""
        found: dict[str, Any] = {}
        waiting = list(_references(schema))
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._schema(self._at(f"{_REF}{name}") or {})
                waiting += _references(found[name])
        return {"$defs": dict(sorted(found.items()))} if found else {}

    def _schema(self, given: object) -> Any:
        """A schema of the document in our dialect: schemas become `$defs`, what 3.0 says differently is translated."""
        self._count(given)
        if isinstance(given, list):
            return [self._schema(each) for each in given]
        if not isinstance(given, dict):
            return given
        schema = {
            name: self._literal(value) if name in _LITERALS else self._schema(value) for name, value in given.items()
        }
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_REF):
            schema["$ref"] = f"#/$defs/{reference.removeprefix(_REF)}"
        for name in ("discriminator", "xml", "externalDocs", "example"):
            if not isinstance(schema.get(name), dict) or "type" not in schema[name]:
                schema.pop(name, None)
        return _of_3_0(schema) if self._old else schema

    def _literal(self, given: Any) -> Any:
        """A value that is no schema, as it is."""
        waiting = [given]
        while waiting:
            each = waiting.pop()
            self._count(each)
            waiting += each.values() if isinstance(each, dict) else _listed(each)
        return given

    def _count(self, value: object) -> None:
        self._values += 1 + (len(value) // _LONG_TEXT if isinstance(value, str) else 0)
        if self._values > MAX_VALUES:
            raise InvalidSettings.because(f"the schemas of its operations have more than {MAX_VALUES:,} values")


def _of_3_0(schema: dict[str, Any]) -> dict[str, Any]:
    nullable = schema.pop("nullable", False)
    if nullable is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            strictly = schema.pop(exclusive)
            if strictly and bound in schema:
                schema[exclusive] = schema.pop(bound)
    return schema


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/$defs/"):
            yield reference.removeprefix("#/$defs/").split("/")[0]
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _members(given: object) -> Iterator[tuple[str, Any]]:
    if isinstance(given, dict):
        yield from ((name, value) for name, value in given.items() if isinstance(value, dict))


def _listed(given: object) -> list[Any]:
    return given if isinstance(given, list) else []


def _described(schema: Any, description: object) -> Any:
    if isinstance(schema, dict) and isinstance(description, str) and "description" not in schema:
        return {**schema, "description": description}
    return schema


def _text(said: Mapping[str, Any]) -> str:
    parts = (said.get("summary"), said.get("description"))
    return "\n\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


def _tool_name(operation_id: object, method: str, path: str) -> str:
    given = operation_id if isinstance(operation_id, str) and operation_id else f"{method}_{path}"
    name = _NAME.sub("_", given).strip("_-")[:_MAX_NAME]
    return name if name and name[0].isalpha() else f"{method}_{name}"[:_MAX_NAME]


def usable(operations: list[Operation]) -> list[Operation]:
    """Those whose schemas make a tool; the others are left out.

    Raises:
        InvalidSettings: None does; the reason is that of the first.
    """
    kept: list[Operation] = []
    first: ToolError | None = None
    for each in operations:
        try:
            each.definition("check")
        except ToolError as failure:
            first = first or failure
        else:
            kept.append(each)
    if not kept and first is not None:
        raise InvalidSettings.because(f"no operation can be used; of {quoted(operations[0].name)}: {first.message}")
    return kept
