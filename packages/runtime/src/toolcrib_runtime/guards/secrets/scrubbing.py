"""Taking secrets out of text and JSON before somebody reads, logs or stores it.

This is for accidents: a token in a message, a key in a result. A tool that wants to give a secret away can spell it in
a way that nothing recognises.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from toolcrib_core import JsonValue
from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret
from toolcrib_runtime.guards.secrets.shapes import PATHS, SHAPES, names_a_secret, replace_shapes
from toolcrib_runtime.guards.secrets.spellings import longest_first, spellings

MAX_DEPTH: Final = 100
"""What is nested deeper is replaced as a whole."""

MAX_VALUES: Final = 100_000
"""What comes after so many values is replaced; an object that holds itself twice would have no end."""

MAX_MESSAGE: Final = 500
"""How long the message of an exception may be, in characters."""

# A line is cut before it is scrubbed, since it may be 50 MB, but far behind its end, so that no secret is cut in two.
_LINE_FACTOR = 200


class Scrubber:
    """Replaces secrets by bullets: those it was told of, in their usual encodings, and text that looks like one.

    With `hide_paths`, the directories of absolute paths go as well, as in `…/name.py`. More secrets may be added at any
    time, from any thread. The work takes time in proportion to the text and to the number of secrets.
    """

    def __init__(self, secrets: Iterable[Secret] = (), *, hide_paths: bool = False) -> None:
        self._shapes = SHAPES + PATHS if hide_paths else SHAPES
        self._lock = threading.Lock()
        self._spellings: tuple[Secret, ...] = ()
        self.add(*secrets)

    def add(self, *secrets: Secret) -> None:
        """Search for these secrets, too; one of fewer than six characters is ignored."""
        with self._lock:
            self._spellings = longest_first(each.reveal() for each in (*self._spellings, *spellings(secrets)))

    def scrub_text(self, text: str) -> str:
        """The text without secrets, however long it is."""
        return replace_shapes(self.scrub_known(text), self._shapes)

    def scrub_known(self, text: str) -> str:
        """The text without the secrets that were told; what only looks like one stays, as a result may need it."""
        for spelling in self._spellings:
            text = text.replace(spelling.reveal(), REDACTED)
        return text

    def scrub_line(self, text: str, *, max_length: int) -> str:
        """The text on one printable line, without secrets and absolute paths, and cut; for excerpts and messages."""
        scrubbed = replace_shapes(self.scrub_text(text[: _LINE_FACTOR * max_length]), PATHS)
        line = " ".join("".join(each if each.isprintable() else " " for each in scrubbed).split())
        return line if len(line) <= max_length else f"{line[: max_length - 1]}…"

    def scrub(self, value: object) -> JsonValue:
        """A JSON value without secrets in its texts and keys; what is not JSON becomes its scrubbed `repr`.

        Keys that become the same are told apart by a number.
        """
        return self._scrub(value, 0, iter(range(MAX_VALUES)))

    def _scrub(self, value: object, depth: int, room: Iterator[int]) -> JsonValue:
        if depth == MAX_DEPTH or next(room, None) is None:
            return REDACTED
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return self.scrub_text(value)
        if isinstance(value, Mapping):
            return self._scrub_members(value, depth + 1, room)
        if isinstance(value, (list, tuple)):
            return [self._scrub(item, depth + 1, room) for item in value]
        return self.scrub_text(_said(value))

    def _scrub_members(self, members: Mapping[object, object], depth: int, room: Iterator[int]) -> dict[str, JsonValue]:
        scrubbed: dict[str, JsonValue] = {}
        for position, (key, value) in enumerate(members.items()):
            name = self.scrub_text(key if isinstance(key, str) else _said(key))
            hidden = isinstance(value, str) and names_a_secret(name)
            unique = f"{name} ({position})" if name in scrubbed else name
            scrubbed[unique] = REDACTED if hidden else self._scrub(value, depth, room)
        return scrubbed


def scrub_exception(exception: BaseException, scrubber: Scrubber | None = None) -> str:
    """What an exception says, fit for an error that a model reads.

    It is one line of at most 500 characters that begins with the type, and has no secrets and no absolute paths.
    Without a scrubber, the secrets are those that look like one.
    """
    kind, message = type(exception).__name__, ""
    with suppress(Exception):  # its `__str__` is somebody else's code
        message = str(exception)
    return (scrubber or Scrubber()).scrub_line(f"{kind}: {message}" if message else kind, max_length=MAX_MESSAGE)


def _said(value: object) -> str:
    with suppress(Exception):  # its `__repr__` is somebody else's code
        return repr(value)
    return f"a value of type `{type(value).__name__}`"
