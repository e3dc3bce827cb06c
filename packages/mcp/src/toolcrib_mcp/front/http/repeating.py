"""Headers that repeat parts of a request: which arguments they are for, and whether they say the same."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.replies import HEADER_MISMATCH
from toolcrib_mcp.rpc import RpcError

PARAM: Final = b"mcp-param-"
"""What the names of headers begin with that repeat an argument."""

Path: TypeAlias = tuple[str, ...]

_ANNOTATION = "x-mcp-header"
_PACKED = re.compile(r"=\?base64\?(?P<text>.*)\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_DECIMAL = re.compile(r"(?P<whole>-?[0-9]{1,4000})(?:\.0+)?")
_KINDS = frozenset({"string", "integer", "boolean"})
# Where a schema holds further schemas. What stands under `default`, `enum` and the like is data, and `$ref` is not
# followed: an annotation counts only where it is written.
_HOLDS_ONE = frozenset(
    "items contains unevaluatedItems additionalProperties propertyNames unevaluatedProperties not if then else "
    "contentSchema".split()
)
_HOLDS_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_HOLDS_NAMED = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})


def unpacked(value: str | None) -> str | None:
    """The text that a header stands for; `None` where it is packed in a way that nothing packs."""
    packed = _PACKED.fullmatch(value) if value is not None else None
    if packed is None:
        return value
    try:
        raw = base64.b64decode(packed["text"], validate=True)
        # Bits beyond the last byte are let pass by the decoder, but two texts must not stand for one value.
        return raw.decode() if base64.b64encode(raw).decode() == packed["text"] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def annotated(schema: object) -> Mapping[Path, str]:
    """The places of the arguments that headers repeat, each with the name of its header.

    A schema with one annotation that is not as the protocol wants it has none at all, for clients leave such a tool
    out: it must be a token, on a string, integer or boolean that is reached through `properties` alone, and unlike all
    others.
    """
    places: dict[Path, str] = {}
    names: set[str] = set()
    for path, node in _positions(schema):
        if _ANNOTATION not in node:
            continue
        name, kind = node[_ANNOTATION], node.get("type")
        usable = isinstance(name, str) and _TOKEN.fullmatch(name) and isinstance(kind, str) and kind in _KINDS
        if not path or not usable or name.lower() in names:
            return {}
        names.add(name.lower())
        places[path] = name.lower()
    return places


def check_repeated(places: Mapping[Path, str], arguments: Mapping[str, Any], headers: Headers) -> None:
    """Refuse a call whose headers do not repeat its arguments.

    Raises:
        RpcError: A header is missing, says something else, or stands for an argument that is not there.
    """
    for path, name in places.items():
        header = PARAM + name.encode()
        said = headers.get(header)
        if header in headers.repeated:
            raise _mismatch(name, path, "came more than once")
        value = _at(arguments, path)
        text = _text(value)
        if said is None:
            if text is not None:
                raise _mismatch(name, path, "is missing")
        elif text is None or not _says(unpacked(said), value, text):
            raise _mismatch(name, path, "is not that argument")


def _positions(schema: object) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Every schema within a schema, with the properties that lead to it; `None` where something else does, too."""
    waiting: list[tuple[Path | None, object]] = [((), schema)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, dict):
            continue
        yield path, node
        for keyword, held in node.items():
            if keyword == "properties" and isinstance(held, dict):
                waiting.extend((None if path is None else (*path, name), each) for name, each in held.items())
            elif keyword in _HOLDS_ONE:
                waiting.append((None, held))
            elif keyword in _HOLDS_LIST and isinstance(held, list):
                waiting.extend((None, each) for each in held)
            elif keyword in _HOLDS_NAMED and isinstance(held, dict):
                waiting.extend((None, each) for each in held.values())


def _at(arguments: object, path: Path) -> object:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, Mapping) else None
    return arguments


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return None
    try:
        return str(value)
    except ValueError:  # an integer longer than Python writes
        return None


def _says(said: str | None, value: object, text: str) -> bool:
    if said is None:
        return False
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    number = _DECIMAL.fullmatch(said) if whole else None
    return said == text if number is None else int(number["whole"]) == value


def _mismatch(name: str, path: Path, what: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"The header `mcp-param-{name}`, for the argument `{'.'.join(path)}`, {what}.")
