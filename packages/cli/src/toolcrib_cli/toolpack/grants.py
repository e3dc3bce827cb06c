"""What an operator grants to packs beyond what their files declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_toolpacks import PathGrant, RunSettings


SERVER_NAME: Final = "toolpacks"
"""What the server of the tool files is called in rules and in the status; the ids of its tools do not begin with it."""


@dataclass(frozen=True, kw_only=True)
class Grants:
    """The operator who runs packs decides on these, not their author."""

    trust: bool = False
    """Whether packs run that this machine cannot hold to their capabilities."""
    paths: tuple[str, ...] = ()
    """Files and folders that packs may use, each as `[TOOL=]PATH[:rw]`."""
    env: tuple[str, ...] = ()
    """Variables that may be passed on to the packs that name them."""
    reach: tuple[str, ...] = ()
    """What http tools may reach beyond public hosts by https: `http`, `loopback`, `private`."""

    def path_grants(self) -> tuple[PathGrant, ...]:
        """The files and folders.

        Raises:
            CapabilityRefused: One is not there, or is never granted.
        """
        from toolcrib_toolpacks import PathGrant

        return tuple(map(PathGrant.parse, self.paths))

    def settings(self) -> RunSettings:
        """How packs are run with these.

        Raises:
            CapabilityRefused: A path is not there, or is never granted.
        """
        from toolcrib_cli.reach import net_grant
        from toolcrib_toolpacks import RunSettings

        return RunSettings(
            trust=self.trust,
            granted_paths=self.path_grants(),
            granted_env=frozenset(self.env),
            network=net_grant(self.reach),
        )
