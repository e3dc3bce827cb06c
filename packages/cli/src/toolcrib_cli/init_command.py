"""`toolcrib init`: one configuration of what the MCP clients on this machine have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from toolcrib_cli.edge import told
from toolcrib_core.wording import count, quoted
from toolcrib_mcp import ConfigError, find_client_configs, import_client_configs
from toolcrib_mcp.config import ImportedConfig, ImportNote


def run_init(*, output: Path, force: bool, as_json: bool, home: Path | None = None) -> None:
    """Find the files of known clients, make one configuration of them, and write it; no secret is written.

    Raises:
        ConfigError: Nothing was found, the file is there already, or it cannot be written.
    """
    found = find_client_configs(home, project=Path.cwd())
    found = [each for each in found if each.path.resolve() != output.resolve()]
    imported = import_client_configs(found)
    if not imported.config.servers:
        raise ConfigError(
            f"No MCP server was found in {count(len(found), 'file')} of known clients.",
            hint='Write a `mcp.json` yourself: {"mcpServers": {"name": {"command": "…", "args": []}}}.',
            details={"notes": [_note(each) for each in imported.notes]},
        )
    _write(output, imported.config.to_json(), force=force)
    secrets = sorted(imported.config.placeholders())
    if as_json:
        typer.echo(json.dumps(_report(output, imported, secrets), indent=2, ensure_ascii=False))
    else:
        _tell(output, imported, secrets)


def _write(output: Path, text: str, *, force: bool) -> None:
    try:
        # Exclusively, so that a file that appears meanwhile is not lost either.
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(
            f"{quoted(str(output))} is there already.", hint="Name another file with `--output`, or use `--force`."
        ) from None
    except OSError as failure:
        raise ConfigError(f"{quoted(str(output))} cannot be written: {failure.strerror}.") from None


def _report(output: Path, imported: ImportedConfig, secrets: list[str]) -> dict[str, Any]:
    return {
        "file": str(output),
        "servers": list(imported.config.servers),
        "variables": secrets,
        "notes": [_note(each) for each in imported.notes],
    }


def _note(note: ImportNote) -> dict[str, Any]:
    said: Mapping[str, Any] = {
        "outcome": note.outcome,
        "client": note.found.client,
        "file": str(note.found.path),
        "server": note.server,
        "name": note.name,
        "reason": note.reason,
    }
    return {name: value for name, value in said.items() if value is not None}


def _tell(output: Path, imported: ImportedConfig, secrets: list[str]) -> None:
    for note in imported.notes:
        typer.echo(_line(note))
    typer.echo(f"\n{count(len(imported.config.servers), 'server')} in {output}.")
    if secrets:
        told(f"{count(len(secrets), 'secret')} not written. Set before you serve: {', '.join(secrets)}")
    typer.echo(f"Next: toolcrib status --config {output}")


def _line(note: ImportNote) -> str:
    server = note.server if note.name in {None, note.server} else f"{note.server} as {note.name}"
    what = f"{note.outcome:10} {server or note.found.path}  ({note.found.client})"
    return f"{what}: {note.reason}" if note.reason else what
