"""Anchors: what an operator keeps in another place, against which a state folder that was taken back is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import orjson

from toolcrib_core.wording import quoted
from toolcrib_mcp.audit.heads import Heads
from toolcrib_mcp.audit.keys import AuditKey, PublicKeys
from toolcrib_mcp.audit.tracing_back import Anchor
from toolcrib_mcp.errors import AuditUnusable

_FORM: Final = "toolcrib-audit-anchor-1"
_MAX_FILE: Final = 64 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class KeptAnchor:
    """How far every segment had come at one moment, signed."""

    time: str
    """When it was made, in UTC as RFC 3339."""
    number: int
    """How many segments there were, with those that were removed."""
    heads: Mapping[str, Anchor]
    """The last record of each, by segment."""
    signature: str = ""

    @classmethod
    def made(cls, heads: Heads, key: AuditKey, *, time: str) -> Self:
        """The anchor for the heads as they are now."""
        anchors = {name: Anchor(seq=each.head.seq, hash=each.head.hash) for name, each in heads.every().items()}
        unsigned = cls(time=time, number=heads.number(), heads=anchors)
        return cls(time=time, number=unsigned.number, heads=anchors, signature=key.sign(unsigned._message()))

    @classmethod
    def read(cls, file: Path) -> Self:
        """The anchor in a file; whether it is signed is for `verify` to find.

        Raises:
            AuditUnusable: The file cannot be read, or holds no anchor.
        """
        try:
            with file.open("rb") as opened:
                content: Any = orjson.loads(opened.read(_MAX_FILE))
            heads = {name: Anchor(seq=int(seq), hash=str(hash_)) for name, (seq, hash_) in content["heads"].items()}
            read = cls(
                time=str(content["time"]), number=int(content["number"]), heads=heads, signature=str(content["sig"])
            )
        except OSError as failure:
            raise AuditUnusable(
                f"{quoted(file.name)} cannot be read: {failure.strerror}.", hint="Check the path."
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise _no_anchor(file) from None
        if content.get("anchor") != _FORM:
            raise _no_anchor(file)
        return read

    def holds(self, keys: PublicKeys) -> bool:
        """Whether one of the keys has signed it."""
        return keys.signed(self._message(), self.signature)

    def dumped(self) -> bytes:
        """The anchor as a line of JSON."""
        return orjson.dumps({**self._fields(), "sig": self.signature}, option=orjson.OPT_SORT_KEYS) + b"\n"

    def _fields(self) -> dict[str, Any]:
        heads = {name: [each.seq, each.hash] for name, each in self.heads.items()}
        return {"anchor": _FORM, "time": self.time, "number": self.number, "heads": heads}

    def _message(self) -> bytes:
        return _FORM.encode() + b"\n" + orjson.dumps(self._fields(), option=orjson.OPT_SORT_KEYS)


def _no_anchor(file: Path) -> AuditUnusable:
    return AuditUnusable(
        f"{quoted(file.name)} is no anchor of the audit.", hint="Make one with `toolcrib audit anchor -o FILE`."
    )
