"""Taking typed values out of the JSON of one server, and noting every one that is of the wrong type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib_core.json_values import FrozenDict, pointer_join
from toolcrib_core.wording import kind_of, quoted
from toolcrib_mcp.config.findings import Findings


class EntryFields:
    """The members of one server's entry; asking for one of the wrong type notes a problem and gives nothing."""

    def __init__(self, raw: Mapping[str, Any], *, owner: str, place: str, findings: Findings) -> None:
        self.raw = raw
        self._owner = owner
        self._place = place
        self._findings = findings

    def problem(self, key: str, what: str, *, hint: str | None = None) -> None:
        """Note what is wrong with a member, or with the whole entry if the key is empty."""
        place = pointer_join(self._place, key) if key else self._place
        self._findings.problem(f"In {self._owner}, {what}.", place=place, hint=hint)

    def fault(self, place: str, sentence: str, *, hint: str) -> None:
        """Note what is wrong with a text, at a JSON pointer from the entry on."""
        message = f"In {self._owner}, {quoted(place[1:])}: {sentence}"
        self._findings.problem(message, place=self._place + place, hint=hint)

    def warn(self, place: str, what: str, *, hint: str | None = None) -> None:
        """Note something that the author may not expect, at a JSON pointer from the entry on."""
        self._findings.warn(f"In {self._owner}, {what}.", place=self._place + place, hint=hint)

    def flag(self, key: str) -> bool | None:
        """A member that is true or false."""
        value = self.raw.get(key)
        if value is None or isinstance(value, bool):
            return value
        self._wrong(key, value, "true or false")
        return None

    def text(self, key: str, *, required: bool = False) -> str | None:
        """A member that is text; with `required` it must not be empty."""
        value = self.raw.get(key)
        if isinstance(value, str) and (value.strip() or not required):
            return value
        if value is not None or required:
            self._wrong(key, value, "text that is not empty" if isinstance(value, str) else "text")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """A member that is a list of texts."""
        value = self.raw.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self._wrong(key, value, "a list of texts")
            return ()
        for index, item in enumerate(value):
            if not isinstance(item, str):
                self._wrong(key, item, "text", index)
        return tuple(item for item in value if isinstance(item, str))

    def named_texts(self, key: str) -> Mapping[str, str]:
        """A member that is an object of texts; a number counts as its text, as it does for VS Code."""
        value = self.raw.get(key)
        if value is None:
            return FrozenDict()
        if not isinstance(value, dict):
            self._wrong(key, value, "an object of texts")
            return FrozenDict()
        for name, item in value.items():
            if not _is_text_or_number(item):
                self._wrong(key, item, "text", name)
        return FrozenDict({name: str(item) for name, item in value.items() if _is_text_or_number(item)})

    def variables(self, key: str) -> Mapping[str, str]:
        """A member that is an object of environment variables."""
        variables = self.named_texts(key)
        for name in variables:
            if not name or "=" in name:
                self.problem(key, f"{quoted(name)} cannot be the name of a variable", hint="Use letters, digits, `_`.")
        return variables

    def _wrong(self, key: str, value: object, expected: str, inner: str | int | None = None) -> None:
        where = f"`{key}`" if inner is None else f"{quoted(str(inner))} of `{key}`"
        place = pointer_join(self._place, key)
        place = place if inner is None else pointer_join(place, inner)
        self._findings.problem(f"In {self._owner}, {where} is {kind_of(value)}, not {expected}.", place=place)


def _is_text_or_number(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
