"""`toolcrib toolset init-key|rotate-key`: the master key."""

from __future__ import annotations

import os
from pathlib import Path

from toolcrib_cli.screen import print_json, screen, working
from toolcrib_cli.state_directory import state_root
from toolcrib_cli.toolset.opening import KEY_FILE, default_key_file, opened_store
from toolcrib_core.wording import count, quoted
from toolcrib_toolsets import find_master_key, read_key_file, read_master_key, rotate, write_key_file


def make_key(file: Path | None, *, as_json: bool) -> None:
    """Write a new master key into a file; one that is there stays.

    Raises:
        MasterKeyUnusable: The file is there already, or cannot be written.
    """
    chosen = file or state_root(None, environ=os.environ) / KEY_FILE
    write_key_file(chosen)
    key_id = read_master_key(read_key_file(chosen), source=f"the file {quoted(chosen.name)}").id
    if as_json:
        print_json({"file": str(chosen), "keyId": key_id})
        return
    console = screen()
    console.print(f"A master key with the id {key_id} is in {chosen}, for you alone.", soft_wrap=True)
    console.print("Keep a copy of it: without it no key that was sealed under it opens again.", soft_wrap=True)
    if file is not None:
        console.print(f"To use it: export TOOLCRIB_MASTER_KEY_FILE={chosen}", soft_wrap=True)


def rotate_master_key(database: str | None, new_key_file: Path, *, as_json: bool) -> None:
    """Seal everything anew under the key of a file.

    Raises:
        ToolError: A key cannot be used, or a row cannot be opened.
    """
    old = find_master_key(os.environ, file=default_key_file(os.environ))
    new = read_master_key(read_key_file(new_key_file), source=f"the file {quoted(new_key_file.name)}")
    with opened_store(database) as store, working("Sealing keys anew …"):
        done = rotate(store, old, new)
    if as_json:
        print_json({"keyId": done.key_id, "resealed": done.resealed, "left": done.left})
        return
    screen().print(
        f"{count(done.resealed, 'key')} sealed anew; the master key in use is {done.key_id}. "
        "From now on give that one.",
        soft_wrap=True,
    )
