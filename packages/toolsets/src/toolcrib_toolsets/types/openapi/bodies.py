"""The body of an operation: which of its media types is sent, and the schema of the argument `body`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from openapi_pydantic import Encoding, RequestBody

from toolcrib_core.wording import listed, quoted
from toolcrib_toolsets.types.openapi.documents import MAX_REFERENCES, Document, checked
from toolcrib_toolsets.types.openapi.operations import Body, OperationRefused, Style
from toolcrib_toolsets.types.openapi.schemas import SchemaTranslator
from toolcrib_toolsets.types.openapi.swagger import FORM, MULTIPART

FILE_SCHEMA: Final = {
    "type": "object",
    "description": "A file: either `text`, or `base64` for bytes.",
    "properties": {
        "filename": {"type": "string", "minLength": 1, "maxLength": 255},
        "contentType": {"type": "string", "pattern": "^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+$"},
        "text": {"type": "string"},
        "base64": {"type": "string", "contentEncoding": "base64"},
    },
    "oneOf": [{"required": ["text"]}, {"required": ["base64"]}],
    "additionalProperties": False,
}
"""A file as an argument."""

_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+*-]+/[A-Za-z0-9.+*-]+(?:; ?[A-Za-z0-9-]+=[A-Za-z0-9.-]+)*")
_JSON: Final = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json")
_MERGE_PATCH: Final = "application/merge-patch+json"
_JSON_PATCH: Final = "application/json-patch+json"
_LAST_JSON_RANK: Final = 3
_MAX_DEPTH: Final = 10  # schemas within schemas in which a file is looked for
_PART_STYLES: Final = ("form", "spaceDelimited", "tabDelimited", "pipeDelimited", "deepObject")
_TEXT_TYPES: Final = ("string", "integer", "number", "boolean")


def read_body(document: Document, given: object, translator: SchemaTranslator) -> tuple[Body, Any, bool]:
    """How the body of an operation is written, its schema, and whether it is required.

    Raises:
        OperationRefused: It is wrong, or has only media types that cannot be written.
    """
    said = document.follow(given, "its body")
    content = said.get("content")
    media_types = {
        name: document.follow(each, f"the body {quoted(name)}")
        for name, each in (content.items() if isinstance(content, Mapping) else ())
    }
    bare: dict[str, Any] = {"content": {name: {} for name in media_types}} if isinstance(content, Mapping) else {}
    model = checked(RequestBody, {**said, **bare}, "its body")
    ranked = sorted(
        ((rank, position, name) for position, name in enumerate(media_types) if (rank := _rank(name)) is not None)
    )
    if not ranked:
        known = f"{listed(media_types)}, which cannot be written" if media_types else "of no media type"
        raise OperationRefused(f"its body is {known}")
    reasons: list[str] = []
    for _, _, name in ranked:
        try:
            body, schema = _of_media_type(document, name, media_types[name], translator)
        except OperationRefused as refused:
            reasons.append(refused.reason)
        else:
            return body, _described(schema, model.description), model.required
    raise OperationRefused(reasons[0])


def _rank(name: str) -> int | None:
    media_type = _bare(name)
    if _JSON.fullmatch(media_type) or media_type in ("*/*", "application/*"):
        exact = {"application/json": 0, _MERGE_PATCH: 1, _JSON_PATCH: _LAST_JSON_RANK}
        return exact.get(media_type, 2)
    if media_type == FORM:
        return 4
    if media_type == MULTIPART:
        return 5
    if media_type.startswith("text/"):
        return 6
    if media_type == "application/octet-stream" or media_type.startswith(("image/", "audio/", "video/")):
        return 7
    return 8 if media_type.startswith("application/") and not media_type.endswith("xml") else None


def _of_media_type(
    document: Document, name: str, said: Mapping[str, Any], translator: SchemaTranslator
) -> tuple[Body, Any]:
    media_type, given = _bare(name), said.get("schema", {})
    if "schema" not in said and ("itemSchema" in said or "itemEncoding" in said or "prefixEncoding" in said):
        raise OperationRefused(f"its body {quoted(name)} is a sequence of items")
    if media_type in (FORM, MULTIPART):
        return _of_form(document, media_type, said, translator)
    kinds = _types_of(document, given)
    rank = _rank(name)
    if rank is not None and rank <= _LAST_JSON_RANK and not _is_binary(document, given):
        exact = "application/json" if "*" in media_type else name
        return Body(kind="json", media_type=exact), translator.translate(given)
    if media_type.startswith("text/") and kinds <= set(_TEXT_TYPES):
        exact = "text/plain" if "*" in media_type else name
        return Body(kind="text", media_type=exact), translator.translate(given) if kinds else {"type": "string"}
    if _is_binary(document, given) or not given:
        exact = "application/octet-stream" if "*" in media_type else name
        schema = {"type": "string", "contentEncoding": "base64", "description": "The bytes of the body, in base64."}
        return Body(kind="base64", media_type=exact), schema
    raise OperationRefused(f"its body is {quoted(name)} with a schema that cannot be written as that")


def _of_form(
    document: Document, media_type: str, said: Mapping[str, Any], translator: SchemaTranslator
) -> tuple[Body, Any]:
    given = said.get("schema", {})
    if given and "object" not in (_types_of(document, given) or {"object"}):
        raise OperationRefused(f"its body {quoted(media_type)} is not an object")
    styles: dict[str, Style] = {}
    part_types: dict[str, str] = {}
    encodings = said.get("encoding")
    for name, each in encodings.items() if isinstance(encodings, Mapping) else ():
        _read_encoding(str(name), each, media_type, styles, part_types)
    fields = dict(_fields(document, given, 0))
    files = frozenset(
        name
        for name, each in fields.items()
        if _is_file(document, each, part_types.get(name), is_form=media_type == FORM)
    )
    if files and media_type == FORM:
        raise OperationRefused(f"its form has the file {listed(sorted(files))}, and only multipart/form-data has files")
    body = Body(
        kind="form" if media_type == FORM else "multipart",
        media_type=media_type,
        styles=styles,
        part_types=part_types,
        files=files,
    )
    if not files:
        schema = translator.translate(given)
        return body, schema if given else {"type": "object"}
    return body, _with_files(document, given, fields, files, translator)


def _read_encoding(
    name: str, given: object, media_type: str, styles: dict[str, Style], part_types: dict[str, str]
) -> None:
    if not isinstance(given, Mapping):
        raise OperationRefused(f"the encoding of {quoted(name)} is not an object")
    if given.get("headers") and media_type == MULTIPART:
        raise OperationRefused(f"the part {quoted(name)} of its body has headers of its own")
    about = {key: value for key, value in given.items() if key != "headers"}
    encoding = checked(Encoding, about, f"the encoding of {quoted(name)}")
    if {"style", "explode", "allowReserved"} & set(given):
        style = encoding.style or "form"
        if style not in _PART_STYLES:
            raise OperationRefused(f"the field {quoted(name)} has the style {quoted(style)}")
        explode = (style == "form") if encoding.explode is None else encoding.explode
        styles[name] = Style(
            name=style,  # type: ignore[arg-type]  # one of the names above
            explode=explode,
            allow_reserved=encoding.allowReserved,
        )
    elif encoding.contentType:
        media_type = encoding.contentType.split(",")[0].strip()
        if not _MEDIA_TYPE.fullmatch(media_type):
            raise OperationRefused(f"the field {quoted(name)} has the content type {quoted(media_type)}")
        part_types[name] = media_type


def _with_files(
    document: Document,
    given: object,
    fields: Mapping[str, object],
    files: frozenset[str],
    translator: SchemaTranslator,
) -> dict[str, Any]:
    """The fields of a form in one schema, in which files are objects with their name and content."""
    top = document.follow(given, "the schema of its body")
    if any(name in top for name in ("anyOf", "oneOf", "not", "if")):
        raise OperationRefused("its form has files and alternatives at once")
    properties: dict[str, Any] = {}
    for name, each in fields.items():
        if name not in files:
            properties[name] = translator.translate(each)
        else:
            described = document.follow(each, quoted(name)) if isinstance(each, Mapping) else {}
            one = _described_anew(FILE_SCHEMA, described.get("description"))
            is_list = "array" in _types_of(document, each)
            properties[name] = {"type": "array", "items": one} if is_list else one
    schema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": top.get("additionalProperties") is True,
    }
    required = [name for name in _required(document, given, 0) if name in properties]
    return {**schema, "required": required} if required else schema


def _fields(document: Document, given: object, depth: int) -> Iterator[tuple[str, object]]:
    """The properties of a schema and of those that it is made up of."""
    if not isinstance(given, Mapping) or depth > MAX_REFERENCES:
        return
    schema = document.follow(given, "a schema of its body")
    for word in ("allOf", "anyOf", "oneOf"):
        for each in _items(schema.get(word)):
            yield from _fields(document, each, depth + 1)
    properties = schema.get("properties")
    yield from ((str(name), each) for name, each in (properties.items() if isinstance(properties, Mapping) else ()))


def _required(document: Document, given: object, depth: int) -> list[str]:
    if not isinstance(given, Mapping) or depth > MAX_REFERENCES:
        return []
    schema = document.follow(given, "a schema of its body")
    found = [each for each in _items(schema.get("required")) if isinstance(each, str)]
    for each in _items(schema.get("allOf")):
        found += _required(document, each, depth + 1)
    return list(dict.fromkeys(found))


def _is_file(document: Document, given: object, part_type: str | None, *, is_form: bool) -> bool:
    if _is_binary(document, given):
        return True
    if is_form or not isinstance(given, Mapping):
        return False
    schema = document.follow(given, "a schema of its body")
    if "array" in _types_of(document, schema):
        return _is_file(document, schema.get("items"), part_type, is_form=is_form)
    # 3.1 says nothing of a file but its media type, and not even that where the encoding does.
    is_open = not {"type", "properties", "enum", "const", "anyOf", "oneOf", "allOf"} & set(schema)
    return is_open and part_type is not None and not _JSON.fullmatch(part_type) and not part_type.startswith("text/")


def _is_binary(document: Document, given: object, depth: int = 0) -> bool:
    if not isinstance(given, Mapping) or depth > _MAX_DEPTH:
        return False
    schema = document.follow(given, "a schema of its body")
    if schema.get("format") == "binary" or schema.get("type") == "file":
        return True
    if "contentMediaType" in schema and "contentEncoding" not in schema and schema.get("type", "string") == "string":
        media_type = str(schema["contentMediaType"])
        return not _JSON.fullmatch(media_type) and not media_type.startswith("text/")
    inner = [schema.get("items"), *(each for word in ("allOf", "anyOf", "oneOf") for each in _items(schema.get(word)))]
    return any(_is_binary(document, each, depth + 1) for each in inner)


def _types_of(document: Document, given: object, depth: int = 0) -> set[str]:
    """The types that a schema allows, as far as it says so."""
    if not isinstance(given, Mapping) or depth > _MAX_DEPTH:
        return set()
    schema = document.follow(given, "a schema of its body")
    written = schema.get("type")
    if isinstance(written, str):
        return {written}
    if isinstance(written, list):
        return {each for each in written if isinstance(each, str) and each != "null"}
    if "properties" in schema:
        return {"object"}
    found: set[str] = set()
    for word in ("allOf", "anyOf", "oneOf"):
        for each in _items(schema.get(word)):
            found |= _types_of(document, each, depth + 1)
    return found - {"null"}


def _items(given: object) -> list[Any]:
    return given if isinstance(given, list) else []


def _bare(name: str) -> str:
    return name.partition(";")[0].strip().lower()


def _described(schema: Any, description: str | None) -> Any:
    if isinstance(schema, dict) and description and "description" not in schema:
        return {**schema, "description": description}
    return schema


def _described_anew(schema: Mapping[str, Any], description: object) -> dict[str, Any]:
    if not isinstance(description, str) or not description.strip():
        return dict(schema)
    return {**schema, "description": f"{description.strip()} {schema['description']}"}
