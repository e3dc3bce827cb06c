"""Toolset types: what one must offer, and where those of this package and of others are found."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Final, Protocol

from pydantic import JsonValue

from toolcrib_core.wording import listed, quoted, shown
from toolcrib_runtime import Toolbox
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.contract import ToolsetDefinition
from toolcrib_toolsets.errors import InvalidSettings, InvalidToolsetType

ENTRY_POINTS: Final = "toolcrib.toolset_types"
"""The group of entry points by which an installed package adds types: each names a callable that gives one."""

_logger = logging.getLogger("toolcrib.toolsets")


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """What an instance works with: its name, what it is set to, and its key."""

    namespace: str
    """What the ids of its tools begin with."""
    settings: Mapping[str, JsonValue]
    api_key: Secret | None


class ToolsetKind(Protocol):
    """A toolset type."""

    @property
    def definition(self) -> ToolsetDefinition:
        """What it is, without an instance."""

    def check_settings(self, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """What an instance may be set to, in the form in which it is kept.

        Raises:
            ToolsetError: It may not be set to that.
        """

    def key_destinations(self, settings: Mapping[str, JsonValue]) -> frozenset[str]:
        """Where a key is sent under these settings, which were checked: one text for each address and place in it.

        An instance keeps its key under other settings only if these send it nowhere else.

        Raises:
            ToolError: These settings can no longer be used.
        """

    def open(self, credentials: Credentials) -> AbstractAsyncContextManager[Toolbox]:
        """The tools of an instance, with its key, until they are closed. The key is nowhere in them to be seen.

        Raises:
            ToolError: They cannot be had.
        """


class NoSettings:
    """Half of a type of which an instance is set to nothing."""

    def check_settings(self, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Nothing can be set.

        Raises:
            InvalidSettings: Something was.
        """
        if settings:
            raise InvalidSettings.because("this type has none")
        return {}

    def key_destinations(self, settings: Mapping[str, JsonValue]) -> frozenset[str]:
        """Nowhere that settings could change."""
        del settings  # there are none
        return frozenset()


class ToolsetKinds:
    """The types that there are, by name."""

    def __init__(self, kinds: Iterable[ToolsetKind]) -> None:
        self._kinds = {each.definition.toolset_id: each for each in kinds}

    def __iter__(self) -> Iterator[ToolsetKind]:
        return iter(self._kinds[name] for name in sorted(self._kinds))

    def get(self, toolset_type: str) -> ToolsetKind | None:
        """The type of a name, if there is one."""
        return self._kinds.get(toolset_type)

    def known(self, toolset_type: str) -> ToolsetKind:
        """The type of a name.

        Raises:
            InvalidToolsetType: There is none.
        """
        kind = self.get(toolset_type)
        if kind is None:
            raise InvalidToolsetType.of(toolset_type=shown(toolset_type), known=listed(sorted(self._kinds)) or "none")
        return kind


def installed_kinds() -> list[ToolsetKind]:
    """The types that installed packages bring; one that cannot be loaded is left out, and the log says so."""
    found: list[ToolsetKind] = []
    for each in entry_points(group=ENTRY_POINTS):
        try:
            found.append(each.load()())
        except Exception:
            # Somebody else's code: whatever is wrong with it must not keep the others away.
            _logger.exception("the toolset type %s cannot be loaded", quoted(each.name))
    return found
