"""The registry against a model of plain dicts, and under eight threads."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from registry_tools import contents, tool

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import AliasError, DuplicateTool, ResolutionError, ToolError, UnknownTool
from toolcrib_core.registry import RegistryChange, ToolRegistry, create_registry
from toolcrib_core.versions import version_order

_NAMES = ("a:x", "a:y", "b:x")
_VERSIONS = ("1.0.0", "1.1.0", "2.0.0")
_DEFINITIONS = {
    (name, version, prose): tool(f"{name}@{version}", description=prose)
    for name in _NAMES
    for version in _VERSIONS
    for prose in ("one", "two")
}
_ALIASES = ("s:1", "s:2", "s:3", "a:x", "b:x@1.0.0")
_TARGETS = (*_ALIASES, *_NAMES, *(f"{name}@{version}" for name in _NAMES for version in _VERSIONS))
_DEPTH = 3


class RegistryMachine(RuleBasedStateMachine):
    """Every step is taken on the registry and on the model; a step that is refused must change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = create_registry(max_alias_depth=_DEPTH)
        self.tools: dict[str, ToolDefinition] = {}
        self.aliases: dict[str, str] = {}
        self.told: list[RegistryChange] = []
        self.registry.subscribe(self.told.append)

    def attempt(self, step: Callable[[], object], *, refusal: type[ToolError] | None) -> bool:
        before, told = contents(self.registry), len(self.told)
        if refusal is None:
            step()
            return True
        with pytest.raises(refusal):
            step()
        assert contents(self.registry) == before
        assert len(self.told) == told
        return False

    @rule(definition=st.sampled_from(list(_DEFINITIONS.values())), override=st.booleans())
    def register(self, definition: ToolDefinition, override: bool) -> None:  # noqa: FBT001  # hypothesis passes by name
        registered = self.tools.get(definition.id)
        refusal: type[ToolError] | None = None
        if registered not in {None, definition} and not override:
            refusal = DuplicateTool
        elif registered is not definition and {definition.id, _family(definition.id)} & self.aliases.keys():
            refusal = AliasError
        if self.attempt(lambda: self.registry.register(definition, override=override), refusal=refusal):
            self.tools[definition.id] = definition

    @rule(tool_id=st.sampled_from(sorted({each.id for each in _DEFINITIONS.values()})))
    def unregister(self, tool_id: str) -> None:
        refusal = None if tool_id in self.tools else ResolutionError
        if self.attempt(lambda: self.registry.unregister(tool_id), refusal=refusal):
            del self.tools[tool_id]
            self.aliases = {alias: target for alias, target in self.aliases.items() if target != tool_id}

    @rule(alias=st.sampled_from(_ALIASES), goal=st.sampled_from(_TARGETS), override=st.booleans())
    def add_alias(self, alias: str, goal: str, override: bool) -> None:  # noqa: FBT001  # hypothesis passes by name
        names = {*self.tools, *map(_family, self.tools)}
        moved = {**self.aliases, alias: goal}
        taken = self.aliases.get(alias, goal) != goal and not override
        too_long = any(_end(moved, start) is None for start in _leading_to(moved, alias))
        refusal = AliasError if alias in names or taken or too_long else None
        if self.aliases.get(alias) == goal and alias not in names:
            refusal = None
        if self.attempt(lambda: self.registry.add_alias(alias, goal, override=override), refusal=refusal):
            self.aliases = moved

    @precondition(lambda self: self.aliases)
    @rule(data=st.data())
    def remove_alias(self, data: st.DataObject) -> None:
        alias = data.draw(st.sampled_from(sorted(self.aliases)))

        assert self.registry.remove_alias(alias) == self.aliases.pop(alias)

    @rule(request=st.sampled_from((*_TARGETS, "no:such")))
    def resolve(self, request: str) -> None:
        end = _end(self.aliases, request)
        expected = None if end is None else self._chosen(*end)
        if expected is None:
            with pytest.raises(ToolError):
                self.registry.resolve(request)
        else:
            assert self.registry.resolve(request) is expected

    def _chosen(self, end: str, versions: frozenset[str]) -> ToolDefinition | None:
        fitting = [
            each
            for each in self.tools.values()
            if _family(each.id) == _family(end) and all(each.version == version for version in versions)
        ]
        return max(fitting, key=lambda each: version_order(each.version), default=None)

    @invariant()
    def the_registry_holds_what_the_model_holds(self) -> None:
        assert {each.id: each for each in self.registry} == self.tools
        assert self.registry.aliases() == self.aliases
        assert len(self.registry) == len(self.tools)

    @invariant()
    def replaying_the_feed_gives_the_same_contents(self) -> None:
        tools: set[str] = set()
        aliases: set[str] = set()
        for change in self.told:
            held = aliases if change.kind.startswith("alias") else tools
            (held.discard if change.kind.endswith("removed") else held.add)(change.id)
        assert tools == self.tools.keys()
        assert aliases == self.aliases.keys()


