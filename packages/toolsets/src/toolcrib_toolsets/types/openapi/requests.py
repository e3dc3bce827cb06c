"""Building the request of a call: every argument in its place and style, the body in its media type, and the key."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import orjson

from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import InvalidRequest
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.types.openapi.operations import BODY, Body, KeyPlace, Operation, Style

_TEMPLATE: Final = re.compile(r"\{([^{}]+)\}")
_DELIMITERS: Final = {"spaceDelimited": "%20", "tabDelimited": "%09", "pipeDelimited": "%7C"}
_PLAIN_DELIMITERS: Final = {"spaceDelimited": " ", "tabDelimited": "\t", "pipeDelimited": "|"}
# Reserved characters that may stand in a value of a query without ending it.
_RESERVED: Final = ":/?@!$'()*,;"
_PLAIN: Final = Style(name="form", explode=True)
_MAX_EXACT: Final = 2**53
_ACCEPT: Final = "application/json, */*;q=0.5"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request that can be sent; all but its method may hold the key."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


def build_request(operation: Operation, arguments: Mapping[str, Any], key: Secret | None) -> Request:
    """The request of a call.

    Raises:
        InvalidRequest: An argument cannot stand where it belongs.
    """
    given = {**operation.defaults, **arguments}
    path: dict[str, str] = {}
    query: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    headers = {"accept": _ACCEPT}
    for each in operation.parameters:
        value = given.get(each.argument)
        if each.place == "path":
            path[each.name] = _path_text(each.name, value, each.style)
        elif value is None:
            continue
        elif each.place == "query":
            query += encode_pairs(each.name, value, each.style)
        elif each.place == "cookie":
            cookies += encode_pairs(each.name, value, each.style)
        else:
            headers[each.name] = _joined(value, each.style, _unchanged)
    content = b""
    if operation.body is not None and BODY in arguments:
        content, headers["content-type"] = encode_body(operation.body, arguments[BODY])
    if operation.key is not None:
        _put_key(operation.key, key, headers, query, cookies)
    if cookies:
        headers["cookie"] = "; ".join(f"{name}={text}" for name, text in cookies)
    url = f"{operation.base}{_filled(operation.path, path)}"
    if query:
        url += ("&" if "?" in url else "?") + "&".join(f"{name}={text}" for name, text in query)
    return Request(method=operation.method.upper(), url=url, headers=headers, content=content)


def encode_pairs(name: str, value: Any, style: Style) -> list[tuple[str, str]]:
    """A value as pairs of a query or a form, percent-encoded. What is null, or an empty list or object, has none."""
    encode = _reserving if style.allow_reserved else _encoded
    if style.name == "deepObject":
        return [(_encoded(path), encode(text_of(each))) for path, each in _deep_members(name, value)]
    if style.name == "json" or not isinstance(value, (list, dict)):
        text = _json_text(value) if style.name == "json" else text_of(value)
        return [] if value is None else [(_encoded(name), encode(text))]
    if style.explode and isinstance(value, dict):
        return [(_encoded(key), encode(text_of(each))) for key, each in value.items() if each is not None]
    if style.explode:
        return [(_encoded(name), encode(text_of(each))) for each in value if each is not None]
    items = _flat(value)
    delimiter = _DELIMITERS.get(style.name, ",")
    return [(_encoded(name), delimiter.join(map(encode, items)))] if items else []


def encode_body(body: Body, value: Any) -> tuple[bytes, str]:
    """The bytes of a body, and its content type.

    Raises:
        InvalidRequest: It is a form and not an object, or something in it is not base64.
    """
    if body.kind in ("form", "multipart") and not isinstance(value, dict):
        raise InvalidRequest(f"The argument {quoted(BODY)} is not an object, and is sent as a form.")
    match body.kind:
        case "json":
            return orjson.dumps(value), body.media_type
        case "form":
            pairs = [pair for name, each in value.items() for pair in _form_pairs(body, name, each)]
            return "&".join(f"{name}={text}" for name, text in pairs).encode(), body.media_type
        case "multipart":
            boundary = uuid.uuid4().hex
            parts = [part for name, each in value.items() for part in _parts(body, name, each)]
            lines = b"".join(b"--%s\r\n%s\r\n" % (boundary.encode(), part) for part in parts)
            return b"%s--%s--\r\n" % (lines, boundary.encode()), f"{body.media_type}; boundary={boundary}"
        case "text":
            named = body.media_type if "charset" in body.media_type else f"{body.media_type}; charset=utf-8"
            return text_of(value).encode(), named
    return _decoded(BODY, value), body.media_type


def text_of(value: Any) -> str:
    """A value as text: numbers and booleans as JSON has them, a list or object inside another one as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        return str(int(value))
    return _json_text(value)


def _json_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _deep_members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _deep_members(f"{name}[{key}]", each)
    elif value is not None:
        yield name, value


def _flat(value: list[Any] | dict[str, Any]) -> list[str]:
    if isinstance(value, list):
        return [text_of(each) for each in value if each is not None]
    return [text for key, each in value.items() if each is not None for text in (key, text_of(each))]


