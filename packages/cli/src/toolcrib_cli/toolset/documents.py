"""Documents in files: JSON, or YAML as JSON reads it, within bounds and with the place of a fault."""

from __future__ import annotations

import json
import re
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node, ScalarNode

MAX_BYTES: Final = 16 * 1024 * 1024
MAX_VALUES: Final = 500_000
MAX_DEPTH: Final = 200

_TAG: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MAX_DIGITS: Final = 300
_HINT: Final = "Name the file of a document in JSON or YAML."


def read_document(file: Path) -> dict[str, Any]:
    """The object in a file.

    Raises:
        ConfigError: It cannot be read, is neither JSON nor YAML, is no object, or is too large; with the place.
    """
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as failure:
        raise ConfigError(f"{quoted(str(file))} cannot be read: {failure.strerror}.", hint=_HINT) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{quoted(str(file))} has more than {MAX_BYTES // 1024 // 1024} MiB.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        raise ConfigError(f"{quoted(str(file))} is not UTF-8 at byte {failure.start}.", hint=_HINT) from None
    read = _of_json(text, file) if file.suffix.lower() == ".json" else _YamlReader(file).read(text)
    if not isinstance(read, dict):
        raise ConfigError(f"{quoted(str(file))} is not a JSON object.")
    if not _is_bounded(read):
        raise ConfigError(f"{quoted(str(file))} has more than {MAX_VALUES:,} values.")
    return read


def _of_json(text: str, file: Path) -> object:
    def refuse(constant: str) -> NoReturn:
        raise ConfigError(f"{quoted(str(file))} holds {quoted(constant)}, which is not JSON.")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as failure:
        place = f"line {failure.lineno}, column {failure.colno}"
        raise ConfigError(f"{quoted(str(file))} is not JSON at {place}: {failure.msg}.") from None
    except (RecursionError, ValueError):
        raise ConfigError(f"{quoted(str(file))} is nested too deep, or has a number that is too long.") from None


class _YamlReader:
    """Turns the nodes of a YAML document into JSON: every key is text, and only what YAML 1.2 calls a number is one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._made: dict[int, object] = {}  # by node: an alias stands for the same value
        self._open: set[int] = set()

    def read(self, text: str) -> object:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            node = yaml.compose(text, Loader=loader)
        except yaml.MarkedYAMLError as failure:
            mark = failure.problem_mark or failure.context_mark
            place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
            said = failure.problem or "it cannot be parsed"
            raise ConfigError(f"{quoted(str(self._file))} is not YAML{place}: {said}.") from None
        except (yaml.YAMLError, RecursionError):
            raise ConfigError(f"{quoted(str(self._file))} is not YAML.") from None
        return None if node is None else self._value(node, 0)

    def _value(self, node: Node, depth: int) -> object:
        import yaml

        if id(node) in self._open:
            raise self._refusal(node, "an alias stands for what it is in")
        if depth > MAX_DEPTH:
            raise self._refusal(node, f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) not in self._made:
            if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
                raise self._refusal(node, f"the tag {quoted(node.tag)} is not read")
            self._open.add(id(node))
            if isinstance(node, yaml.MappingNode):
                self._made[id(node)] = self._mapping(node, depth)
            elif isinstance(node, yaml.SequenceNode):
                self._made[id(node)] = [self._value(each, depth + 1) for each in node.value]
            self._open.discard(id(node))
        return self._made[id(node)]

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, object]:
        import yaml

        merged: dict[str, object] = {}
        own: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._refusal(key, "a key is not text")
            if key.tag == f"{_TAG}merge":
                found = self._value(value, depth + 1)
                for each in reversed(found if isinstance(found, list) else [found]):
                    if not isinstance(each, dict):
                        raise self._refusal(value, "what is merged is not an object")
                    merged |= each
                continue
            if key.value in own:
                raise self._refusal(key, f"the key {quoted(key.value)} stands there twice")
            own[key.value] = self._value(value, depth + 1)
        return merged | own

    def _scalar(self, node: ScalarNode) -> object:
        text: str = node.value
        match node.tag.removeprefix(_TAG):
            case "null":
                return None
            case "bool" if text.lower() in ("true", "false"):
                return text.lower() == "true"
            case "int" if _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS:
                return int(text)
            case "float" if _NUMBER.fullmatch(text) and isfinite(float(text)):
                return float(text)
            case "str" | "bool" | "int" | "float" | "timestamp" | "merge" | "value":
                # Yes and no, hexadecimal numbers, dates and the like are text for YAML 1.2 and for JSON.
                return text
        raise self._refusal(node, f"the tag {quoted(node.tag)} is not read")

    def _refusal(self, node: Node, reason: str) -> ConfigError:
        mark = node.start_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}"
        return ConfigError(f"{quoted(str(self._file))} cannot be used at {place}: {reason}.")


def _is_bounded(read: object) -> bool:
    """Whether it is no more than can be kept: in YAML a few lines may stand for any number of values."""
    waiting, seen = [read], 0
    while waiting and seen <= MAX_VALUES:
        each = waiting.pop()
        seen += 1
        if isinstance(each, (dict, list)):
            waiting += each.values() if isinstance(each, dict) else each
    return seen <= MAX_VALUES
