"""Who may use which error code: `toolbox.*` is ours, `tool.<namespace>.<name>.*` is that tool's own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolcrib_core.errors import CatalogError, ToolError, ToolErrorCategory
from toolcrib_core.identity import encode_component, normalize_identity
from toolcrib_core.json_values import freeze_object

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD = r"[a-z0-9]+(?:-[a-z0-9]+)*"
# A namespace or name may hold anything, so it is percent-encoded here, dots included: every dot of a code separates.
_COMPONENT = r"(?:[A-Za-z0-9_~!*'()-]|%[0-9A-F]{2})+"
_OUR_CODE = re.compile(rf"toolbox(?:\.{_WORD})+")
_TOOL_CODE = re.compile(rf"tool\.{_COMPONENT}\.{_COMPONENT}(?:\.{_WORD})+")


def create_tool_error(
    code: str,
    message: str,
    *,
    category: ToolErrorCategory | str = ToolErrorCategory.INTERNAL,
    hint: str | None = None,
    retryable: bool | None = None,
    details: Mapping[str, object] | None = None,
    tool: str | None = None,
) -> ToolError:
    """Make an error, checking that its code is one the caller may use.

    With `tool`, the id of the tool that fails, only codes under that tool's own prefix are accepted.

    Raises:
        CatalogError: The code breaks the rule, or the category is unknown.
        NotJson: `details` is not JSON; the message has the path.
    """
    _check_code(code, tool)
    if category not in set(ToolErrorCategory):
        allowed = ", ".join(f"`{each}`" for each in ToolErrorCategory)
        raise CatalogError(f"`{category}` is not an error category.", hint=f"Use one of {allowed}.")
    return ToolError(
        message,
        code=code,
        category=ToolErrorCategory(category),
        hint=hint,
        retryable=retryable,
        details=freeze_object(details or {}, "details"),
    )


def tool_code_prefix(tool_id: str) -> str:
    """The prefix that the codes of this tool's own errors start with, as in `tool.weather.forecast.`."""
    identity = normalize_identity(tool_id)
    parts = (encode_component(part).replace(".", "%2E") for part in (identity.namespace, identity.name))
    return f"tool.{'.'.join(parts)}."


def _check_code(code: str, tool: str | None) -> None:
    if tool is None:
        if not (_OUR_CODE.fullmatch(code) or _TOOL_CODE.fullmatch(code)):
            raise CatalogError(
                f"`{code}` is not an error code.",
                hint="Use `toolbox.<what>` or `tool.<namespace>.<name>.<what>`, where <what> is kebab-case.",
            )
        return
    prefix = tool_code_prefix(tool)
    if not (code.startswith(prefix) and _TOOL_CODE.fullmatch(code)):
        raise CatalogError(f"`{code}` is not a code of `{tool}`.", hint=f"Start it with `{prefix}`, then kebab-case.")
