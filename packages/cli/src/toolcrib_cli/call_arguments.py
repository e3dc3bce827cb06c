"""Arguments of a call as a person types them: JSON, a file, standard input, or `key=value` by the tool's schema."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from toolcrib_core import MalformedJson, ToolError, parse_json
from toolcrib_core.wording import kind_of, quoted

_MAX_BYTES: Final = 4 * 1024 * 1024
_STRING: Final = "string"


def read_arguments(pairs: Sequence[str], args: str | None, schema: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments together; a pair counts before the same key in `args`.

    Raises:
        BadParameter: They cannot be read; the message says which, and no value is in it.
    """
    read = {} if args is None else _object(args)
    properties = schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    for pair in pairs:
        key, value = _pair(pair, known)
        read[key] = value
    return read


def _object(given: str) -> dict[str, Any]:
    value = _json(_text(given), "--args")
    if not isinstance(value, dict):
        raise typer.BadParameter(f"The arguments are a JSON object, and this is {kind_of(value)}.", param_hint="--args")
    return value


def _text(given: str) -> str:
    if given == "-":
        return sys.stdin.read(_MAX_BYTES + 1)
    if not given.startswith("@"):
        return given
    file = Path(given[1:])
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_BYTES + 1).decode()
    except OSError as failure:
        raise typer.BadParameter(
            f"{quoted(str(file))} cannot be read: {failure.strerror}.", param_hint="--args"
        ) from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{quoted(str(file))} is not UTF-8 text.", param_hint="--args") from None


def _pair(pair: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    key, mark, value = pair.partition("=")
    if not mark or not key.rstrip(":"):
        raise typer.BadParameter(f"{quoted(key)} is no `KEY=VALUE`.", param_hint="KEY=VALUE")
    if key.endswith(":"):
        return key[:-1], _json(value, f"{key[:-1]}:=")
    kinds = _kinds(known.get(key))
    if not kinds or _STRING in kinds:
        return key, value
    # What is no JSON stays text: the schema then says what is wrong with it, in its own words.
    try:
        return key, parse_json(value)
    except ToolError:
        return key, value


def _kinds(schema: object) -> set[str]:
    """The types that a value may have, as far as the schema says so plainly; none where it does not."""
    if not isinstance(schema, Mapping):
        return set()
    kind, options = schema.get("type"), schema.get("enum")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, Iterable):
        return {str(each) for each in kind}
    if isinstance(options, Iterable):
        return {_STRING if isinstance(each, str) else "other" for each in options}
    branches = [each for name in ("anyOf", "oneOf") for each in schema.get(name) or ()]
    return {kind for each in branches for kind in _kinds(each) or {_STRING}}


def _json(text: str, what: str) -> Any:
    try:
        return parse_json(text)
    except MalformedJson as failure:
        place = f"at line {failure.details['line']}, column {failure.details['column']}"
        raise typer.BadParameter(f"It is not JSON: {failure.details['reason']}, {place}.", param_hint=what) from None
    except ToolError as failure:
        raise typer.BadParameter(failure.message, param_hint=what) from None
