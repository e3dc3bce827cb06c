"""What a pack may reach, as walls around its process; what no wall can be built for is refused, unless it is trusted.

A pack may do what its kind needs: a process runs its own program, a request reaches the host of its own URL. A process
reads the files of the system and of its interpreter, its own code, and what `caps.filesystem` lists. It writes what is
listed there, and its private directory. Without `caps.network` it has no sockets; with it, it connects to the ports of
the schemes. Without `caps.subprocess` its program starts no other one. An operator can grant more.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from toolcrib_core.wording import either, quoted
from toolcrib_runtime.guards.process.sandbox import Layers, SandboxWishes
from toolcrib_toolpacks.commands import Command, own_path
from toolcrib_toolpacks.errors import CapabilityRefused
from toolcrib_toolpacks.model import CliExecution, HttpExecution, Toolpack, code_of

PORTS: Final = {"http": 80, "https": 443}
"""Where a process may connect to, by the scheme that its pack declares."""

# What finding a host by its name, and trusting its certificate, reads.
_NETWORK_FILES = (
    *("/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"),
    *("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/run/systemd/resolve"),
)
_PORTS_ABI = 4
_WRITE: Final = ":rw"
# Through these a process reaches other processes, devices and the kernel, whatever they are granted for.
_NEVER_GRANTED: Final = ("/", "/dev", "/proc", "/sys")


@dataclass(frozen=True, kw_only=True)
class PathGrant:
    """A file or folder that an operator lets packs read, and with `write` change: all packs, or the one that is named.

    The programs in `bin` of a granted folder are found by their names. A virtual environment comes with the standard
    library of the interpreter that it was made from.
    """

    path: Path
    write: bool = False
    tool: str | None = None
    """The id of a pack, in any of its spellings."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `[TOOL=]PATH[:rw]`, as in `~/data`, `csv.columns=~/data` and `/srv/out:rw`.

        Raises:
            CapabilityRefused: There is no such path, or it is never granted.
        """
        tool, mark, place = text.partition("=")
        if not mark or "/" in tool or tool.startswith("~"):
            tool, place = "", text
        path = Path(place.removesuffix(_WRITE)).expanduser().absolute()
        if not path.exists():
            raise CapabilityRefused(f"{quoted(str(path))} cannot be granted: there is no such file or folder.")
        found = path.resolve()
        if str(found) == "/" or any(found.is_relative_to(each) for each in _NEVER_GRANTED[1:]):
            raise CapabilityRefused(
                f"{quoted(str(path))} is never granted: it leads to every other process or file.",
                hint="Grant the folder with the data, or with the interpreter.",
            )
        return cls(path=path, write=place.endswith(_WRITE), tool=tool or None)

    def is_for(self, pack: Toolpack) -> bool:
        """Whether the pack has it."""
        return self.tool is None or pack.is_called(self.tool)

    @property
    def readable(self) -> tuple[str, ...]:
        """All that can be read by it."""
        return (str(self.path), *map(str, _interpreter_files(self.path)))

    @property
    def programs(self) -> tuple[str, ...]:
        """Where its programs are: a folder of an interpreter, or of programs."""
        own = self.path / "bin"
        return (str(own),) if own.is_dir() else (str(self.path),) if self.path.name == "bin" else ()


def grants_of(pack: Toolpack, grants: Iterable[PathGrant]) -> tuple[PathGrant, ...]:
    """Those of the grants that are for a pack."""
    return tuple(each for each in grants if each.is_for(pack))


def permissions(pack: Toolpack, grants: Iterable[PathGrant] = ()) -> tuple[str, ...]:
    """All that a pack may do, in words: what its kind needs, what its file declares, and what is granted to it."""
    return tuple(_permissions(pack, grants_of(pack, grants)))


def _permissions(pack: Toolpack, grants: tuple[PathGrant, ...]) -> Iterator[str]:
    caps, execution = pack.caps, pack.execution
    if isinstance(execution, HttpExecution):
        url = urlsplit(execution.url)
        yield f"asks {url.scheme}://{url.netloc}"
    else:
        program = execution.cmd[0] if isinstance(execution, CliExecution) else None
        code = getattr(execution, "module", None) or next(iter(code_of(execution)), "")
        yield f"runs {shlex.quote(program) if program else f'{code} with {execution.kind}'}"
        if caps.subprocess:
            yield "starts other programs"
        yield from (f"reads {each}" for each in (*caps.filesystem.read, *(str(g.path) for g in grants if not g.write)))
        yield from (f"writes {each}" for each in (*caps.filesystem.write, *(str(g.path) for g in grants if g.write)))
        yield from (f"connects to port {PORTS[each]} of any host" for each in caps.network)
    yield from (f"gets ${each}" for each in pack.env.passthrough)


def may_use_http(pack: Toolpack) -> bool:
    """Whether the request of a pack may go without encryption: its own URL says so, or its capabilities."""
    execution = pack.execution
    own = isinstance(execution, HttpExecution) and execution.url.lower().startswith("http:")
    return own or "http" in pack.caps.network


def sandbox_for(
    pack: Toolpack, command: Command, *, layers: Layers, trust: bool, grants: Iterable[PathGrant] = ()
) -> SandboxWishes:
    """The walls around the process of a pack. Where it is trusted, those that this machine lacks are left out.

    Raises:
        CapabilityRefused: This machine cannot hold the pack to what it may do.
        OutsideRoot: A path that it lists leads out of its root.
    """
    lacking = unenforced(pack, layers)
    if lacking and not trust:
        raise CapabilityRefused(
            f"This machine cannot hold `{pack.tool}` to its capabilities: nothing keeps it from {either(lacking)}.",
            hint="Run it on Linux with Landlock and seccomp; or trust the pack, if you know its code.",
            details={"unenforced": list(lacking)},
        )
    network, files, granted = pack.caps.network, pack.caps.filesystem, grants_of(pack, grants)
    return SandboxWishes(
        restrict_files=True,
        readable=(
            *command.readable,
            *(str(own_path(pack, each)) for each in files.read),
            *(_NETWORK_FILES if network else ()),
            *(path for each in granted for path in each.readable),
        ),
        writable=(
            *(str(own_path(pack, each)) for each in files.write),
            *(str(each.path) for each in granted if each.write),
        ),
        listable=command.listable,
        write_cwd=False,
        deny_sockets=not network,
        # A namespace holds where there is no seccomp.
        isolate_network=not network and not layers.seccomp and layers.unshare is not None,
        tcp_ports=tuple(PORTS[each] for each in network) if network else None,
        deny_children=not pack.caps.subprocess,
        deny_metadata=True,
        deny_machine=True,
    )


def unenforced(pack: Toolpack, layers: Layers) -> tuple[str, ...]:
    """What nothing on this machine keeps a pack's process from, although the pack does not declare it."""
    found = []
    # Landlock holds what is in files, seccomp their modes, owners and times.
    if not (layers.landlock_abi and layers.seccomp):
        found.append("files that it does not list")
    if not pack.caps.network and not (layers.seccomp or layers.unshare):
        found.append("the network")
    if pack.caps.network and layers.landlock_abi < _PORTS_ABI:
        found.append("ports other than those of its schemes")
    if not pack.caps.subprocess and not layers.seccomp:
        found.append("starting other programs")
    return tuple(found)


def _interpreter_files(folder: Path) -> Iterator[Path]:
    """What the interpreter of a virtual environment needs of the one that it was made from."""
    if not (folder / "pyvenv.cfg").is_file():
        return
    base = (folder / "bin/python").resolve().parent.parent
    for pattern in ("lib/python3*", "lib64/python3*", "lib/libpython3*"):
        yield from sorted(base.glob(pattern))
