"""`toolcrib pack write`, `edit`, `finalize`, `reopen`, `ttl`, `delete` and `import`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from toolcrib_cli.pack.reading import Which, unusable_file, which
from toolcrib_cli.screen import print_json, printable, tell
from toolcrib_contextpacks import ContextPacks, Pack, Written, import_pack, read_document
from toolcrib_contextpacks.document import Status, document_json
from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.wire import pack_json, written_json
from toolcrib_core import ToolError
from toolcrib_core.wording import count, listed
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.errors import ProcessExited, ProcessNotStarted

# What is larger cannot be a document, so there is no need to read it.
_MAX_READ = 8 * 1024 * 1024


def write_file(
    packs: ContextPacks,
    file: Path,
    *,
    pack: str | None,
    revision: int | None,
    validate_only: bool,
    as_json: bool,
) -> None:
    """Make a pack of a file, or replace one.

    Raises:
        ToolError: The file cannot be read, or the document is refused.
    """
    document = read_document(_content(file), max_bytes=packs.settings.max_pack_bytes)
    if pack is not None and revision is None:
        raise ConfigError(
            "To replace a pack, say which revision you have read.",
            hint="Give `--revision`; `toolcrib pack show --json` says which it is.",
        )
    named: Which = {"pack_id": None, "name": None} if pack is None else which(pack)
    written = packs.write(document, **named, expected_revision=revision, validate_only=validate_only)
    _tell_written(packs, written, as_json=as_json)


def edit_pack(packs: ContextPacks, pack: str, *, as_json: bool) -> None:
    """Open the document of a pack in the editor of the user, and write what comes back with the revision it had.

    Raises:
        ToolError: There is no terminal or no editor, it failed, or the document is refused; what was typed is kept.
    """
    command = _editor(os.environ)
    found = packs.get(**which(pack))
    before = json.dumps(document_json(found.document), ensure_ascii=False, indent=2) + "\n"
    handle, name = tempfile.mkstemp(prefix=f"toolcrib-{found.id}-", suffix=".json")
    file = Path(name)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        opened.write(before)
    if _run(command, file) != 0:
        raise ProcessExited("The editor failed, and nothing was changed.", hint=_kept(file))
    after = _content(file)
    if after == before.encode():
        file.unlink()
        tell("Nothing was changed.")
        return
    try:
        document = read_document(after, max_bytes=packs.settings.max_pack_bytes)
        written = packs.write(document, pack_id=found.id, expected_revision=found.revision)
    except ToolError as refused:
        raise type(refused)(
            refused.message,
            code=refused.code,
            category=refused.category,
            hint=f"{refused.hint or ''} What you typed is kept in `{printable(name)}`.".strip(),
            details=refused.details,
        ) from None
    file.unlink()
    _tell_written(packs, written, as_json=as_json)


def set_status(packs: ContextPacks, pack: str, status: Status, *, revision: int | None, as_json: bool) -> None:
    """Finalize or reopen a pack.

    Raises:
        ToolError: It is refused.
    """
    before = packs.get(**which(pack))
    if before.status == status and (revision is None or revision == before.revision):
        _tell_pack(packs, before, f"The pack {before.id} is {_WORDS[status]} already.", as_json=as_json)
        return
    written = packs.set_status(status, pack_id=before.id, expected_revision=revision)
    _tell_written(packs, written, as_json=as_json)


def set_ttl(
    packs: ContextPacks, pack: str, *, minutes: int | None, extend: int | None, revision: int | None, as_json: bool
) -> None:
    """Change how long a pack lives.

    Raises:
        ToolError: It is refused.
    """
    if (minutes is None) == (extend is None):
        raise ConfigError("Give exactly one of `--minutes` and `--extend`.", hint="`--minutes` counts from now.")
    changed = packs.ttl(**which(pack), ttl_minutes=minutes, extend_minutes=extend, expected_revision=revision)
    remaining = packs.freshness_of(changed).remaining
    said = f"The pack {changed.id} expires in {remaining}."
    _tell_pack(packs, changed, said, as_json=as_json)


def delete_pack(packs: ContextPacks, pack: str, *, revision: int | None, as_json: bool) -> None:
    """Delete a pack.

    Raises:
        ToolError: There is none, or it is refused.
    """
    deleted = packs.delete(**which(pack), expected_revision=revision)
    if as_json:
        print_json({"id": deleted, "deleted": True})
    else:
        tell(f"The pack {deleted} is deleted.")


def import_file(packs: ContextPacks, file: Path, *, ttl: int | None, shares_name: bool, as_json: bool) -> None:
    """Add a pack that was exported, with its id, revision and times.

    Raises:
        ToolError: The file is not an exported pack, or its id or name is taken.
    """
    pack = import_pack(_content(file), max_bytes=packs.settings.max_pack_bytes)
    if ttl is not None:
        pack = packs.renewed(pack, ttl_minutes=ttl)
    if packs.is_over(pack):
        raise InvalidPack("The pack has expired, and its grace period is over.", hint="Give it time with `--ttl`.")
    kept = packs.adopt(pack, shares_name=shares_name)
    _tell_pack(packs, kept, f"The pack {kept.id} is imported, with revision {kept.revision}.", as_json=as_json)


_WORDS: Mapping[Status, str] = {"finalized": "finalized", "draft": "a draft"}


def _tell_written(packs: ContextPacks, written: Written, *, as_json: bool) -> None:
    pack = written.pack
    if as_json:
        print_json(written_json(written, packs.freshness_of(pack)))
    elif written.validated_only:
        tell("The document is fine; nothing was kept.")
    else:
        sys.stdout.write(f"{pack.id}\n")
        verb = "made" if written.created else "written"
        tell(f"The pack {pack.id} is {verb}: {pack.status}, revision {pack.revision}.")
    if written.renewed:
        tell(f"warning: These lines had changed since they were referred to: {listed(written.renewed)}.")
    if written.stale:
        tell(f"warning: {count(len(written.stale), 'reference')} cannot be resolved: {listed(written.stale)}.")


def _tell_pack(packs: ContextPacks, pack: Pack, said: str, *, as_json: bool) -> None:
    if as_json:
        print_json(pack_json(pack, packs.freshness_of(pack)))
    else:
        tell(said)


def _content(file: Path) -> bytes:
    """What is in a file, or on standard input for `-`."""
    if str(file) == "-":
        return sys.stdin.buffer.read(_MAX_READ)
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_READ)
    except OSError as failure:
        raise unusable_file(file, failure) from None


def _editor(environ: Mapping[str, str]) -> list[str]:
    if not _has_terminal():
        raise ConfigError(
            "There is no terminal to edit in.",
            hint="Use `toolcrib pack show --json` and `toolcrib pack write --revision` instead.",
        )
    for variable in ("VISUAL", "EDITOR"):
        with suppress(ValueError):
            words = shlex.split(environ.get(variable, ""))
            if words:
                return words
    raise ConfigError("No editor is named.", hint="Set $EDITOR to the command of one, as in `EDITOR=vi`.")


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _run(command: list[str], file: Path) -> int:
    try:
        # The user's own editor, as the user's environment names it.
        return subprocess.run([*command, str(file)], check=False).returncode  # noqa: S603  # a list, no shell
    except OSError as failure:
        raise ProcessNotStarted(f"The editor cannot be started: {failure.strerror}.", hint=_kept(file)) from None


def _kept(file: Path) -> str:
    return f"The document is kept in `{printable(str(file))}`."
