"""Turns `*.tool.yaml` files into runnable tools.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_toolpacks.capabilities import PathGrant, permissions
    from toolcrib_toolpacks.errors import (
        CapabilityRefused,
        HttpStatusError,
        TemplateError,
        ToolpackValidationError,
        ToolpackViolation,
    )
    from toolcrib_toolpacks.file_schema import toolpack_schema
    from toolcrib_toolpacks.folder import FolderNews, ToolpackFolder
    from toolcrib_toolpacks.loader import ToolpackLoader
    from toolcrib_toolpacks.model import Toolpack
    from toolcrib_toolpacks.planning import RunPlan, RunSettings, plan_of
    from toolcrib_toolpacks.running import open_toolbox, tools_of
    from toolcrib_toolpacks.templating import CompiledTemplate, compile_template

_NAMES = {
    "capabilities": "PathGrant permissions",
    "errors": "CapabilityRefused HttpStatusError TemplateError ToolpackValidationError ToolpackViolation",
    "file_schema": "toolpack_schema",
    "folder": "FolderNews ToolpackFolder",
    "loader": "ToolpackLoader",
    "model": "Toolpack",
    "planning": "RunPlan RunSettings plan_of",
    "running": "open_toolbox tools_of",
    "templating": "CompiledTemplate compile_template",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "CapabilityRefused",
    "CompiledTemplate",
    "FolderNews",
    "HttpStatusError",
    "PathGrant",
    "RunPlan",
    "RunSettings",
    "TemplateError",
    "Toolpack",
    "ToolpackFolder",
    "ToolpackLoader",
    "ToolpackValidationError",
    "ToolpackViolation",
    "compile_template",
    "open_toolbox",
    "permissions",
    "plan_of",
    "toolpack_schema",
    "tools_of",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
