"""Where the clients that people have keep their MCP servers."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CODE = "Code/User"
_CLINE = f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

# From the home directory on, on every system.
_IN_HOME: Final = (
    ("claude-code", ".claude.json"),
    ("cursor", ".cursor/mcp.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ("copilot", ".copilot/mcp-config.json"),
    ("gemini", ".gemini/settings.json"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json"),
)
# From the directory on that the system has for the data of applications.
_IN_APPLICATION_DATA: Final = (
    ("claude-desktop", "Claude/claude_desktop_config.json"),
    ("vscode", f"{_CODE}/mcp.json"),
    ("vscode-insiders", "Code - Insiders/User/mcp.json"),
    ("cline", _CLINE),
)
_APPLICATION_DATA: Final = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}
_ZED: Final = {"win32": "AppData/Roaming/Zed/settings.json"}
_IN_PROJECT: Final = (
    ("claude-code", ".mcp.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".vscode/mcp.json"),
    ("gemini", ".gemini/settings.json"),
    ("zed", ".zed/settings.json"),
)


@dataclass(frozen=True, kw_only=True)
class FoundConfig:
    """A file in which a client keeps its servers."""

    client: str
    path: Path


def find_client_configs(
    home: Path | None = None, *, platform: str = sys.platform, project: Path | None = None
) -> list[FoundConfig]:
    """The files of known clients that are there, those of the `project` first.

    `platform` is one of `sys.platform`; what is neither macOS nor Windows is taken for Linux.
    """
    root = home or Path.home()
    data = root / _APPLICATION_DATA.get(platform, ".config")
    places = [(client, project / path) for client, path in _IN_PROJECT] if project else []
    places += [(client, root / path) for client, path in _IN_HOME]
    places += [(client, data / path) for client, path in _IN_APPLICATION_DATA]
    places.append(("zed", root / _ZED.get(platform, ".config/zed/settings.json")))
    return [FoundConfig(client=client, path=path) for client, path in places if _is_file(path)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # `is_file` raises for a file in a directory that may not be entered
