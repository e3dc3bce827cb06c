"""Reading configuration files: bounded, and with errors that say what is wrong with the file."""

from __future__ import annotations

import grp
import os
import pwd
import re
import shlex
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolcrib_core import ArgumentsTooLarge, MalformedJson
from toolcrib_core.schema.limits import JsonLimits
from toolcrib_core.wording import quoted
from toolcrib_mcp.config.findings import unusable_file
from toolcrib_mcp.config.jsonc import parse_jsonc

CONFIG_LIMITS: Final = JsonLimits(max_depth=64, max_nodes=100_000, max_bytes=1024 * 1024)
"""For a file that is named as our configuration."""

CLIENT_LIMITS: Final = JsonLimits(max_depth=200, max_nodes=2_000_000, max_bytes=16 * 1024 * 1024)
"""For files that clients keep: some hold their whole history beside the servers."""

TOML_LIMITS: Final = JsonLimits(max_depth=32, max_nodes=20_000, max_bytes=64 * 1024)
"""For `toolcrib.toml`, which holds settings only."""

# The parser takes quadratic time for a dotted key: 49 s for one of 32,000 parts, which 64 KB can hold.
_MAX_DOTS: Final = 200
_TOML_PLACE: Final = re.compile(r"\(at (?P<place>line \d+, column \d+|end of document)\)")
# Each branch ends at a line's end or at a quote, and gives nothing back.
_ENV_LINE: Final = re.compile(
    r"[ \t]*+(?:(?:#[^\n]*+)?|(?:export[ \t]++)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*+)[ \t]*+=[ \t]*+"
    r"(?:'(?P<single>[^']*+)'[ \t]*+(?:#[^\n]*+)?|\"(?P<double>(?:[^\"\\]|\\[\s\S])*+)\"[ \t]*+(?:#[^\n]*+)?"
    r"|(?P<plain>(?![\"'])(?:[^\n#]|(?<![ \t=])#)*+)(?:#[^\n]*+)?))(?:\n|\Z)"
)
_ENV_ESCAPE: Final = re.compile(r"\\([\s\S])")
_ENV_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}
_BYTE_ORDER_MARK: Final = "\ufeff"
_LESS: Final = "Keep only the servers and their settings in it."


@dataclass(frozen=True, kw_only=True)
class Document:
    """A file that was read."""

    path: Path
    text: str
    value: Any


def read_json_file(path: Path, *, limits: JsonLimits = CONFIG_LIMITS, ours: bool = True) -> Document:
    """The JSON in a file, which may have comments and trailing commas.

    One that is `ours` says what runs: other users must not be able to change it.

    Raises:
        ConfigError: The file is not there, cannot be read, is too large, others can change it, or it is not JSON; the
            message says where.
    """
    text = _read_text(path, limits.max_bytes, ours=ours)
    try:
        return Document(path=path, text=text, value=parse_jsonc(text, limits=limits))
    except MalformedJson as failure:
        reason, line, column = (failure.details[key] for key in ("reason", "line", "column"))
        message = f"{quoted(path.name)} is not JSON that we can read: {reason}, at line {line}, column {column}."
        hint = "Comments and trailing commas are fine; everything else must be JSON, with each key once."
        raise unusable_file(path, message, hint=hint, line=line, column=column) from None
    except ArgumentsTooLarge:
        bounds = f"is nested deeper than {limits.max_depth}, or has more than {limits.max_nodes:,} values"
        raise unusable_file(path, f"{quoted(path.name)} {bounds}.", hint=_LESS) from None


def read_toml_file(path: Path) -> Document:
    """The TOML in a file.

    Raises:
        ConfigError: The file cannot be read, is too large, or is not TOML; the message says where.
    """
    text = _read_text(path, TOML_LIMITS.max_bytes)
    if any(line.count(".") > _MAX_DOTS for line in text.splitlines()):
        raise unusable_file(path, f"{quoted(path.name)} has more than {_MAX_DOTS} dots in a line.", hint="Break it up.")
    try:
        return Document(path=path, text=text, value=tomllib.loads(text))
    except (ValueError, RecursionError) as failure:
        # The parser's own message may repeat a value.
        match = _TOML_PLACE.search(str(failure))
        place = match["place"] if match else "some place"
        raise unusable_file(path, f"{quoted(path.name)} is not TOML that we can read, at {place}.") from None


