"""Toolset types: what one is, and those that are built in."""

from __future__ import annotations

from toolcrib_toolsets.types.exa import ExaWebSearch
from toolcrib_toolsets.types.http_api import HttpApi
from toolcrib_toolsets.types.kinds import Credentials, NoSettings, ToolsetKind, ToolsetKinds, installed_kinds

__all__ = ["Credentials", "ExaWebSearch", "HttpApi", "NoSettings", "ToolsetKind", "ToolsetKinds", "installed_kinds"]
