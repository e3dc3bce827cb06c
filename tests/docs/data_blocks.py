"""Reads the blocks of a document that are data: parsed always, and loaded where they are a configuration."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from toolcrib_core import validate_value
from toolcrib_mcp import load_config
from toolcrib_mcp.config.files import CONFIG_LIMITS
from toolcrib_mcp.config.jsonc import parse_jsonc
from toolcrib_mcp.policy import parse_policy
from toolcrib_toolpacks import toolpack_schema

_SERVER_KEYS = ("mcpServers", "servers", "context_servers")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)\}")
_INPUT = re.compile(r"\$\{input:([^}]+)\}")


def read_json(text: str) -> None:
    """Parse JSON, which may have comments as the files of clients do, and load it where it has servers in it."""
    value = parse_jsonc(text, limits=CONFIG_LIMITS)
    if isinstance(value, dict) and any(isinstance(value.get(key), dict) for key in _SERVER_KEYS):
        _load({"mcp.json": text}, text)


def read_toml(text: str) -> None:
    """Parse TOML, and load it: as a policy, or as settings beside a server of each name that it mentions."""
    value = tomllib.loads(text)
    if {"default", "rule", "limit", "budget"} & value.keys():
        parse_policy(text)
        return
    servers = ", ".join(f'"{name}": {{"command": "true"}}' for name in value.get("servers", {"any": {}}))
    _load({"mcp.json": f'{{"mcpServers": {{{servers}}}}}', "toolcrib.toml": text}, text)


def read_yaml(text: str) -> None:
    """Parse YAML, and hold it to the schema of toolpacks where it is one."""
    value = yaml.safe_load(text)
    if isinstance(value, dict) and {"id", "execution"} <= value.keys():
        validate_value(toolpack_schema(), value)


READERS: Mapping[str, Callable[[str], None]] = {"json": read_json, "toml": read_toml, "yaml": read_yaml}
"""By language, what reads a block; it raises where the block is wrong."""


def _load(files: Mapping[str, str], text: str) -> None:
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_text(content, "utf-8")
        load_config(Path(folder, "mcp.json"), environ=dict.fromkeys(variables(text), "value"))


def variables(text: str) -> list[str]:
    """The variables that a configuration needs, which a reader has set."""
    asked = [f"TOOLCRIB_INPUT_{re.sub(r'[^A-Z0-9]', '_', name.upper())}" for name in _INPUT.findall(text)]
    return [*_VARIABLE.findall(text), *asked]
