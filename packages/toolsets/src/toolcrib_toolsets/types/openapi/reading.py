"""Reading a document: every operation becomes a tool, or is refused with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from openapi_pydantic import Parameter as ParameterModel

from toolcrib_core import ToolError
from toolcrib_core.wording import count, nearest, quoted
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types.openapi.access import Keys, Servers
from toolcrib_toolsets.types.openapi.bodies import read_body
from toolcrib_toolsets.types.openapi.documents import Document, checked, open_document
from toolcrib_toolsets.types.openapi.operations import (
    BODY,
    METHODS,
    Api,
    Body,
    KeyPlace,
    Operation,
    OperationRefused,
    Parameter,
    Place,
    Refusal,
    Style,
)
from toolcrib_toolsets.types.openapi.schemas import Budget, SchemaTranslator
from toolcrib_toolsets.types.openapi.swagger import FORM, rewrite_parameters

MAX_OPERATIONS: Final = 500

_UNSENT: Final = ("trace", "query")  # methods of OpenAPI that are not sent
_NAME: Final = re.compile(r"[^A-Za-z0-9-]+")
_ARGUMENT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_TEMPLATE: Final = re.compile(r"\{([^{}]+)\}")
_JSON: Final = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json(?:\s*;.*)?", re.IGNORECASE)
_MAX_NAME: Final = 64
_MAX_TAGS: Final = 5
# OpenAPI says of the first three that they are no parameters; the others belong to the connection.
_IGNORED_HEADERS: Final = frozenset({"accept", "authorization", "content-type"})
_OWN_HEADERS: Final = frozenset(
    "accept-encoding connection content-length cookie expect host "
    "keep-alive te trailer transfer-encoding upgrade".split()
)
_STYLES: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("simple", "label", "matrix", "spaceDelimited", "tabDelimited", "pipeDelimited"),
    "query": ("form", "spaceDelimited", "tabDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple", "spaceDelimited", "tabDelimited", "pipeDelimited"),
    "cookie": ("form", "cookie"),
}
"""The styles of each place; the first is the default."""


def read_api(
    document: object,
    *,
    base_url: str | None = None,
    variables: Mapping[str, str] | None = None,
    key: KeyPlace | None = None,
    only: Sequence[str] = (),
) -> Api:
    """The operations of a document in its order; `only` chooses by name, by `operationId`, or by patterns of them.

    `base_url` takes the place of all servers, `key` that of all security schemes.

    Raises:
        InvalidSettings: It is no document that can be read, nothing in it can be a tool, or too much is.
    """
    opened = open_document(document)
    servers = Servers(opened, base_url, variables or {})
    found, refused = _chosen(_find_operations(opened), only)
    if len(found) > MAX_OPERATIONS:
        raise InvalidSettings.because(
            f"the document has {count(len(found), 'operation')}, and an instance has at most {MAX_OPERATIONS}; "
            "choose some with `only`"
        )
    reader = _Reader(opened, servers, Keys(opened, key))
    operations: list[Operation] = []
    for each in found:
        try:
            operation = reader.read(each)
            operation.definition("check")
        except OperationRefused as failure:
            refused.append(each.refusal(failure.reason))
        except ToolError as failure:
            if isinstance(failure, InvalidSettings):
                raise
            refused.append(each.refusal(failure.message.rstrip(".")))
        else:
            operations.append(operation)
    servers.refuse_unknown_variables()
    if not operations:
        raise _nothing(refused)
    return Api(operations=tuple(operations), refused=tuple(refused))


@dataclass(frozen=True, kw_only=True)
class _Found:
    """An operation as it is written, or a reason why it cannot even be read."""

    name: str
    method: str
    path: str
    item: Mapping[str, Any]
    said: Mapping[str, Any]
    reason: str | None = None

    def refusal(self, reason: str) -> Refusal:
        return Refusal(name=self.name, method=self.method.upper(), path=self.path, reason=reason)

    def is_meant_by(self, pattern: str) -> bool:
        written = self.said.get("operationId")
        return fnmatchcase(self.name, pattern) or (isinstance(written, str) and fnmatchcase(written, pattern))


def _find_operations(document: Document) -> Iterator[_Found]:
    """All operations, under names of their own that do not depend on which are chosen."""
    names: set[str] = set()
    for path, given in document.root.get("paths", {}).items():
        if path.startswith("x-"):
            continue
        for method, item, said, reason in _of_path(document, path, given):
            written = said.get("operationId")
            name = wanted = _tool_name(written if isinstance(written, str) else "", method, path)
            number = 2
            while name in names:
                name, number = f"{wanted[: _MAX_NAME - 5]}_{number}", number + 1
            names.add(name)
            yield _Found(name=name, method=method, path=path, item=item, said=said, reason=reason)


def _of_path(
    document: Document, path: str, given: object
) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any], str | None]]:
    try:
        item = document.follow(given, "its path item")
    except OperationRefused as refused:
        yield "any", {}, {}, refused.reason
        return
    if isinstance(given, Mapping):
        item = {**item, **{name: value for name, value in given.items() if name != "$ref"}}
    more = item.get("additionalOperations") if document.version == "3.2" else None
    others = {str(name).lower(): said for name, said in (more.items() if isinstance(more, Mapping) else ())}
    for method, said in {**item, **others}.items():
        if method not in METHODS and method not in _UNSENT and method not in others:
            continue
        reason = None
        if not path.startswith("/"):
            reason = "its path does not begin with `/`"
        elif "#" in path:
            reason = "its path has a fragment, which is never sent"
        elif method not in METHODS:
            reason = f"its method {quoted(method.upper())} is not one that is sent"
        elif not isinstance(said, Mapping):
            reason = "it is not an object"
        yield method, item, said if isinstance(said, Mapping) else {}, reason


def _chosen(found: Iterator[_Found], only: Sequence[str]) -> tuple[list[_Found], list[Refusal]]:
    every = list(found)
    for pattern in only:
        if not any(each.is_meant_by(pattern) for each in every):
            near = nearest(pattern, [each.name for each in every])
            hint = f"; did you mean {quoted(near)}" if near else ""
            raise InvalidSettings.because(
                f"`only` names {quoted(pattern)}, and the document has no such operation{hint}"
            )
    chosen = [each for each in every if not only or any(each.is_meant_by(pattern) for pattern in only)]
    if not chosen:
        raise InvalidSettings.because("the document has no operation")
    refused = [each.refusal(each.reason) for each in chosen if each.reason is not None]
    return [each for each in chosen if each.reason is None], refused


class _Reader:
    def __init__(self, document: Document, servers: Servers, keys: Keys) -> None:
        self._document = document
        self._servers = servers
        self._keys = keys
        self._budget = Budget()

    def read(self, found: _Found) -> Operation:
        """An operation.

        Raises:
            OperationRefused: It cannot be a tool.
        """
        key = self._keys.place_for(found.said)
        translator = SchemaTranslator(self._document, self._budget)
        parameters, given_body, base = self._parts(found)
        arguments = _Arguments(self._document, translator, key)
        for each in parameters:
            arguments.add(each, found.path)
        for name in _TEMPLATE.findall(found.path):
            if not any(each.place == "path" and each.name == name for each in arguments.parameters):
                arguments.add({"name": name, "in": "path", "required": True, "schema": {"type": "string"}}, found.path)
        body: Body | None = None
        if given_body is not None:
            body, schema, required = read_body(self._document, given_body, translator)
            arguments.put(BODY, schema, required=required)
        description = _text(found.said) or f"{found.method.upper()} {found.path}"
        return Operation(
            name=found.name,
            method=found.method,
            path=found.path,
            base=base,
            parameters=tuple(arguments.parameters),
            defaults=arguments.defaults,
            body=body,
            key=key,
            input_schema=arguments.schema(),
            description=description,
            tags=_tags(found.said),
            deprecated=found.said.get("deprecated") is True,
        )

    def _parts(self, found: _Found) -> tuple[list[Mapping[str, Any]], object, str]:
        """The parameters, the body and the base, in the form of version 3."""
        given = self._parameters(found.item) | self._parameters(found.said)
        if self._document.version != "2.0":
            return list(given.values()), found.said.get("requestBody"), self._servers.base_of(found.item, found.said)
        consumes = found.said.get("consumes", self._document.root.get("consumes"))
        base = self._servers.base_of({}, {}, schemes=found.said.get("schemes"))
        parameters, body = rewrite_parameters(given.values(), consumes)
        return list(parameters), body, base

    def _parameters(self, holder: Mapping[str, Any]) -> dict[tuple[object, object], Mapping[str, Any]]:
        given = holder.get("parameters", [])
        if not isinstance(given, list):
            raise OperationRefused("its `parameters` are not a list")
        every = [self._document.follow(each, "a parameter of it") for each in given]
        return {(str(each.get("name")), str(each.get("in"))): each for each in every}


class _Arguments:
    """The arguments of a tool, one after the other."""

    def __init__(self, document: Document, translator: SchemaTranslator, key: KeyPlace | None) -> None:
        self.parameters: list[Parameter] = []
        self.defaults: dict[str, Any] = {}
        self._document = document
        self._translator = translator
        self._key = key
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []

    def add(self, given: Mapping[str, Any], path: str) -> None:
        """Add a parameter, unless it is filled in without an argument.

        Raises:
            OperationRefused: It cannot be sent.
        """
        whole_query = given.get("in") == "querystring"
        about = {name: given[name] for name in given if name not in ("schema", "content", "example", "examples")}
        model = checked(ParameterModel, about | ({"in": "query"} if whole_query else {}), "a parameter of it")
        name = model.name
        place: Any = model.param_in.value  # one of `Place`
        if self._is_filled_in(name, place, required=model.required):
            return
        if place == "path" and f"{{{name}}}" not in path:
            raise OperationRefused(f"its path parameter {quoted(name)} is not in its path")
        style, schema = self._style(given, model, place, is_whole=whole_query)
        argument = self._argument(name, place)
        self.parameters.append(Parameter(name=name, argument=argument, place=place, style=style))
        translated = self._translator.translate(schema)
        if isinstance(translated, dict) and model.description and "description" not in translated:
            translated = {**translated, "description": model.description}
        required = place == "path" or model.required
        if required and place != "path" and isinstance(translated, dict) and "default" in translated:
            self.defaults[argument] = translated["default"]
            required = False
        self.put(argument, translated, required=required)

    def put(self, argument: str, schema: Any, *, required: bool) -> None:
        """Add an argument as it is."""
        self._properties[argument] = schema
        if required:
            self._required.append(argument)

    def schema(self) -> dict[str, Any]:
        """The schema of all of them."""
        schema: dict[str, Any] = {"type": "object", "properties": self._properties, "additionalProperties": False}
        if self._required:
            schema["required"] = self._required
        definitions = self._translator.definitions()
        return schema | ({"$defs": definitions} if definitions else {})

    def _is_filled_in(self, name: str, place: Place, *, required: bool) -> bool:
        if self._key is not None and place == self._key.place:
            same = name.lower() == self._key.name.lower() if place == "header" else name == self._key.name
            if same:
                return True
        if place != "header" or name.lower() in _IGNORED_HEADERS:
            return place == "header"
        if name.lower() in _OWN_HEADERS and required:
            raise OperationRefused(f"it needs the header {quoted(name)}, which belongs to the connection")
        return name.lower() in _OWN_HEADERS

    def _style(
        self, given: Mapping[str, Any], model: ParameterModel, place: Place, *, is_whole: bool
    ) -> tuple[Style, object]:
        content = given.get("content")
        if content is None and not is_whole:
            written = model.style or _STYLES[place][0]
            if written not in _STYLES[place]:
                raise OperationRefused(f"its parameter {quoted(model.name)} has the style {quoted(written)}")
            explode = written in ("form", "cookie") if model.explode is None else model.explode
            named: Any = "form" if written == "cookie" else written
            return Style(name=named, explode=explode, allow_reserved=model.allowReserved), given.get("schema", {})
        if not isinstance(content, Mapping) or len(content) != 1:
            raise OperationRefused(f"the `content` of its parameter {quoted(model.name)} does not have one media type")
        media_type, said = next(iter(content.items()))
        schema = self._document.follow(said, f"the media type of {quoted(model.name)}").get("schema", {})
        if is_whole and media_type == FORM:
            return Style(name="form", explode=True), schema
        if not is_whole and _JSON.fullmatch(media_type):
            return Style(name="json"), schema
        if not is_whole and media_type.startswith("text/plain"):
            return Style(name="form" if place in ("query", "cookie") else "simple"), schema
        raise OperationRefused(f"its parameter {quoted(model.name)} is written as {quoted(media_type)}")

    def _argument(self, name: str, place: Place) -> str:
        """A name that every provider of models takes, and that no other argument has."""
        plain = _ARGUMENT.sub("_", name).strip("_.-")[:_MAX_NAME] or place
        wanted = plain if plain not in self._properties and plain != BODY else f"{place}_{plain}"[:_MAX_NAME]
        argument, number = wanted, 2
        while argument in self._properties or argument == BODY:
            argument, number = f"{wanted[: _MAX_NAME - 5]}_{number}", number + 1
        return argument


def _nothing(refused: Sequence[Refusal]) -> InvalidSettings:
    first = refused[0]
    return InvalidSettings.because(
        f"no operation of the document can be a tool; {quoted(f'{first.method} {first.path}')}: {first.reason}"
    )


def _tool_name(operation_id: str, method: str, path: str) -> str:
    name = _NAME.sub("_", operation_id or f"{method}_{path}").strip("_-")[:_MAX_NAME]
    return name if name and name[0].isalpha() else f"{method}_{name}"[:_MAX_NAME]


def _text(said: Mapping[str, Any]) -> str:
    parts = [part.strip() for part in (said.get("summary"), said.get("description")) if isinstance(part, str)]
    return "\n\n".join(dict.fromkeys(part for part in parts if part))


def _tags(said: Mapping[str, Any]) -> tuple[str, ...]:
    given = said.get("tags")
    return tuple(each for each in given if isinstance(each, str))[:_MAX_TAGS] if isinstance(given, list) else ()
