"""Which of several servers a resource or a prompt belongs to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core import ToolError
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.relay.merging import Merged, merged
from toolcrib_mcp.relay.reach import Reach
from toolcrib_mcp.relay.uri_templates import fits
from toolcrib_mcp.upstreams import ListKind

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

SEPARATOR: Final = "__"
"""What stands between the namespace of a server and the name of its prompt."""

MAX_LEARNT: Final = 4_096
"""How many resources are remembered that no server lists and one was found to have."""


class ResourceRoutes:
    """Finds the servers that may have a resource: who lists it, else all, those whose template it fits first.

    What servers list is read when it is first needed, and again after `forget`.
    """

    def __init__(self, hub: HubView, reach: Reach) -> None:
        self._hub = hub
        self._reach = reach
        self._listed: dict[str, str] | None = None
        self._templates: list[tuple[str, str]] | None = None
        self._failures: Mapping[str, ToolError] = {}
        self._learnt: OrderedDict[str, str] = OrderedDict()
        self.age = 0
        """How often the lists have changed."""

    async def owner(self, uri: str) -> str | None:
        """The server that lists a resource, or was found to have it."""
        if self._owner(uri) is None and self._is_stale:
            await self._read()
        return self._owner(uri)

    async def others(self, uri: str) -> tuple[list[str], Mapping[str, ToolError]]:
        """All servers that may have a resource which nobody lists, and those that cannot be asked, with the reason."""
        able, failures = await self._reach.having(ListKind.RESOURCES.capability)
        fitting = {server for template, server in self._templates or () if fits(template, uri)}
        return sorted(able, key=lambda server: server not in fitting), failures

    def learn(self, uri: str, server: str) -> None:
        """A server was found to have a resource."""
        if self._owner(uri) is None:
            self._learnt[uri] = server
            if len(self._learnt) > MAX_LEARNT:
                self._learnt.popitem(last=False)

    def take(self, resources: Merged, *, age: int) -> None:
        """Remember who lists what, if nothing has changed since lists of this age were asked for.

        Of several who list the same, the first of the configuration is meant.
        """
        if age != self.age:
            return
        self._listed = {}
        self._failures = {
            server: error for server, error in resources.failures.items() if isinstance(error, UpstreamUnavailable)
        }
        for server, items in resources.by_server.items():
            for uri in _texts(items, "uri"):
                self._listed.setdefault(uri, server)

    def forget(self) -> None:
        """The lists have changed."""
        self.age += 1
        self._listed, self._templates, self._failures = None, None, {}
        self._learnt.clear()

    @property
    def _is_stale(self) -> bool:
        """Whether reading the lists would tell more: they were not read, or a server is back that was missing."""
        if self._listed is None or self._templates is None:
            return True
        return any(self._hub.shared(server).agreement is not None for server in self._failures)

    async def _read(self) -> None:
        age = self.age
        self.take(await merged(self._hub, self._reach, ListKind.RESOURCES), age=age)
        templates = await merged(self._hub, self._reach, ListKind.TEMPLATES)
        if age == self.age:
            self._templates = [
                (template, server)
                for server, items in templates.by_server.items()
                for template in _texts(items, "uriTemplate")
            ]

    def _owner(self, uri: str) -> str | None:
        return (self._listed or {}).get(uri) or self._learnt.get(uri)


class PromptNames:
    """The names of prompts as clients see them: `namespace__name`, but for those of a server that was `alone`."""

    def __init__(self, namespaces: Mapping[str, str], *, alone: str | None = None) -> None:
        self._alone = alone if alone in namespaces else None
        # The longest first: of `a` and `a__b`, the second is meant by `a__b__c`.
        self._prefixes = sorted(
            ((f"{namespace}{SEPARATOR}", server) for server, namespace in namespaces.items()),
            key=lambda each: (-len(each[0]), each[0]),
        )
        self._namespaces = namespaces

    def outward(self, server: str, prompt: Any) -> Any:
        """A prompt as clients see it; one without a name stays as it is."""
        name = prompt.get("name") if isinstance(prompt, dict) else None
        if not isinstance(name, str) or server == self._alone:
            return prompt
        return {**prompt, "name": f"{self._namespaces[server]}{SEPARATOR}{name}"}

    def inward(self, name: str) -> tuple[str, str] | None:
        """The server and its own name for a prompt."""
        found = next(
            ((server, name.removeprefix(prefix)) for prefix, server in self._prefixes if name.startswith(prefix)), None
        )
        return (self._alone, name) if found is None and self._alone is not None else found


def _texts(items: Iterable[Any], member: str) -> list[str]:
    found = (item.get(member) for item in items if isinstance(item, dict))
    return [text for text in found if isinstance(text, str)]
