"""Reading a policy file: all that is wrong with it at once, each with its line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from toolcrib_core.schema.limits import find_limit_fault
from toolcrib_core.schema.pointers import pointer_from
from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_mcp.config.files import TOML_LIMITS, Document, read_toml_file
from toolcrib_mcp.config.findings import Finding, Findings, refuse_problems, unusable_file
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy.model import CountEntry, PolicyDocument, RuleEntry
from toolcrib_mcp.policy.rules import Policy

POLICY_FILE: Final = "toolcrib.policy.toml"
"""The file beside a configuration that says what may run."""

_LESS: Final = f"A policy holds rules, limits and budgets, in at most {TOML_LIMITS.max_bytes:,} bytes of TOML."
_TABLES: Final[Mapping[str, type[RuleEntry | CountEntry]]] = {
    "rule": RuleEntry,
    "limit": CountEntry,
    "budget": CountEntry,
}
_HEADER: Final = re.compile(r"\s*\[\[?\s*[\"']?(?P<name>[A-Za-z0-9_-]*)")
_KEY: Final = re.compile(r"\s*[\"']?(?P<name>[A-Za-z0-9_-]+)[\"']?\s*[=.]")


def read_policy(path: Path) -> Policy:
    """The policy in a file.

    Raises:
        ConfigError: The file cannot be read, or something in it cannot be used. It has every problem, each with its
            line in `details["problems"]`, and repeats no value.
    """
    return policy_of(policy_document(path))


def policy_document(path: Path) -> Document:
    """The file as it is, if it is TOML.

    Raises:
        ConfigError: It cannot be read, is too large, or is not TOML.
    """
    if not os.path.lexists(path):
        hint = "`toolcrib policy ask '*'` makes one with a first rule."
        raise unusable_file(path, f"The policy {quoted(path.name)} is not there.", hint=hint)
    try:
        return read_toml_file(path)
    except ConfigError as failure:
        failure.hint = _LESS
        raise


def parse_policy(text: str, *, name: str = POLICY_FILE) -> Policy:
    """The policy in a text, as it stands in a file of this name.

    Raises:
        ConfigError: As `read_policy`.
    """
    path = Path(name)
    try:
        return policy_of(Document(path=path, text=text, value=tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        raise unusable_file(path, f"{quoted(name)} is not TOML that we can read.", hint=_LESS) from None


def policy_of(document: Document) -> Policy:
    """The policy in a file that was read.

    Raises:
        ConfigError: As `read_policy`.
    """
    fault = find_limit_fault(document.value, TOML_LIMITS)
    if fault is not None:
        message = f"{quoted(document.path.name)} cannot be read: {fault.reason}."
        raise unusable_file(document.path, message, hint=_LESS)
    findings, lines, read = Findings(document.path), _lines_of(document), PolicyDocument()
    try:
        # Through JSON, because strictness there is about what JSON can say: a list is a tuple, "1" is not a number.
        read = PolicyDocument.model_validate_json(orjson.dumps(document.value), strict=True)
    except ValidationError as failure:
        problems = [_problem(error, document, lines) for error in failure.errors(include_url=False)]
        findings.problems.extend(sorted(problems, key=lambda each: each.line or 0))
    refuse_problems(findings)
    return Policy(read, lines=lines)


def _problem(error: Mapping[str, Any], document: Document, lines: Mapping[str, int]) -> Finding:
    loc = [each for each in error["loc"] if isinstance(each, str | int)]
    names = [str(each) for each in loc]
    places = ["/".join(names[:length]) for length in range(len(names), 0, -1)]
    line = next((lines[place] for place in places if place in lines), None)
    key = quoted(next((each for each in reversed(loc) if isinstance(each, str)), ""))
    entry = _entry(names)
    hint = None
    if error["type"] == "extra_forbidden":
        message, hint = f"There is no key {key} in {entry or 'a policy'}.", _meant(names)
    elif error["type"] == "missing":
        message = f"{entry.capitalize()} has no {key}."
    else:
        message = f"{key}{entry and f' of {entry}'} cannot be used: {_said(error)}."
    return Finding(message=message, file=document.path.name, place=pointer_from(tuple(loc)), hint=hint, line=line)


def _entry(names: list[str]) -> str:
    """Which entry a place is in; people count from one."""
    match names:
        case [table, index, _, *_]:
            return f"{table} {int(index) + 1}"
    return ""


def _meant(names: list[str]) -> str | None:
    table = _TABLES.get(names[0]) if len(names) > 1 else None
    known = list((table or PolicyDocument).model_fields)
    meant = nearest(names[-1], known)
    return f"Was {quoted(meant)} meant?" if meant else f"There are {listed(known)}."


def _said(error: Mapping[str, Any]) -> str:
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return message[:1].lower() + message[1:]


def _lines_of(document: Document) -> dict[str, int]:
    """Where entries and their keys stand, by places as `rule/0` and `rule/0/decision`.

    The parser does not say. Where the headers that we find are not as many as the entries, as when a text of several
    lines has one in it, no line is better than a wrong one.
    """
    lines = dict(_scanned(document.text))
    for table in _TABLES:
        entries = document.value.get(table)
        found = [place for place in lines if re.fullmatch(rf"{table}/\d+", place)]
        if not isinstance(entries, list) or len(found) != len(entries):
            lines = {place: line for place, line in lines.items() if place.partition("/")[0] != table}
    return lines


def _scanned(text: str) -> Iterator[tuple[str, int]]:
    counts: dict[str, int] = {}
    within = ""
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.match(line)
        if header is not None:
            name = header["name"]
            if line.lstrip().startswith("[["):
                within = f"{name}/{counts.get(name, 0)}"
                counts[name] = counts.get(name, 0) + 1
            else:
                within = name
            yield within, number
            continue
        key = _KEY.match(line)
        if key is not None:
            yield (f"{within}/{key['name']}" if within else key["name"]), number