def _family(text: str) -> str:
    return text.partition("@")[0]


def _end(aliases: dict[str, str], start: str) -> tuple[str, frozenset[str]] | None:
    """Where a request ends and the versions it demands; `None` when it goes in a circle or too far."""
    versions: set[str] = set()
    text = start
    for _ in range(_DEPTH + 1):
        name = text if text in aliases else _family(text)
        if name == _family(text) and "@" in text:
            versions.add(text.partition("@")[2])
        if name not in aliases:
            return text, frozenset(versions)
        text = aliases[name]
    return None


def _leading_to(aliases: dict[str, str], alias: str) -> set[str]:
    """The alias and the aliases that point at it by its whole text, however far away."""
    found = {alias}
    while more := {each for each, target in aliases.items() if target in found} - found:
        found |= more
    return found


TestRegistryMachine = pytest.mark.req("AR-2.1", "AR-2.4", "AR-2.7")(RegistryMachine.TestCase)
TestRegistryMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@pytest.mark.req("AR-2.1")
@pytest.mark.fault("A6")
def test_eight_threads_that_read_while_others_write_see_no_error_but_unknown_and_nothing_half_made_or_stale() -> None:
    stable = [tool(f"fs:stable{number}@1.0.0") for number in range(20)]
    fleeting = [tool(f"fs:fleeting{number}@1.0.0") for number in range(2)]
    registry = create_registry(stable)
    surprises: list[str] = []
    rounds: list[int] = []

    def read(number: int) -> None:
        for step in range(10_000):
            with contextlib.suppress(UnknownTool):
                registry.resolve(f"fs:fleeting{number % 2}" if step % 8 == 0 else f"fs:stable{number}")
            snapshot = registry.snapshot()
            if step % 8 == 0 and len(snapshot.list()) != len(snapshot):
                surprises.append("a half-made change was listed")
            if step % 64 == 0 and len(snapshot.query(text="stable")) != len(stable):
                surprises.append("a half-made change was queried")

    def write(definition: ToolDefinition, reading: threading.Event) -> None:
        while reading.is_set():
            registry.register(definition)
            if registry.resolve(f"fs:{definition.name}") is not definition:
                surprises.append("not found after register returned")
            registry.unregister(definition.id)
            if definition.id in registry or _finds(registry, f"fs:{definition.name}"):
                surprises.append("found after unregister returned")
            rounds.append(1)

    _run_together(read, range(8), write, fleeting, surprises)

    assert surprises == []
    assert rounds
    assert registry.revision == 1 + 2 * len(rounds)
    assert registry.list() == tuple(sorted(stable, key=lambda each: each.id))


def _finds(registry: ToolRegistry, name: str) -> bool:
    try:
        registry.resolve(name)
    except UnknownTool:
        return False
    return True


def _run_together(
    read: Callable[[int], None],
    readers: Iterable[int],
    write: Callable[[ToolDefinition, threading.Event], None],
    written: list[ToolDefinition],
    surprises: list[str],
) -> None:
    """Run readers to their end while the writers keep writing; whatever a thread raises is a surprise."""

    def guarded(work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except Exception as failure:  # noqa: BLE001  # a thread's exception would vanish with it
            surprises.append(repr(failure))

    reading = threading.Event()
    reading.set()
    reader_threads = [threading.Thread(target=guarded, args=(read, number)) for number in readers]
    writer_threads = [threading.Thread(target=guarded, args=(write, each, reading)) for each in written]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # many more interleavings than the usual 5 ms would give
    try:
        for thread in (*writer_threads, *reader_threads):
            thread.start()
        for thread in reader_threads:
            thread.join()
    finally:
        reading.clear()
        sys.setswitchinterval(interval)
    for thread in writer_threads:
        thread.join()
