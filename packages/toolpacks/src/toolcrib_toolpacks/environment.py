"""The variables that a pack's code sees: those that it names and an operator grants, and those that it sets."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from toolcrib_core.wording import listed
from toolcrib_toolpacks.errors import CapabilityRefused
from toolcrib_toolpacks.model import Toolpack

_SECRET = re.compile(
    r"(?:^|_)(?:API|AUTH)?(?:SECRET|TOKEN|PASSWORD|PASSWD|PWD|KEY|CREDENTIAL|PASSPHRASE|COOKIE)S?(?:_|$)"
)


def looks_secret(name: str) -> bool:
    """Whether a variable of this name most likely holds a secret."""
    return _SECRET.search(name) is not None


def pack_environment(pack: Toolpack, host: Mapping[str, str], *, granted: Collection[str]) -> dict[str, str]:
    """The variables of a pack: what it sets, and those of the host that it names and that were granted by name.

    What a variable holds, its name does not tell; so the author of a pack asks, and the operator who runs it decides.
    One that was not granted is absent, as if the host did not have it.

    Raises:
        CapabilityRefused: One that looks like a secret was not granted; without it the pack cannot do what it is for.
    """
    named = [name for name in pack.env.passthrough if name in host]
    refused = sorted(name for name in named if looks_secret(name) and name not in granted)
    if refused:
        raise CapabilityRefused(
            f"`{pack.tool}` asks for variables that look like secrets, and they were not granted: {listed(refused)}.",
            hint="Grant them by name if the pack may have them, or take them out of its `env.passthrough`.",
            details={"variables": refused},
        )
    return {**{name: host[name] for name in named if name in granted}, **pack.env.assigned}
