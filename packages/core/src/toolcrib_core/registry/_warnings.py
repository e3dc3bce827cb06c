"""`RegistryWarning`: what a caller should know although the registry did what it was asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_core.definition import ToolDefinition, ToolLifecycle

DEPRECATED_TOOL: Final = "toolbox.deprecated-tool"
LISTENER_FAILED: Final = "toolbox.listener-failed"

_MAX_QUOTED = 200


class RegistryWarning(UserWarning):
    """A warning with a `code`, the `tool_id` it is about, its `message`, and `replaced_by` if there is a successor.

    The codes are `toolbox.deprecated-tool` and `toolbox.listener-failed`; the exception of the listener is the
    `__cause__` of the latter.
    """

    def __init__(self, message: str, code: str, tool_id: str, replaced_by: str | None = None) -> None:
        # All of them are `args`, so that the warning can be pickled as any exception can.
        super().__init__(message, code, tool_id, replaced_by)
        self.message = message
        self.code = code
        self.tool_id = tool_id
        self.replaced_by = replaced_by

    def __str__(self) -> str:
        return self.message


def deprecation_warning(definition: ToolDefinition) -> RegistryWarning:
    """The warning that a deprecated tool was resolved."""
    lifecycle = definition.lifecycle
    message = " ".join((f"`{definition.id}` is deprecated.", *deprecation_advice(lifecycle)))
    return RegistryWarning(message, DEPRECATED_TOOL, definition.id, lifecycle.replaced_by)


def deprecation_advice(lifecycle: ToolLifecycle) -> tuple[str, ...]:
    """What the author says about a deprecated tool, in sentences."""
    sentences = []
    if lifecycle.replaced_by:
        sentences.append(f"Use `{lifecycle.replaced_by}` instead.")
    if lifecycle.message:
        words = " ".join(lifecycle.message.split())
        quoted = words if len(words) <= _MAX_QUOTED else f"{words[: _MAX_QUOTED - 1]}…"
        end = "" if quoted.endswith((".", "!", "?", "…")) else "."
        sentences.append(f'Its author says: "{quoted}"{end}')
    if lifecycle.sunset:
        sentences.append(f"It goes away on {lifecycle.sunset.isoformat()}.")
    return tuple(sentences)


def emit(
    warning: RegistryWarning, on_warning: Callable[[RegistryWarning], object] | None, *, callers_above: int
) -> None:
    """Hand the warning to `on_warning`, or to `warnings.warn` as if the frame so many callers above had given it."""
    if on_warning is not None:
        on_warning(warning)
    else:
        warnings.warn(warning, stacklevel=callers_above + 1)
