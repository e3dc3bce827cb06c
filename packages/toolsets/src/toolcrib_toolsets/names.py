"""What a toolset may be called, and how it may be described."""

from __future__ import annotations

import re
from typing import Final

from toolcrib_toolsets.errors import InvalidDescription, InvalidInstanceName

MAX_TOOLSET_NAME_LEN: Final = 24
"""Characters of a name at most."""

MAX_TOOLSET_DESCRIPTION_LEN: Final = 255
"""Characters of a description at most."""

_NAME = re.compile(r"[A-Za-z0-9-]+")
# A description is shown on one line, to people and to models.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def validate_toolset_name(name: str) -> None:
    """Take a name of 1 to 24 letters, digits and hyphens, all of ASCII.

    Raises:
        InvalidInstanceName: It is none.
    """
    if not name:
        raise InvalidInstanceName.because("name cannot be empty")
    if len(name) > MAX_TOOLSET_NAME_LEN:
        raise InvalidInstanceName.because(f"name exceeds {MAX_TOOLSET_NAME_LEN} characters")
    if not _NAME.fullmatch(name):
        raise InvalidInstanceName.because("name must contain only alphanumeric characters and hyphens")


def validate_toolset_description(description: str) -> None:
    """Take a description of up to 255 characters on one line; an empty one is fine.

    Raises:
        InvalidDescription: It is too long, or has a character that cannot be shown.
    """
    if len(description) > MAX_TOOLSET_DESCRIPTION_LEN:
        raise InvalidDescription.because(f"description exceeds {MAX_TOOLSET_DESCRIPTION_LEN} characters")
    if _UNPRINTABLE.search(description):
        raise InvalidDescription.because("description must be one line of printable characters")
