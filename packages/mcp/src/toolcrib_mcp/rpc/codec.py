"""Messages as lines of JSON: writing them, reading them, and telling what a line that cannot be read belongs to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from toolcrib_mcp.rpc.lines import HEAD_BYTES, TAIL_BYTES

_KEYS: Final = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
# Byte order mark, control characters, colours, and the window titles that package runners write.
_DECORATION = re.compile(
    rb"(?:\xef\xbb\xbf|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x20\x7f])+"
)
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
# A value counts only with what follows it: that of a line which breaks off may be cut.
_MEMBER = re.compile(
    rb'\s*"(?P<key>\w{1,32})"\s*:\s*(?:(?P<value>-?\d{1,19}|"(?:[^"\\]|\\.){0,200}"|null)\s*(?P<next>[,}]))?'
)
# Some servers write the id last. Beside the version, and with nothing after it, it is not one from inside the result.
_ID = rb'"id"\s*:\s*(-?\d{1,19}|"[^"\\]{0,200}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_LAST_ID = re.compile(rb",\s*(?:%b\s*,\s*%b|%b\s*,\s*%b)\s*\}\s*\Z" % (_VERSION, _ID, _ID, _VERSION))
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_DIGITS_ONLY = bytes(ord("0") if each in b"0123456789" else ord(" ") for each in range(256))
_LONG_INTEGER = b"0" * 19


@dataclass(frozen=True, kw_only=True, slots=True)
class Outline:
    """What the ends of a line tell: whether it is meant as a message, as an answer, and which request it answers."""

    is_message: bool
    is_answer: bool
    id: object | None


def encode_message(message: Mapping[str, Any]) -> bytes:
    """The message as one line with its newline.

    Raises:
        TypeError: It is not JSON.
    """
    try:
        return orjson.dumps(message, default=_plain, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # What JSON has and orjson has not: integers beyond 64 bits, lone surrogates, and more than 254 levels.
        return _encode_slowly(message)


def json_text(value: object) -> str:
    """A value as compact JSON.

    Raises:
        TypeError: It is nested too deeply to be written down.
    """
    wrapped = encode_message({"": value})
    return wrapped[len(b'{"":') : -len(b"}\n")].decode()


def decode(line: bytes) -> object:
    """The JSON value of a line, with every integer exact.

    Raises:
        ValueError: It is not JSON, is nested deeper than 1,024, or has a number beyond every double.
    """
    value: object = orjson.loads(line)
    # orjson reads an integer beyond 64 bits as the nearest double. The search takes a fraction of the reading.
    if _LONG_INTEGER in line.translate(_DIGITS_ONLY):
        try:
            return json.loads(line)
        except RecursionError:
            raise ValueError("nested too deeply for an integer beyond 64 bits") from None
    return value


def decode_strictly(line: bytes) -> object:
    """As `decode`, for text that a check and a server must understand alike.

    Raises:
        ValueError: As `decode`; or an object has a key twice, of which readers take the first or the last.
    """
    value = decode(line)
    try:
        # A duplicate key is a colon less than in the text, if no string has a colon that is written in another way.
        is_whole = orjson.dumps(value).count(b":") == line.count(b":")
    except TypeError:
        is_whole = False
    if not is_whole or _ESCAPED_COLON.search(line):
        try:
            json.loads(line, object_pairs_hook=_refuse_duplicates)
        except RecursionError:
            raise ValueError("nested too deeply to look for keys that are there twice") from None
    return value


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("an object has a key twice")


def repair(line: bytes) -> bytes:
    """The line without decoration before its text, and with U+FFFD in place of what is not Unicode."""
    decoration = _DECORATION.match(line)
    text = line[decoration.end() if decoration else 0 :].decode("utf-8", "replace")
    return _ESCAPE.sub(lambda escape: r"\ufffd" if escape["lone"] else escape[0], text).encode()


def outline(head: bytes, tail: bytes | None = None) -> Outline:
    """What a line that cannot be read was meant to be, by its beginning and, once that is there, its end."""
    members = _leading_members(head)
    is_message = not _KEYS.isdisjoint(members)
    is_answer = is_message and members.keys().isdisjoint({"method", "params"})
    answered = members.get("id") if is_answer else None
    if is_answer and answered is None and tail is not None:
        answered = _last_id(tail)
    return Outline(is_message=is_message, is_answer=is_answer, id=answered)


def outline_of(line: bytes) -> Outline:
    """As `outline`, for a whole line."""
    return outline(line[:HEAD_BYTES], line[-TAIL_BYTES:])


def request_id_in(head: bytes, tail: bytes) -> object | None:
    """The id of a request that cannot be read, by the beginning and the end of its line."""
    members = _leading_members(head)
    return members["id"] if "id" in members else _last_id(tail)


def _encode_slowly(message: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(message, default=_plain, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except (ValueError, RecursionError) as failure:
        raise TypeError(f"The message is not JSON: {failure}.") from None


def _plain(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"A value of type `{type(value).__name__}` is not JSON.")


def _leading_members(head: bytes) -> dict[str, object]:
    """The members that an object begins with, up to the first that is no plain value."""
    members: dict[str, object] = {}
    decoration = _DECORATION.match(head)
    place = decoration.end() if decoration else 0
    separator = b"," if head[place : place + 1] == b"{" else b""
    while separator == b"," and (member := _MEMBER.match(head, place + 1)):
        value, separator = member["value"], member["next"]
        members[member["key"].decode("ascii", "replace")] = None if value is None else _scalar(value)
        place = member.end() - 1
    return members


def _last_id(tail: bytes) -> object | None:
    found = _LAST_ID.search(tail)
    return None if found is None else _scalar(found[1] or found[2])


def _scalar(value: bytes) -> object:
    try:
        return orjson.loads(value)
    except ValueError:
        return None
