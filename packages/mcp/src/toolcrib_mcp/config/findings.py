"""What is wrong with a configuration file, or worth knowing about it: collected, and said all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from toolcrib_core.wording import MAX_SHOWN, count, quoted
from toolcrib_mcp.config.jsonc import line_of, lines_of
from toolcrib_mcp.errors import ConfigError

_MAX_LISTED: Final = 100


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing about one place of a file; the message never repeats a value that could be a secret."""

    message: str
    file: str
    place: str = ""
    """A JSON pointer."""
    hint: str | None = None
    line: int | None = None
    """Where the place begins, for JSON; the reader of TOML does not say."""
    left_out: str | None = None
    """The server that cannot be served for it, while the others are."""

    def __str__(self) -> str:
        where = f"Line {self.line}" if self.line else quoted(f"{self.file}#{self.place}")
        return f"{where}: {self.message}{f' {self.hint}' if self.hint else ''}"


class Findings:
    """Collects what is found while one file is read."""

    def __init__(self, path: Path, *, text: str = "") -> None:
        self.path = path
        self.problems: list[Finding] = []
        self._warnings: list[Finding] = []
        self._text = text

    def problem(self, message: str, *, place: str = "", hint: str | None = None) -> None:
        """Note something that the file cannot be used with."""
        self.problems.append(Finding(message=message, file=self.path.name, place=place, hint=hint))

    def warn(self, message: str, *, place: str = "", hint: str | None = None) -> None:
        """Note something that its author may not expect."""
        self._warnings.append(Finding(message=message, file=self.path.name, place=place, hint=hint))

    def blame(self, server: str, *, since: int) -> None:
        """Say of the problems from this one on which server cannot be used for them."""
        self.problems[since:] = [replace(each, left_out=server) for each in self.problems[since:]]

    def leave_out(self) -> None:
        """Make warnings of the problems of single servers: they are left out, and the others are served."""
        blamed = [each for each in self.problems if each.left_out is not None]
        self.problems = [each for each in self.problems if each.left_out is None]
        self._warnings += [replace(each, message=f"{each.message} The server is left out.") for each in blamed]

    def demote(self, *, since: int) -> None:
        """Make warnings of the problems from this one on: they are about something that is switched off."""
        self._warnings += self.problems[since:]
        del self.problems[since:]

    def located(self) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """The problems and the warnings, with their lines and in their order."""
        return self._in_order(self.problems), self._in_order(self._warnings)

    def _in_order(self, found: list[Finding]) -> tuple[Finding, ...]:
        if not self._text:
            return tuple(found)
        located = [replace(each, line=line_of(each.place, self._lines)) for each in found]
        return tuple(sorted(located, key=lambda each: each.line or 0))

    @cached_property
    def _lines(self) -> dict[str, int]:
        return lines_of(self._text)


def refuse_problems(*files: Findings) -> tuple[Finding, ...]:
    """The warnings about these files.

    Raises:
        ConfigError: There are problems; it has all of them, those of the first file first.
    """
    located = [findings.located() for findings in files]
    problems = [problem for found, _ in located for problem in found]
    if problems:
        raise _refusal(files[0].path, problems)
    return tuple(warning for _, found in located for warning in found)


def unusable_file(path: Path, message: str, *, hint: str | None = None, **details: object) -> ConfigError:
    """The error for a file of which nothing could be read."""
    return ConfigError(message, hint=hint, details={"file": _shown(path), "place": "", **details})


def _refusal(path: Path, problems: Sequence[Finding]) -> ConfigError:
    first = problems[0]
    details = {"file": _shown(path), "place": first.place, "line": first.line, "problems": _as_json(problems)}
    if len(problems) == 1:
        where = f", line {first.line}" if first.line else ""
        return ConfigError(f"{quoted(first.file)}{where}: {first.message}", hint=first.hint, details=details)
    return ConfigError(f"{quoted(path.name)} has {count(len(problems), 'problem')}. {_told(problems)}", details=details)


def _told(problems: Sequence[Finding]) -> str:
    told = " ".join(map(str, problems[:MAX_SHOWN]))
    return f"{told} And {len(problems) - MAX_SHOWN} more." if len(problems) > MAX_SHOWN else told


def _shown(path: Path) -> str:
    # A path may have bytes that are not text, which JSON cannot carry.
    return str(path).encode("utf-8", "backslashreplace").decode()


def _as_json(problems: Iterable[Finding]) -> list[dict[str, object]]:
    listed = list(problems)[:_MAX_LISTED]
    return [{key: value for key, value in asdict(each).items() if value is not None} for each in listed]
