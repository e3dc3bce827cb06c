"""What a program or server is given, and what its answer is read as: JSON, or what text programs and forms take."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from toolcrib_core import JsonValue
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer
from toolcrib_runtime.errors import MalformedOutput
from toolcrib_runtime.guards.json import parse_output
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.json_paths import find_values, parse_json_path
from toolcrib_runtime.outputs import OUTPUT_LIMITS
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.model import CliExecution, HttpExecution, Toolpack, templates_of
from toolcrib_toolpacks.rendering import Rendering
from toolcrib_toolpacks.template_engine import plain, to_json
from toolcrib_toolpacks.template_rules import named_inputs
from toolcrib_toolpacks.templating import parse_template

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "form": "application/x-www-form-urlencoded",
}
"""What a request says of its body, by `input`."""

ACCEPTED: Final[Mapping[str, str]] = {"json": "application/json", "csv": "text/csv"}
"""What a request asks for, by `output`; of text, everything is taken."""

WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
"""The methods whose requests carry the input."""

_BODY: Final = ("execution", "body")


@dataclass(frozen=True, kw_only=True)
class Shaped:
    """The input of a call, in the form that its pack asks for."""

    content: bytes = b""
    """What stands on standard input, or in the body of the request."""
    options: tuple[str, ...] = ()
    """What is added to the command line."""
    query: str = ""
    """What is added to the query of the URL."""


def shape_input(
    pack: Toolpack, execution: CliExecution | HttpExecution, rendering: Rendering, arguments: Mapping[str, object]
) -> Shaped:
    """What one call gives to its program or server.

    Raises:
        TemplateError: A value is missing or may not stand where it would.
    """
    body, form = execution.body, execution.input
    if isinstance(body, str):
        return Shaped(content=rendering.text(_BODY, arguments).encode())
    chosen = _chosen(pack, body, arguments)
    if form == "args":
        is_request = isinstance(execution, HttpExecution)
        return Shaped(query=_fields(chosen)) if is_request else Shaped(options=_options(chosen))
    write = _WRITERS.get(form)
    return Shaped() if write is None else Shaped(content=write(chosen).encode())


def read_output(data: bytes, execution: CliExecution | HttpExecution, *, what: str, scrubber: Scrubber) -> JsonValue:
    """What a program printed or a server answered, as the pack reads it.

    Raises:
        MalformedOutput: It is not in the form that the pack says, or does not have what the pack selects.
        OutputTooLarge: It is too long, too deep or has too many parts.
    """
    if execution.output == "json":
        value = parse_output(data.strip(), what=what, limits=OUTPUT_LIMITS, scrubber=scrubber)
    else:
        text = _decoded(data, what)
        value = text if execution.output == "text" else _rows(text, what) if execution.output == "csv" else _lines(text)
    return value if execution.select is None else _selected(value, execution.select, what)


def with_query(url: str, query: str) -> str:
    """A URL with more in its query."""
    if not query:
        return url
    place, mark, fragment = url.partition("#")
    return f"{place}{'&' if '?' in place else '?'}{query}{mark}{fragment}"


def _chosen(pack: Toolpack, names: Sequence[str] | None, arguments: Mapping[str, object]) -> dict[str, object]:
    if names is not None:
        return {name: arguments[name] for name in names if name in arguments}
    if pack.execution["input"] != "args":
        return dict(arguments)
    trees = [tree for text in templates_of(pack).values() if (tree := parse_template(text)) is not None]
    taken = {name for tree in trees for name in named_inputs(tree)}
    return {name: value for name, value in arguments.items() if name not in taken}


def _options(values: Mapping[str, object]) -> tuple[str, ...]:
    found: list[str] = []
    for name, value in values.items():
        option = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            if one is True:
                found.append(option)
            elif one is not None and one is not False:
                found.append(f"{option}={_as_text(one)}")
    if any("\x00" in each for each in found):
        raise TemplateError("A value for a command line holds a NUL character, which ends the text there.")
    return tuple(found)


def _fields(values: Mapping[str, object]) -> str:
    pairs = [
        (name, _as_text(one))
        for name, value in values.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
    ]
    return urlencode(pairs, quote_via=quote)


def _as_text(value: object) -> str:
    return plain(value) if isinstance(value, str | int | float) else to_json(value)


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, object]], str]]] = {
    "json": to_json,
    "text": lambda values: "".join(map(_as_text, values.values())),
    "form": _fields,
}


def _decoded(data: bytes, what: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise MalformedOutput(
            f"The {what} is not text in UTF-8: byte {failure.start + 1:,} cannot be read.",
            hint="Let the program write UTF-8.",
            details={"bytes": len(data)},
        ) from None
    return text.rstrip("\r\n")


def _lines(text: str) -> list[JsonValue]:
    return [line.removesuffix("\r") for line in text.split("\n")] if text else []


def _rows(text: str, what: str) -> list[JsonValue]:
    """The rows of a table, each by the names in its first row."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = list(reader)
    except csv.Error as failure:
        raise _no_table(what, f"{failure}, behind line {reader.line_num:,}") from None
    names = list(reader.fieldnames or ())
    if len(set(names)) < len(names):
        raise _no_table(what, "two columns have the same name")
    for number, row in enumerate(rows, start=1):
        if None in row:
            raise _no_table(what, f"row {number:,} has more values than there are columns")
    return [dict(row) for row in rows]


def _no_table(what: str, reason: str) -> MalformedOutput:
    return MalformedOutput(
        f"The {what} is not a table in CSV: {reason}.", hint="Its first row must have the names of the columns."
    )


def _selected(value: JsonValue, select: str, what: str) -> JsonValue:
    if select.startswith("$"):
        return [each for _, each in find_values(value, parse_json_path(select))]
    found = look_up(value, split_pointer(select))
    if found is MISSING:
        raise MalformedOutput(
            f"The {what} has nothing at `{select}`, which the pack selects.",
            hint="This is a fault of the tool, or of the server that it asks.",
            details={"select": select, "excerpt": json.dumps(value, ensure_ascii=False)[:200]},
        )
    selected: JsonValue = found
    return selected
