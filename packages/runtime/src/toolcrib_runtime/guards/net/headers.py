"""Headers: which ones may be sent, how many are taken, and what `Retry-After` means."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from toolcrib_core.wording import count, quoted
from toolcrib_runtime.errors import InvalidRequest, OutputTooLarge

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]

MAX_RETRY_AFTER: Final = 3600.0
"""The longest wait in seconds that a server may ask for; more is cut to this."""

_MAX_HEADERS: Final = 128
_MAX_HEADER_BYTES: Final = 64 * 1024
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE: Final = re.compile(rb"[\r\n\x00]")
# They belong to the connection or are worked out from the URL and the body; `Host` would also reach round the grant.
_OURS: Final = frozenset(
    "accept-encoding connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()
)
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def check_method(method: str) -> str:
    """The method in capitals.

    Raises:
        InvalidRequest: It is not one of the methods that tools may use.
    """
    if method.upper() in _METHODS:
        return method.upper()
    raise InvalidRequest(
        "The method of the request is not one that is sent.", hint=f"Use one of {', '.join(_METHODS)}."
    )


def check_own_headers(headers: Mapping[str, str]) -> None:
    """Refuse headers that a caller may not set.

    Raises:
        InvalidRequest: A header belongs to the connection, not to the caller, or is not ASCII.
    """
    for name, value in headers.items():
        if name.lower() in _OURS:
            raise InvalidRequest(f"The header {quoted(name)} is set by the client itself.", hint="Leave it out.")
        if not (name.isascii() and value.isascii()):
            raise InvalidRequest(f"The header {quoted(name)} is not ASCII.", hint="Encode it, or send it in the body.")


def check_sendable(headers: RawHeaders) -> None:
    """Refuse headers that would end early and let what follows pass for something else.

    Raises:
        InvalidRequest: A name is not a token, or a value holds CR, LF or NUL; the value itself is not shown.
    """
    for name, value in headers:
        shown = name.decode("ascii", errors="replace")
        if _TOKEN.fullmatch(name) is None:
            raise InvalidRequest(f"{quoted(shown)} is not the name of a header.", hint="Use letters, digits and `-`.")
        if _UNSENDABLE.search(value) is not None:
            raise InvalidRequest(
                f"The value of the header {quoted(shown)} holds a line break or NUL.",
                hint="Send it on one line.",
            )


def check_received(headers: RawHeaders) -> None:
    """Bound what a server may send before the body.

    Raises:
        OutputTooLarge: There are too many headers, or they are too long.
    """
    if len(headers) > _MAX_HEADERS:
        raise OutputTooLarge(
            f"The answer has {count(len(headers), 'header')}; at most {_MAX_HEADERS} are taken.",
            details={"maxHeaders": _MAX_HEADERS},
        )
    if sum(len(name) + len(value) for name, value in headers) > _MAX_HEADER_BYTES:
        raise headers_too_long()


def headers_too_long() -> OutputTooLarge:
    """The error for an answer that does not come to the end of its headers."""
    return OutputTooLarge(
        f"The headers of the answer are longer than {_MAX_HEADER_BYTES:,} bytes.",
        details={"maxHeaderBytes": _MAX_HEADER_BYTES},
    )


def retry_after(value: str | None) -> float | None:
    """The seconds to wait that a `Retry-After` header asks for, at most an hour; nothing when it cannot be read."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        # More digits than a float holds, or than `int` reads, are more than an hour as well.
        return min(float(value.lstrip("0")[:20] or "0"), MAX_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, moment - time.time()), MAX_RETRY_AFTER)
