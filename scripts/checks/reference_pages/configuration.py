"""Every setting of the gateway, read from the models that check it."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import griffe
from pydantic import BaseModel
from pydantic.json_schema import PydanticJsonSchemaWarning

from checks.reference_pages.tables import code, paragraph, table

_INTRODUCTION = """\
# Configuration

A configuration is the file that an MCP client already has: JSON, in which comments and trailing commas are fine.
Servers stand under `mcpServers`, `servers` (VS Code) or `context_servers` (Zed).

| key of a server | what it is |
|---|---|
| `command`, `args`, `env`, `cwd` | a program that is started and spoken to over standard input and output |
| `url` (also `serverUrl`, `httpUrl`), `headers` | a server that is reached over streamable HTTP |
| `type` (also `transport`) | `stdio` or `http`, where the other keys do not say it |
| `disabled`, `enabled` | whether the server is served |

`${NAME}` and `${env:NAME}` in any of these texts stand for a variable of the environment.
`${NAME:-otherwise}` has a default.
A variable without a value is an error that names it and its line.

The settings below stand in the same file under `toolcrib`, or in a `toolcrib.toml` beside it.
They take no variables, an unknown key is an error, and so is one that both files say differently."""
_HEADING = ("key", "value", "default", "what it does")


def render_configuration() -> str:
    """The page of all settings: those at the top, then each group that one of them leads to."""
    from toolcrib_mcp.config import GatewaySettings

    lines = [_INTRODUCTION]
    for title, model in _groups("toolcrib", GatewaySettings):
        lines += ["", f"## `{title}`", "", *_sentences(model), "", *table(_HEADING, _rows(title, model))]
    return "\n".join(lines) + "\n"


def _groups(title: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    yield title, model
    for field in model.model_fields.values():
        for inner in _models(field.annotation):
            yield from _groups(_path(title, str(field.alias), mapping="Mapping" in str(field.annotation)), inner)


def _path(title: str, key: str, *, mapping: bool) -> str:
    return f"{title}.{key}.<{'tool' if key == 'risk' else 'name'}>" if mapping else f"{title}.{key}"


def _models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _rows(title: str, model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)  # a default that is an empty map
        properties = model.model_json_schema(by_alias=True)["properties"]
    said = _docstrings(model)
    for name, field in model.model_fields.items():
        schema = properties[field.alias]
        inner = next(_models(field.annotation), None)
        if inner is None:
            value, default = _shape(schema), _default(schema.get("default"))
        else:
            path = _path(title, str(field.alias), mapping="Mapping" in str(field.annotation))
            value, default = f"see [`{path}`](#{anchor(path)})", ""
        yield code(str(field.alias)), value, default, _camel(paragraph(said.get(name)), model)


def anchor(heading: str) -> str:
    """The anchor that Markdown gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-")


def _shape(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_shape(each) for each in schema["anyOf"] if each != {"type": "null"})
    if "enum" in schema:
        return ", ".join(code(each) for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of: {_shape(schema['items'])}"
    words = {"string": "text", "boolean": "`true` or `false`", "integer": "whole number", "number": "number"}
    return words[schema["type"]] + _bounds(schema)


def _bounds(schema: Mapping[str, Any]) -> str:
    low, above, high = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    said = [
        f"from {low:,}" if low is not None else "",
        f"above {above:,}" if above is not None else "",
        f"up to {high:,}" if high is not None else "",
    ]
    return " ".join(["", *filter(None, said)])


def _default(value: object) -> str:
    return "" if value is None else code(json.dumps(value))


def _sentences(model: type[BaseModel]) -> list[str]:
    text = _camel(" ".join((model.__doc__ or "").split()), model)
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", text)


def _camel(text: str, model: type[BaseModel]) -> str:
    """The names of settings as the file has them."""
    for name, field in model.model_fields.items():
        text = text.replace(f"`{name}`", f"`{field.alias}`")
    return text


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """What the source says beneath each field; pydantic does not keep it."""
    module = griffe.visit(model.__module__, Path(_file(model)), Path(_file(model)).read_text("utf-8"))
    members = module[model.__name__].members
    return {name: each.docstring.value for name, each in members.items() if each.docstring is not None}


def _file(model: type[BaseModel]) -> str:
    import inspect

    return inspect.getfile(model)
