"""What a process kind comes to: a command line, the files it needs of its own, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import OutsideRoot, ProcessNotStarted
from toolcrib_toolpacks.model import Toolpack

CHILDREN: Final = Path(__file__).parent / "children"
"""Where the programs lie that run a pack's code on the far side."""


@dataclass(frozen=True, kw_only=True)
class Interpreters:
    """The programs that run scripts: a name to be looked up, or an absolute path."""

    node: str = "node"
    php: str = "php"


@dataclass(frozen=True, kw_only=True)
class Command:
    """How the code of a pack is started for one call, or as a worker for many."""

    argv: tuple[str, ...] = field(repr=False)
    script: bool = False
    """Whether it is a Python script, which restricts itself before it runs."""
    warm: bool = False
    """Whether it stays, and answers call after call."""
    readable: tuple[str, ...] = ()
    listable: tuple[str, ...] = ()
    own_files: tuple[Path, ...] = ()
    """The files of the pack that hold its code."""


def own_path(pack: Toolpack, relative: str) -> Path:
    """A path that the pack names, wherever its links lead, as long as that is beneath the pack's root.

    Raises:
        OutsideRoot: It leads out, for instance because a link was put in its place after the pack was loaded.
    """
    path = pack.beneath(relative).resolve()
    if not path.is_relative_to(pack.root.resolve()):
        raise OutsideRoot(
            f"`{pack.tool}` names a path that leads out of its root: {quoted(relative)}.",
            hint="Put the file beneath the folder of the pack; or name a program alone, as `python3`, and grant its "
            "folder with `--grant-path`.",
        )
    return path


def own_file(pack: Toolpack, relative: str) -> Path:
    """A file of the pack that is there.

    Raises:
        OutsideRoot: It leads out.
        ProcessNotStarted: There is none.
    """
    path = own_path(pack, relative)
    if not path.is_file():
        raise ProcessNotStarted(
            f"`{pack.tool}` runs {quoted(relative)}, and there is no such file.",
            hint="Put the file there, or correct the pack.",
        )
    return path
