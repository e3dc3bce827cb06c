"""What can be wrong with a pack, as data.

ToolError (of core)
  CatalogError
    ToolpackValidationError   every violation of every file that was to be loaded
  TemplateError               a template that is refused, or that a call gives nothing for
  CapabilityRefused           a pack may not have what it asks for
  CallError (of runtime)
    HttpStatusError           an answer that says no
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from toolcrib_core import CatalogError, ToolError, ToolErrorCategory
from toolcrib_core.wording import count
from toolcrib_runtime.errors import CallError


class ToolpackViolation(NamedTuple):
    """One thing that is wrong in one place.

    `line` and `column` count from 1 and are 0 where no line is to blame; `path` is the place in the document, as in
    `limits.maxInputBytes`, or in the schema, as in `inputSchema.properties.city`; the order is that of the files.
    """

    file: str
    line: int
    column: int
    path: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {f'{self.path}: ' if self.path else ''}{self.message} ({self.code})"

    @property
    def where(self) -> str:
        """File and line, as editors take them."""
        return self.file if self.line == 0 else f"{self.file}:{self.line}"

    def to_dict(self) -> dict[str, object]:
        """The violation as JSON."""
        return self._asdict()


class ToolpackValidationError(CatalogError):
    """Files that are to be toolpacks break the rules; `violations` has every place, and nothing was loaded."""

    default_code = "toolbox.invalid-toolpack"

    def __init__(self, violations: Sequence[ToolpackViolation]) -> None:
        self.violations: tuple[ToolpackViolation, ...] = tuple(sorted(violations))
        super().__init__(
            _summary(self.violations),
            hint="Mend every place listed; nothing was loaded, and what was loaded before is untouched.",
            details={"violations": [each.to_dict() for each in self.violations]},
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.violations))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.violations,))


class TemplateError(ToolError):
    """A template is not one that is ever rendered, or a call does not give what it needs; no value is shown."""

    default_code = "toolbox.template-error"
    default_category = ToolErrorCategory.VALIDATION


class CapabilityRefused(ToolError):
    """A pack asks for what is not granted to it, or declares what this machine cannot hold it to."""

    default_code = "toolbox.capability-refused"
    default_category = ToolErrorCategory.PERMISSION


class HttpStatusError(CallError):
    """The server answered, with a status that says it did not do what was asked."""

    default_code = "toolbox.http-status"
    default_category = ToolErrorCategory.UNAVAILABLE


def file_in_words(file: str) -> str:
    """A file in backticks, whole: the end of its path is what tells it from another one."""
    return f"`{file if file.isprintable() else file.encode('unicode_escape').decode()}`"


def _summary(violations: Sequence[ToolpackViolation]) -> str:
    first = violations[0]
    where = file_in_words(first.where)
    if len(violations) == 1:
        return f"{where} cannot be used: {f'`{first.path}` ' if first.path else ''}{first.message}"
    files = count(len({each.file for each in violations}), "tool file")
    return f"{files} cannot be used: {count(len(violations), 'place')} must be mended, the first is {where}."
