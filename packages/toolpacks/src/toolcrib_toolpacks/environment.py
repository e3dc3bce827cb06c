"""The variables that a pack's code sees: those it names, and no others."""

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
    """The variables of a pack: what it sets, and what it passes on of those that the host has.

    A variable that looks like a secret is passed on only if it was granted by name: the pack's author asks for it, and
    somebody else decides.

    Raises:
        CapabilityRefused: One that looks like a secret was not granted.
    """
    passed = {name: host[name] for name in pack.env.passthrough if name in host}
    refused = sorted(name for name in passed if looks_secret(name) and name not in granted)
    if refused:
        raise CapabilityRefused(
            f"`{pack.tool}` asks for variables that look like secrets, and they were not granted: {listed(refused)}.",
            hint="Grant them by name if the pack may have them, or take them out of its `env.passthrough`.",
            details={"variables": refused},
        )
    return {**passed, **pack.env.assigned}