def read_env_file(path: Path) -> dict[str, str]:
    """The variables in a dotenv file: `NAME=value`, with or without `export`, quotes and comments; nothing is expanded.

    Raises:
        ConfigError: The file cannot be read, is too large, or a line of it is no variable; the message says which.
    """
    text = _read_text(path, TOML_LIMITS.max_bytes).replace("\r\n", "\n")
    variables: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _ENV_LINE.match(text, at)
        if found is None:
            line = text.count("\n", 0, at) + 1
            message = f"{quoted(path.name)} has a line that is not `NAME=value`, line {line}."
            raise unusable_file(path, message, hint="Close its quotes, or make it a comment with `#`.", line=line)
        at = found.end()
        if found["name"] is not None:
            variables[found["name"]] = _env_value(found)
    return variables


def _env_value(found: re.Match[str]) -> str:
    if found["double"] is not None:
        return _ENV_ESCAPE.sub(lambda each: _ENV_ESCAPES.get(each[1], each[1]), found["double"])
    value = found["single"] if found["single"] is not None else found["plain"]
    return (value or "").strip() if found["single"] is None else value or ""


def refuse_others(path: Path, facts: os.stat_result) -> None:
    """Refuse a file that another user than this one, or `root`, can change; `facts` are those of the open file.

    Raises:
        ConfigError: There is one; the hint says what to do.
    """
    trusted = {os.geteuid(), 0}
    name = shlex.quote(path.name)
    if facts.st_uid not in trusted or path.lstat().st_uid not in trusted:
        message = f"{quoted(path.name)} belongs to another user, who could say in it what runs here."
        raise unusable_file(path, message, hint=f"Look at what it says, then: `chown -h {os.geteuid()} {name}`")
    if facts.st_mode & stat.S_IWOTH or (facts.st_mode & stat.S_IWGRP and not _is_own_group(facts.st_gid)):
        message = f"{quoted(path.name)} can be written by other users, who could say in it what runs here."
        raise unusable_file(path, message, hint=f"Look at what it says, then: `chmod go-w {name}`")


def _is_own_group(number: int) -> bool:
    """Whether this user is alone in a group: many systems give each one such a group, and let it write by default."""
    if os.geteuid() == 0:
        return False
    try:
        person, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return person.pw_gid == number and group.gr_name == person.pw_name and set(group.gr_mem) <= {person.pw_name}


def _read_text(path: Path, max_bytes: int, *, ours: bool = True) -> str:
    data = _read_bytes(path, max_bytes, ours=ours)
    if len(data) > max_bytes:
        raise unusable_file(path, f"{quoted(path.name)} is larger than {max_bytes:,} bytes.", hint=_LESS)
    try:
        # Editors on Windows begin a file with this mark.
        return data.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        message = f"{quoted(path.name)} is not UTF-8 text, at line {line}."
        raise unusable_file(path, message, hint="Save it as UTF-8.", line=line) from None


def _read_bytes(path: Path, max_bytes: int, *, ours: bool) -> bytes:
    try:
        # Opening a pipe would wait for somebody to write into it.
        if not stat.S_ISREG(path.stat().st_mode):
            raise unusable_file(path, f"{quoted(path.name)} is not a file.", hint="Name the file itself.")
        with path.open("rb") as file:
            if ours:
                refuse_others(path, os.fstat(file.fileno()))
            return file.read(max_bytes + 1)
    except FileNotFoundError:
        message = f"The configuration {quoted(path.name)} is not there."
        raise unusable_file(path, message, hint="Check the path, or make one with `toolcrib init`.") from None
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "its path is not one"
        raise unusable_file(path, f"{quoted(path.name)} cannot be read: {reason}.") from None
