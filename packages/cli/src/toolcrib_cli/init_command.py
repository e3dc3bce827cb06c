"""`toolcrib init`: one configuration of what the MCP clients on this machine have."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from toolcrib_cli.config_choice import current_directory
from toolcrib_cli.screen import print_json, printable, tell
from toolcrib_core.wording import count, listed, quoted
from toolcrib_mcp import ConfigError, find_client_configs, import_client_configs
from toolcrib_mcp.config import FoundConfig, ImportedConfig, ImportNote

_NAMED = "file"
"""The client of a file that somebody named: nobody knows whose it is."""


def run_init(
    *,
    output: Path,
    sources: Sequence[Path] = (),
    dry_run: bool = False,
    yes: bool = False,
    force: bool = False,
    as_json: bool = False,
    home: Path | None = None,
) -> None:
    """Find the files of known clients, make one configuration of them, show it, and write it; no secret is written.

    Raises:
        ConfigError: Nothing was found, the file is there already, or it cannot be written.
        Abort: Somebody was asked, and said no.
    """
    found = [FoundConfig(client=_NAMED, path=each) for each in sources] or find_client_configs(
        home, project=current_directory()
    )
    imported = import_client_configs(each for each in found if each.path.resolve() != output.resolve())
    if not imported.config.servers:
        raise _nothing(found, imported, named=bool(sources))
    if not dry_run and not force and output.exists():
        raise _is_there(output)
    if not as_json:
        _tell_notes(imported)
        _tell_change(output, imported)
    if not dry_run:
        if not (yes or as_json) and is_conversation():
            typer.confirm(f"Write {output}?", default=True, abort=True)
        _write(output, imported.config.to_json(), force=force)
    if as_json:
        print_json(_report(output, imported, written=not dry_run))
    else:
        _tell_next(output, imported, written=not dry_run)


def is_conversation() -> bool:
    """Whether there is somebody who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _nothing(found: Sequence[FoundConfig], imported: ImportedConfig, *, named: bool) -> ConfigError:
    reasons = [each.reason for each in imported.notes if each.reason]
    told = f" {reasons[0]}" if named and reasons else ""
    what = "named" if named else "of known clients"
    message = f"No MCP server was found in {count(len(found), 'file')} {what}.{told}"
    if told:
        # The reason says already what to do.
        return ConfigError(message, details={"notes": [_note(each) for each in imported.notes]})
    return ConfigError(
        message,
        hint='Write a `mcp.json` yourself: {"mcpServers": {"name": {"command": "…", "args": []}}}, '
        "or try the catalogue that comes with toolcrib: toolcrib demo",
        details={"notes": [_note(each) for each in imported.notes]},
    )


def _write(output: Path, text: str, *, force: bool) -> None:
    try:
        # Exclusively, so that a file that appears meanwhile is not lost either.
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise _is_there(output) from None
    except OSError as failure:
        raise ConfigError(
            f"{quoted(str(output))} cannot be written: {failure.strerror}.",
            hint="Name another file with `--output`, in a folder that is there and that you may write to.",
        ) from None


def _is_there(output: Path) -> ConfigError:
    return ConfigError(
        f"{quoted(str(output))} is there already.",
        hint="Look at what would change with `--dry-run`, name another file with `--output`, or use `--force`.",
    )


def _report(output: Path, imported: ImportedConfig, *, written: bool) -> dict[str, Any]:
    return {
        "file": str(output),
        "written": written,
        "servers": list(imported.config.servers),
        "variables": sorted({*imported.config.placeholders(), *_unset(imported)}),
        "notes": [_note(each) for each in imported.notes],
    }


def _unset(imported: ImportedConfig) -> list[str]:
    """The variables that the clients' own files name, and that have neither a value nor a default here."""
    return sorted({name for server in imported.config.servers.values() if server.enabled for name in server.missing})


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


def _tell_notes(imported: ImportedConfig) -> None:
    for note in imported.notes:
        typer.echo(printable(_line(note)))


def _line(note: ImportNote) -> str:
    server = note.server if note.name in {None, note.server} else f"{note.server} as {note.name}"
    source = note.found.path if note.found.client == _NAMED else note.found.client
    what = f"{note.outcome:10} {server or note.found.path}  ({source})"
    return f"{what}: {note.reason}" if note.reason else what


def _tell_change(output: Path, imported: ImportedConfig) -> None:
    """Say by name what becomes of a file that is there: its text may hold secrets, so it is not shown."""
    servers = imported.config.servers
    typer.echo(f"\n{count(len(servers), 'server')} for {output}.")
    before = _servers_in(output)
    if before is None:
        return
    for word, names in (
        ("New", [each for each in servers if each not in before]),
        ("No longer there", [each for each in before if each not in servers]),
    ):
        if names:
            typer.echo(f"{word}: {listed(names)}.")


def _servers_in(file: Path) -> list[str] | None:
    """The names of the servers that a file has now; none where it cannot be read."""
    if not file.exists():
        return None
    try:
        return list(import_client_configs([FoundConfig(client=_NAMED, path=file)]).config.servers)
    except ConfigError:  # pragma: no cover  # what cannot be read is a note, not an error
        return None


def _tell_next(output: Path, imported: ImportedConfig, *, written: bool) -> None:
    secrets = sorted(imported.config.placeholders())
    if secrets:
        tell(f"{count(len(secrets), 'secret')} not written. Set before you serve: {', '.join(secrets)}")
    if unset := _unset(imported):
        tell(f"{count(len(unset), 'variable')} without a value. Set before you serve: {', '.join(unset)}")
    if not written:
        typer.echo(f"\n{imported.config.to_json()}\nNothing was written; without --dry-run it would be.")
        return
    typer.echo(f"Written: {output}")
    entry = {"toolcrib": {"command": _own_command(), "args": ["serve", "--config", str(output.resolve())]}}
    typer.echo(
        f"\nNext, see that they start:  toolcrib status --config {output}"
        f"\nSee what needs your approval: toolcrib policy show --config {output}"
        "\nThen give your client this one server in place of them:"
    )
    typer.echo(json.dumps({"mcpServers": entry}, ensure_ascii=False))


def _own_command() -> str:
    """What starts this `toolcrib` from a client, which has not the `PATH` of an environment that a shell activated."""
    if sys.prefix == sys.base_prefix:
        return "toolcrib"
    beside = Path(sys.executable).with_name("toolcrib")
    return str(beside) if beside.exists() else "toolcrib"
