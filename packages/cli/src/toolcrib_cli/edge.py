"""The edge of the process: errors become one or two lines on standard error and an exit code, never a traceback.

With `--json` an error is on standard output, too, as `{"error": …}`.
"""

from __future__ import annotations

import io
import os
import secrets
import sys
import traceback
from types import TracebackType
from typing import TYPE_CHECKING, Final

from toolcrib_cli.screen import print_json, tell

if TYPE_CHECKING:
    from toolcrib_core import ToolError

FAILED: Final = 1
"""The exit code of a command that could not do what was asked, or found something that has failed."""

UNUSABLE: Final = 2
"""The exit code for a command line or a configuration that cannot be used; typer has the same for the former."""

_INTERRUPTED: Final = 130
_SEE: Final = ": see `violations`."


class Edge:
    """A context that no exception leaves but the end of the process."""

    def __init__(self) -> None:
        self.debug = False
        """Whether an unforeseen error shows its traceback."""

    def __enter__(self) -> None:
        # Who closes a stream before starting us gets none of it, and no complaint: Python has nothing in its place.
        sys.stdin, sys.stdout, sys.stderr = (each or io.StringIO() for each in (sys.stdin, sys.stdout, sys.stderr))
        # A terminal that cannot show a character gets its escape, not an error.
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        match error:
            case None | SystemExit():
                self._flush()
            case KeyboardInterrupt():
                raise SystemExit(_INTERRUPTED) from None
            case Exception():
                raise SystemExit(self._tell(error)) from None

    def _flush(self) -> None:
        """Write what is left, where Python itself would complain that nobody reads it any more."""
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(FAILED) from None

    def _tell(self, error: Exception) -> int:
        """Write the error, and give the exit code for it."""
        # Only now: the many commands that go well need none of this.
        from toolcrib_core import ToolError
        from toolcrib_mcp.errors import ConfigError

        if isinstance(error, ToolError):
            tell_error(error)
            # Whoever reads the output as JSON finds some there, whatever happens. The command line is asked, for the
            # command that had the option is over.
            if "--json" in sys.argv[1:]:
                print_json({"error": error.to_dict()})
                self._flush()
            return UNUSABLE if isinstance(error, ConfigError) else FAILED
        self._tell_unforeseen(error)
        return FAILED

    def _tell_unforeseen(self, error: Exception) -> None:
        # Only the kind of the error: its text may hold a value that is nobody's business.
        correlation = secrets.token_hex(4)
        tell(f"error: Something went wrong that was not foreseen: {type(error).__name__} (id {correlation}).")
        if self.debug:
            tell("".join(traceback.format_exception(error)).rstrip())
        else:
            tell("hint: Run it again as `toolcrib --debug …` to see where, and report that with the id.")


def tell_error(error: ToolError) -> None:
    """Write an error, what the server or program said itself, and what to do next."""
    from toolcrib_core.excerpts import excerpt_text

    violations = error.details.get("violations")
    if isinstance(violations, list) and len(violations) > 1:
        tell(f"error: {error.message.removesuffix(_SEE)}:")
        for each in violations:
            tell(f"- {each.get('message', '') if isinstance(each, dict) else each}")
    else:
        # Indented, so that no line of what others said can pass for one of ours.
        tell(f"error: {error.message}".replace("\n", "\n  "))
    if (said := excerpt_text(error)) is not None:
        tell(f"  {said}")
    if error.hint:
        tell(f"hint: {error.hint}")
