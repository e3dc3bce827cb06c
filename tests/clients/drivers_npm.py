"""How the clients of npm are started: with what in their files, on their command line and in their environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checks.real_servers import node_of
from tests.clients.place import Launch, Place
from tests.reference.parts import installed, node_package

_PROMPT = "Use the tools of toolcrib."
_MILLISECONDS = 60_000


def claude_code(place: Place) -> Launch:
    """`claude -p`, which asks nobody: what it may call has to be named."""
    servers = place.write("mcp.json", {"mcpServers": {"toolcrib": place.entry.as_json}})
    quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
    return Launch(
        line=[
            *(_program("claude-code", "@anthropic-ai/claude-code-*/claude"), "-p", _PROMPT),
            *("--mcp-config", str(servers), "--strict-mcp-config", "--allowedTools", "mcp__toolcrib"),
        ],
        environment=place.environment(
            ANTHROPIC_BASE_URL=place.model,
            ANTHROPIC_API_KEY="nothing",
            MCP_TIMEOUT=str(_MILLISECONDS),
            **dict.fromkeys(quiet, "1"),
        ),
    )


def codex(place: Place) -> Launch:
    """`codex exec`, which waits for a server that is required, and is told to approve its tools."""
    entry = place.entry
    if entry.command is None:
        reached = [f"url = {_toml(entry.url)}", f"http_headers = {_toml_table(entry.headers)}"]
    else:
        program, *arguments = entry.command.line
        reached = [
            f"command = {_toml(program)}",
            f"args = {_toml(arguments)}",
            f"env = {_toml_table(entry.command.environment)}",
        ]
    place.write(
        "home/.codex/config.toml",
        "\n".join(
            [
                'model = "pretended"',
                'model_provider = "pretended"',
                'approval_policy = "never"',
                "check_for_update_on_startup = false",
                "[analytics]",
                "enabled = false",
                "[model_providers.pretended]",
                'name = "pretended"',
                f"base_url = {_toml(place.model + '/v1')}",
                'wire_api = "responses"',
                "[mcp_servers.toolcrib]",
                *reached,
                "required = true",
                "startup_timeout_sec = 60",
                'default_tools_approval_mode = "approve"',
                "",
            ]
        ),
    )
    line = [_program("codex", "@openai/codex-*/vendor/*/bin/codex"), "exec", "--skip-git-repo-check", _PROMPT]
    return Launch(line=line, environment=place.environment(CODEX_HOME=str(place.home / ".codex")))


def gemini_cli(place: Place) -> Launch:
    """`gemini -p`, with a server that it trusts."""
    entry = place.entry.as_json
    kind = entry.pop("type")
    reached = {"httpUrl": entry.pop("url"), **entry} if kind == "http" else entry
    place.write(
        "home/.gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "mcpServers": {"toolcrib": {**reached, "trust": True, "timeout": _MILLISECONDS}},
        },
    )
    reached_model = {"GEMINI_API_KEY": "nothing", "GOOGLE_GEMINI_BASE_URL": place.model}
    launch = _node("gemini-cli", "bundle/gemini.js", place, **reached_model)
    return launch.with_arguments("--skip-trust", "-m", "gemini-2.5-pro", "-p", _PROMPT)


def opencode(place: Place) -> Launch:
    """`opencode run`, with a provider of its own that speaks Chat Completions."""
    entry = place.entry
    if entry.command is None:
        reached: dict[str, Any] = {"type": "remote", "url": entry.url, "headers": entry.headers, "oauth": False}
    else:
        environment = dict(entry.command.environment)
        reached = {"type": "local", "command": entry.command.line, "environment": environment}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{place.model}/v1", "apiKey": "nothing"},
        "models": {"pretended": {}},
    }
    place.write(
        "work/opencode.json",
        {
            "autoupdate": False,
            "share": "disabled",
            "provider": {"pretended": provider},
            "mcp": {"toolcrib": {**reached, "enabled": True, "timeout": _MILLISECONDS}},
        },
    )
    disabled = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
    return Launch(
        line=[_program("opencode", "opencode-*/bin/opencode"), "run", "-m", "pretended/pretended", _PROMPT],
        environment=place.environment(**{f"OPENCODE_DISABLE_{name}": "1" for name in disabled}),
    )


def mcporter(place: Place) -> Launch:
    """`mcporter`, once for each call."""
    place.write("work/config/mcporter.json", {"mcpServers": {"toolcrib": place.entry.as_json}})
    return _node("mcporter", "dist/cli.js", place)


def inspector(place: Place) -> Launch:
    """The command line of the Inspector, once for each call."""
    own = place.write("inspector.json", {"mcpServers": {"toolcrib": place.entry.as_json}})
    command = node_package("inspector", "--cli")
    launch = Launch(line=command.line, environment=_node_environment(command.program, place))
    return launch.with_arguments("--config", str(own), "--server", "toolcrib")


def _program(part: str, pattern: str) -> str:
    """The program for this platform, in the package that a part has for it."""
    return str(next((installed(part).folder / "node_modules").glob(pattern)))


def _node(part: str, script: str, place: Place, **extra: str) -> Launch:
    package = installed(part)
    path = package.folder / "node_modules" / str(package.pin["package"]) / script
    node = node_of(installed("node").folder)
    return Launch(line=[str(node), str(path)], environment=_node_environment(node, place, **extra))


def _node_environment(node: Path, place: Place, **extra: str) -> dict[str, str]:
    environment = place.environment(**extra)
    return environment | {"PATH": f"{node.parent}:{environment['PATH']}"}


def _toml(value: object) -> str:
    return json.dumps(value)


def _toml_table(values: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{_toml(name)} = {_toml(value)}" for name, value in values.items()) + " }"
