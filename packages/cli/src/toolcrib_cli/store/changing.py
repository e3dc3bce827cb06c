"""`toolcrib store backup`, `restore`, `migrate` and `sweep`: what changes a store, or makes another of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from toolcrib_cli.screen import print_json, printable, screen, working
from toolcrib_cli.store.opening import LINES, opened
from toolcrib_contextpacks import PACKS_LINE
from toolcrib_core.wording import count, listed, quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.safeguards.opening import GATEWAY_SWEEPS
from toolcrib_store import STORE_LINE, Store, back_up, forms_of, migrate_to, sweep_store
from toolcrib_store import restore as put_back


def run_backup(database: str, file: Path, *, replace: bool, as_json: bool) -> None:
    """Copy a store, and print how large the copy is.

    Raises:
        StoreError: It cannot be copied, or not there.
    """
    with working("Copying…"), opened(database) as store:
        size = back_up(store, file, replace=replace)
    _say({"file": str(file), "bytes": size}, f"{file}: {count(size, 'byte')}, checked.", as_json=as_json)


def run_restore(copy: Path, file: Path, *, as_json: bool) -> None:
    """Put a copy back, and print where the old file is.

    Raises:
        StoreError: The copy is no good, or somebody uses the store.
    """
    with working("Checking the copy…"):
        kept = put_back(copy, file, lines=LINES)
    before = "There was no file before." if kept is None else f"The file that was there is kept as {kept.name}."
    told = {"file": str(file), "kept": None if kept is None else str(kept)}
    _say(told, f"{file}: put back from {copy.name}. {before}", as_json=as_json)


def run_migrate(database: str, *, line: str, to: str | None, sure: bool, as_json: bool) -> None:
    """Bring a store to a form, and print how far it came.

    Raises:
        ConfigError: There is no such line, or nobody has said that going back is meant.
        StoreError: It cannot be brought there.
    """
    before = forms_of(database, lines=LINES)
    with opened(database) as store:
        if to is not None:
            _go_back(store, line, to, sure=sure)
    after = forms_of(database, lines=LINES)
    steps = [
        f"{name}: {form or 'base'}"
        if before.get(name) == form
        else f"{name}: {before.get(name) or 'base'} → {form or 'base'}"
        for name, form in after.items()
    ]
    _say({"before": before, "after": after}, "\n".join(steps), as_json=as_json)


def run_sweep(database: str, *, as_json: bool) -> None:
    """Forget what has expired, and print how much it was.

    Raises:
        ConfigError: A setting of the environment cannot be used.
        StoreError: The store cannot be written.
    """
    with opened(database) as store:
        theirs = dict(sweep for line, sweep in GATEWAY_SWEEPS.items() if line in store.lines)
        gone = sweep_store(store, more=theirs)
        if PACKS_LINE in store.lines:
            gone |= {"packs": _sweep_packs(store)}
    said = ", ".join(f"{number:,} {name}" for name, number in gone.items())
    _say(gone, f"Forgotten: {said}.", as_json=as_json)


def _go_back(store: Store, line: str, to: str, *, sure: bool) -> None:
    known = {each.name: each for each in store.lines}
    if line not in known:
        raise ConfigError(f"The store has no line {quoted(line)}.", hint=f"It has {listed(known)}.")
    if not sure:
        raise ConfigError(
            "Going back to an earlier form deletes what that form cannot hold.",
            hint="Make a copy with `toolcrib store backup`, and say `--yes`.",
        )
    if line == STORE_LINE.name and len(known) > 1 and to == "base":
        raise ConfigError("Other tables are in the store, too.", hint="Take their lines to `base` first.")
    with store.writing() as connection:
        migrate_to(connection, known[line], to, name=store.name)


def _sweep_packs(store: Store) -> int:
    import os

    from toolcrib_cli.pack.opening import pack_settings
    from toolcrib_contextpacks import ContextPacks

    settings = pack_settings(None, environ=os.environ, directory=Path.cwd())
    return ContextPacks(store, settings=settings).sweep()


def _say(told: Mapping[str, object], line: str, *, as_json: bool) -> None:
    if as_json:
        print_json(dict(told))
        return
    for each in line.splitlines():
        screen().print(printable(each))
