"""What packs are granted beyond what they declare: on the command line, or in the environment of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from toolcrib_cli.reach import net_grant, read_reach, words_of
from toolcrib_toolpacks import RunSettings

TRUST_VARIABLE: Final = "TOOLCRIB_TOOLPACKS_TRUST"
ENV_VARIABLE: Final = "TOOLCRIB_TOOLPACKS_ENV"
REACH_VARIABLE: Final = "TOOLCRIB_TOOLPACKS_ALLOW"


@dataclass(frozen=True, kw_only=True)
class Grants:
    """Who runs packs decides on these, not their author."""

    trust: bool = False
    """Whether packs run that this machine cannot hold to their capabilities."""
    env: tuple[str, ...] = ()
    """Variables that look like secrets, and may be passed on."""
    reach: tuple[str, ...] = ()
    """What http tools may reach beyond public hosts by https: `http`, `loopback`, `private`."""

    @classmethod
    def of_environment(cls, environ: Mapping[str, str]) -> Self:
        """The grants of a server, whose command line is about catalogues.

        Raises:
            ConfigError: A variable says something that there is not.
        """
        reach = read_reach(environ, REACH_VARIABLE)
        trust = environ.get(TRUST_VARIABLE, "") not in {"", "0", "false"}
        return cls(trust=trust, env=words_of(environ.get(ENV_VARIABLE, "")), reach=reach)

    def settings(self) -> RunSettings:
        """How packs are run with these."""
        return RunSettings(trust=self.trust, granted_env=frozenset(self.env), network=net_grant(self.reach))