def _joined(value: Any, style: Style, encode: Any) -> str:
    """A value in one text, as `simple` has it."""
    if style.name == "json":
        return str(encode(_json_text(value)))
    if not isinstance(value, (list, dict)):
        return str(encode(text_of(value)))
    if style.explode and isinstance(value, dict):
        return ",".join(f"{encode(key)}={encode(text_of(each))}" for key, each in value.items() if each is not None)
    delimiters = _PLAIN_DELIMITERS if encode is _unchanged else _DELIMITERS
    return delimiters.get(style.name, ",").join(map(encode, _flat(value)))


def _path_text(name: str, value: Any, style: Style) -> str:
    if value is None or value in ([], {}):
        raise InvalidRequest(f"The argument {quoted(name)} is empty, and stands in the path.")
    if style.name == "label":
        if style.explode and isinstance(value, list):
            return "".join(f".{_encoded(each)}" for each in _flat(value))
        text = _joined(value, style, _encoded)
        return f".{text.replace(',', '.') if style.explode else text}"
    if style.name == "matrix":
        if not isinstance(value, (list, dict)) or not style.explode:
            return f";{_encoded(name)}={_joined(value, style, _encoded)}"
        return "".join(f";{key}={text}" for key, text in encode_pairs(name, value, _PLAIN))
    return _joined(value, style, _encoded)


def _filled(path: str, values: Mapping[str, str]) -> str:
    address, mark, query = path.partition("?")
    segments = address.split("/")
    for position, each in enumerate(segments):
        segments[position] = _TEMPLATE.sub(lambda found: values[found[1]], each)
        if segments[position] != each and segments[position] in ("", ".", ".."):
            # Escaped or not, these would lead to another operation.
            raise InvalidRequest(
                "An argument of the path is empty or made of dots.", hint="It must be a name or an id."
            )
    return "/".join(segments) + mark + _TEMPLATE.sub(lambda found: values[found[1]], query)


def _form_pairs(body: Body, name: str, value: Any) -> list[tuple[str, str]]:
    if name in body.styles:
        return encode_pairs(name, value, body.styles[name])
    if isinstance(value, list):
        return encode_pairs(name, value, _PLAIN)
    return encode_pairs(name, value, Style(name="json") if isinstance(value, dict) else _PLAIN)


def _parts(body: Body, name: str, value: Any) -> Iterator[bytes]:
    if name in body.styles:
        for key, text in _unencoded_pairs(name, value, body.styles[name]):
            yield _part(key, text.encode())
        return
    for each in value if isinstance(value, list) else [value]:
        if each is None:
            continue
        media_type = body.part_types.get(name)
        if name in body.files:
            yield _file_part(name, each, media_type)
        elif isinstance(each, (dict, list)):
            yield _part(name, orjson.dumps(each), media_type=media_type or "application/json")
        else:
            yield _part(name, text_of(each).encode(), media_type=media_type)


def _unencoded_pairs(name: str, value: Any, style: Style) -> list[tuple[str, str]]:
    if style.name == "deepObject":
        return [(path, text_of(each)) for path, each in _deep_members(name, value)]
    if not isinstance(value, (list, dict)):
        return [] if value is None else [(name, text_of(value))]
    if style.explode and isinstance(value, dict):
        return [(key, text_of(each)) for key, each in value.items() if each is not None]
    if style.explode:
        return [(name, text_of(each)) for each in value if each is not None]
    return [(name, _PLAIN_DELIMITERS.get(style.name, ",").join(_flat(value)))]


def _file_part(name: str, value: Mapping[str, Any], media_type: str | None) -> bytes:
    is_text = "text" in value
    content = value["text"].encode() if is_text else _decoded(name, value["base64"])
    fallback = media_type if media_type and "*" not in media_type else None
    chosen = (
        value.get("contentType") or fallback or ("text/plain; charset=utf-8" if is_text else "application/octet-stream")
    )
    return _part(name, content, media_type=chosen, filename=value.get("filename") or name)


def _part(name: str, content: bytes, *, media_type: str | None = None, filename: str | None = None) -> bytes:
    disposition = f'form-data; name="{_in_quotes(name)}"'
    if filename is not None:
        disposition += f'; filename="{_in_quotes(filename)}"'
    lines = f"content-disposition: {disposition}\r\n" + (f"content-type: {media_type}\r\n" if media_type else "")
    return lines.encode() + b"\r\n" + content


def _in_quotes(text: str) -> str:
    """As browsers write names in a multipart body."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _decoded(name: str, value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        raise InvalidRequest(f"The argument {quoted(name)} is not base64.", hint="Send text as `text`.") from None


def _put_key(
    place: KeyPlace,
    key: Secret | None,
    headers: dict[str, str],
    query: list[tuple[str, str]],
    cookies: list[tuple[str, str]],
) -> None:
    if key is None:
        return
    text = key.reveal()
    if place.basic:
        headers["authorization"] = f"Basic {base64.b64encode(text.encode()).decode()}"
    elif place.place == "header":
        headers[place.name.lower()] = place.word + text
    elif place.place == "query":
        query.append((_encoded(place.name), _encoded(text)))
    else:
        cookies.append((place.name, _encoded(text)))


def _encoded(text: str) -> str:
    return quote(text, safe="")


def _reserving(text: str) -> str:
    return quote(text, safe=_RESERVED)


def _unchanged(text: str) -> str:
    return text
