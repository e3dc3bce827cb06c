"""The edge of the process: errors become one or two lines on standard error and an exit code, never a traceback."""

from __future__ import annotations

import secrets
import sys
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_core import ToolError

FAILED: Final = 1
"""The exit code of a command that could not do what was asked, or found something that has failed."""

UNUSABLE: Final = 2
"""The exit code for a command line or a configuration that cannot be used; typer has the same for the former."""

_INTERRUPTED: Final = 130


class Edge:
    """A context that no exception leaves but the end of the process."""

    def __init__(self) -> None:
        self.debug = False
        """Whether an unforeseen error shows its traceback."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        match error:
            case None | SystemExit():
                return
            case KeyboardInterrupt():
                raise SystemExit(_INTERRUPTED) from None
            case Exception():
                raise SystemExit(self._tell(error)) from None

    def _tell(self, error: Exception) -> int:
        """Write the error, and give the exit code for it."""
        # Only now: the many commands that go well need none of this.
        from toolcrib_core import ToolError
        from toolcrib_mcp.errors import ConfigError

        if isinstance(error, ToolError):
            tell_error(error)
            return UNUSABLE if isinstance(error, ConfigError) else FAILED
        self._tell_unforeseen(error)
        return FAILED

    def _tell_unforeseen(self, error: Exception) -> None:
        # Only the kind of the error: its text may hold a value that is nobody's business.
        correlation = secrets.token_hex(4)
        told(f"error: Something went wrong that was not foreseen: {type(error).__name__} (id {correlation}).")
        if self.debug:
            told("".join(traceback.format_exception(error)).rstrip())
        else:
            told("hint: Run it again as `toolcrib --debug …` to see where, and report that with the id.")


def tell_error(error: ToolError) -> None:
    """Write an error and what to do next."""
    told(f"error: {error.message}")
    if error.hint:
        told(f"hint: {error.hint}")


def told(line: str) -> None:
    """Write a line to standard error; one that nobody reads any more is lost."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        return
