"""Which types an access token reaches."""

from __future__ import annotations

from toolcrib_core.wording import quoted
from toolcrib_toolsets.contract import ToolsetScope
from toolcrib_toolsets.errors import TypeOutOfScope

Scopes = frozenset[ToolsetScope] | None
"""The types that an access token reaches; `None` for one that is not limited."""


def in_scope(toolset_type: str, scopes: Scopes) -> bool:
    """Whether a type is one of them."""
    return scopes is None or ToolsetScope(toolset_type=toolset_type) in scopes


def refuse_out_of_scope(toolset_type: str, scopes: Scopes) -> None:
    """Take a type that is one of them.

    Raises:
        TypeOutOfScope: It is not.
    """
    if not in_scope(toolset_type, scopes):
        raise TypeOutOfScope.of(subject=quoted(toolset_type))
