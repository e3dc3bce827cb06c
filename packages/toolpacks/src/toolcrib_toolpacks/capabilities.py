"""What a pack may reach, as walls around its process; what no wall can be built for is refused, unless it is trusted.

A process of a pack reads the files of the system and of its interpreter, its own code, and what `caps.filesystem`
lists. It writes what is listed there, and its private directory. Without `caps.network` it has no sockets; with it, it
connects to the ports of the schemes. Without `caps.subprocess` it starts nothing.
"""

from __future__ import annotations

from typing import Final

from toolcrib_core.wording import either
from toolcrib_runtime.guards.process.sandbox import Layers, SandboxWishes
from toolcrib_toolpacks.commands import Command, own_path
from toolcrib_toolpacks.errors import CapabilityRefused
from toolcrib_toolpacks.model import Toolpack

PORTS: Final = {"http": 80, "https": 443}
"""Where a process may connect to, by the scheme that its pack declares."""

# What finding a host by its name, and trusting its certificate, reads.
_NETWORK_FILES = (
    *("/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services"),
    *("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/run/systemd/resolve"),
)
_PORTS_ABI = 4


def sandbox_for(pack: Toolpack, command: Command, *, layers: Layers, trust: bool) -> SandboxWishes:
    """The walls around the process of a pack. Where it is trusted, those that this machine lacks are left out.

    Raises:
        CapabilityRefused: This machine cannot hold the pack to what it declares.
        OutsideRoot: A path that it lists leads out of its root.
    """
    lacking = unenforced(pack, layers)
    if lacking and not trust:
        raise CapabilityRefused(
            f"This machine cannot hold `{pack.id}` to its capabilities: nothing keeps it from {either(lacking)}.",
            hint="Run it on Linux with Landlock and seccomp; or trust the pack, if you know its code.",
            details={"unenforced": list(lacking)},
        )
    network, files = pack.caps.network, pack.caps.filesystem
    return SandboxWishes(
        restrict_files=True,
        readable=(
            *command.readable,
            *(str(own_path(pack, each)) for each in files.read),
            *(_NETWORK_FILES if network else ()),
        ),
        writable=tuple(str(own_path(pack, each)) for each in files.write),
        listable=command.listable,
        write_cwd=False,
        deny_sockets=not network,
        # A namespace holds where there is no seccomp.
        isolate_network=not network and not layers.seccomp and layers.unshare is not None,
        tcp_ports=tuple(PORTS[each] for each in network) if network else None,
        deny_children=not pack.caps.subprocess,
        deny_metadata=True,
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
