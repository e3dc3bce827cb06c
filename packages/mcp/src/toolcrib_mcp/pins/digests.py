"""What makes a tool the same tool: digests over everything that a server says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.schema.canonical import digest

# What a server notes beside a tool, such as when it was listed, is no part of what the tool says about itself.
_BESIDE: Final = "_meta"


def definition_digest(tool: Mapping[str, Any]) -> str:
    """SHA-256, in hex, of all that a tool says about itself: name, texts, schemas, annotations, whatever comes next.

    The order of keys and `1` against `1.0` make no difference; every other change does.

    Raises:
        NotJson: Some part is not JSON.
    """
    return digest({key: value for key, value in tool.items() if key != _BESIDE})


def body_digest(tool: Mapping[str, Any]) -> str:
    """As `definition_digest`, without the name: the same for a tool that was only renamed.

    Raises:
        NotJson: Some part is not JSON.
    """
    return digest({key: value for key, value in tool.items() if key not in {_BESIDE, "name"}})
