"""`Toolbox`: runnable tools over the core registry, and the one way to call them."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypedDict, Unpack, overload

from toolcrib_core import (
    CatalogError,
    DeprecatedTool,
    DuplicateTool,
    InvalidDefinition,
    RegistryOptions,
    RegistryView,
    SearchResult,
    ToolContext,
    ToolDefinition,
    ToolError,
    ToolRegistry,
    combine_registries,
    create_registry,
)
from toolcrib_core.wording import count, listed, quoted, shown
from toolcrib_runtime.batch import MAX_PARALLEL, Mode, OnError, run_batch
from toolcrib_runtime.call import perform, refused
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.events import EventListener
from toolcrib_runtime.invocation import NO_OPTIONS, CallOptions
from toolcrib_runtime.pipeline import Entry
from toolcrib_runtime.policy.approvals import PendingApproval
from toolcrib_runtime.policy.budgets import Spent
from toolcrib_runtime.policy.runs import Run
from toolcrib_runtime.runnable import RunnableTool
from toolcrib_runtime.settings import ToolboxOptions, ToolboxSettings

_MAX_SHOWN: Final = 10
"""How many tools the `repr` of a toolbox names."""


class ExecuteOptions(TypedDict, total=False):
    """What a caller may say about the calls of an `execute`."""

    mode: Mode
    """`parallel` unless it says `sequential`."""
    on_error: OnError
    """`collect` unless it says `fail_fast`: then the first failure takes the other calls back."""
    max_parallel: int
    context: ToolContext | None
    """Who asks, in which run, until when."""
    run: Run | None
    """The run that the calls count for, with its own budget."""
    timeout: float | None
    """Seconds for each call; it counts before those of tool and toolbox."""
    cancellation: Cancellation | None
    """A switch to take the calls back by."""
    on_event: EventListener


class Toolbox:
    """Tools that can be found and run. It does not change: `extend` gives another one.

    Names are resolved by the core registry, so aliases, versions, deprecation and search hold for running as well.
    Make one with `create_toolbox`.
    """

    def __init__(self, registry: RegistryView, entries: Mapping[str, Entry], settings: ToolboxSettings | None) -> None:
        self._registry = registry
        self._entries = entries
        self._settings = settings

    @property
    def registry(self) -> RegistryView:
        """The catalogue of this toolbox, to be listed, queried, searched and serialized."""
        return self._registry

    @property
    def tools(self) -> tuple[RunnableTool, ...]:
        """Every tool, ascending by id."""
        return tuple(self._entries[definition.id].tool for definition in self._registry.list())

    def resolve(self, name: str, *, version: str | None = None, allow_deprecated: bool = False) -> RunnableTool:
        """The one tool that an id, alias or bare name means; see `RegistryView.resolve`.

        Raises:
            ResolutionError: There is none, or more than one.
        """
        definition = self._registry.resolve(name, version=version, allow_deprecated=allow_deprecated)
        return self._entries[definition.id].tool

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of the names that lead to no tool."""
        return [name for name in names if name not in self]

    def search(self, query: str, *, limit: int = 10, explain: bool = False) -> SearchResult:
        """The tools that fit a request in words, the best first; see `RegistryView.search`."""
        return self._registry.search(query, limit=limit, explain=explain)

    @property
    def spent(self) -> Spent:
        """What its calls have spent of its budget; nothing is counted without one.

        Raises:
            CatalogError: It was combined of toolboxes with budgets of their own: ask these.
        """
        if self._settings is None:
            raise CatalogError("The parts of this toolbox have budgets of their own.", hint="Ask the parts.")
        return self._settings.stages.spent

    @overload
    async def execute(self, calls: ToolCall, /, **options: Unpack[ExecuteOptions]) -> ToolResult: ...
    @overload
    async def execute(self, calls: Sequence[ToolCall], /, **options: Unpack[ExecuteOptions]) -> list[ToolResult]: ...
    async def execute(
        self, calls: ToolCall | Sequence[ToolCall], /, **options: Unpack[ExecuteOptions]
    ) -> ToolResult | list[ToolResult]:
        """Run one call, or many at once; every call has a result, in the order of the calls.

        Raises:
            asyncio.CancelledError: The caller's own task was cancelled; every call was stopped.
        """
        shared = _call_options(options) if options else NO_OPTIONS
        if isinstance(calls, ToolCall):
            return await self._run_one(calls, shared)
        return await run_batch(
            calls,
            lambda call, switch: self._run_one(call, _with_switch(shared, switch)),
            cancellation=shared.cancellation,
            mode=options.get("mode", "parallel"),
            on_error=options.get("on_error", "collect"),
            max_parallel=options.get("max_parallel", MAX_PARALLEL),
        )

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | bytes | None = None,
        /,
        **options: Unpack[ExecuteOptions],
    ) -> ToolResult:
        """Run a tool by name: `execute` for those who have no `ToolCall` at hand."""
        return await self.execute(ToolCall(tool=name, arguments=arguments), **options)

    def grant(self, pending: PendingApproval, *, by: str) -> str:
        """Approve of a call that waits for it; the token goes into `ToolCall.approval` of the very same call.

        Whoever calls this speaks for `by`: keep it out of the reach of models.

        Raises:
            ResolutionError: The tool is not in this toolbox.
        """
        entry = self._entries[self._registry.get(pending.tool_id).id]
        return entry.settings.approvals.grant(pending, by=by)

    def extend(self, *tools: RunnableTool, aliases: Mapping[str, str] | None = None) -> Toolbox:
        """A toolbox with these tools too, under the same settings: one budget, one queue, one cache.

        Raises:
            CatalogError: A tool or an alias is in the way of another.
        """
        if self._settings is None:
            raise CatalogError(
                "The parts of this toolbox have different settings, so that a new tool would have none.",
                hint="Extend one of the parts, then combine them.",
            )
        offered = [_checked(each) for each in tools]
        registry = combine_registries(
            self._registry,
            create_registry([each.definition for each in offered]),
            options=self._registry.options,
        )
        for alias, target in (aliases or {}).items():
            registry.add_alias(alias, target)
        entries = _merged(self._entries, _entries(offered, self._settings))
        return Toolbox(registry.snapshot(), entries, self._settings)

    def delegate_risk(self) -> Toolbox:
        """The same tools, for a caller that decides itself which calls need approval, as a gateway does.

        Their risk asks for no approval here. Rules of the policy still allow, ask and deny. Budgets, queues and caches
        are not shared with this toolbox.
        """
        changed: dict[int, ToolboxSettings] = {}
        for entry in self._entries.values():
            settings = entry.settings
            changed.setdefault(id(settings), replace(settings, policy=replace(settings.policy, by_risk=None)))
        entries = {each: Entry(entry.tool, changed[id(entry.settings)]) for each, entry in self._entries.items()}
        own = None if self._settings is None else changed.get(id(self._settings), self._settings)
        return Toolbox(self._registry, entries, own)

    async def aclose(self) -> None:
        """Let go of the threads and processes that its executors hold."""
        executors = [entry.tool.executor or entry.settings.executor for entry in self._entries.values()]
        for executor in {id(each): each for each in executors}.values():
            await executor.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        ids = [shown(each.id) for each in self._registry.list()[:_MAX_SHOWN]]
        more = f" and {len(self) - len(ids):,} more" if len(self) > len(ids) else ""
        return f"<Toolbox of {count(len(self), 'tool')}: {', '.join(ids)}{more}>" if ids else "<Toolbox without tools>"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[RunnableTool]:
        return iter(self.tools)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        # Not by allowing what is deprecated: whoever only asks is not to be warned.
        with suppress(ToolError):
            return bool(self._registry.get(name))
        try:
            self._registry.resolve(name)
        except ToolError as error:
            return isinstance(error, DeprecatedTool)
        return True

    def get_tool(self, name: str) -> RunnableTool:
        """Deprecated: `resolve`. A name that several versions have is said to be ambiguous."""
        fitting = [each.id for each in self._registry.list() if each.name == name]
        more = f"; `{name}` may mean {listed(fitting)}" if len(fitting) > 1 else ""
        warnings.warn(f"`Toolbox.get_tool` is deprecated: use `resolve`{more}", DeprecationWarning, stacklevel=2)
        return self.resolve(name)

    def _run_one(self, call: ToolCall, options: CallOptions) -> Awaitable[ToolResult]:
        try:
            definition = self._find(call.tool)
        except ToolError as error:
            return _ready(refused(call, error))
        return perform(self._entries[definition.id], call, options)

    def _find(self, name: str) -> ToolDefinition:
        """The tool with exactly this id, else the one that `resolve` chooses; a deprecated one gives its warning."""
        is_id = name in self._registry
        if is_id and not (definition := self._registry.get(name)).lifecycle.deprecated:
            return definition
        return self._registry.resolve(name, allow_deprecated=is_id)


Runner: TypeAlias = Toolbox
"""The same thing by its other name."""


def create_toolbox(
    tools: Iterable[RunnableTool] | RunnableTool = (),
    *,
    aliases: Mapping[str, str] | None = None,
    registry_options: RegistryOptions | None = None,
    **options: Unpack[ToolboxOptions],
) -> Toolbox:
    """A toolbox of these tools, or of this one; the options are the fields of `ToolboxSettings`.

    Raises:
        CatalogError: A tool or an alias is in the way of another.
        InvalidDefinition: Something that is not a tool is among the tools.
    """
    settings = ToolboxSettings(**options)
    offered = [_checked(each) for each in _several(tools)]
    registry = ToolRegistry([each.definition for each in offered], aliases=aliases, options=registry_options)
    return Toolbox(registry.snapshot(), _entries(offered, settings), settings)


create_runner = create_toolbox


def combine_toolboxes(*toolboxes: Toolbox, registry_options: RegistryOptions | None = None) -> Toolbox:
    """One toolbox with the tools of all of these. Each tool keeps the rules, budgets and queues that it had.

    Raises:
        DuplicateTool: Two of them have a tool of the same id that is not the very same tool under the same settings.
        AliasError: An alias means different things.
    """
    entries: Mapping[str, Entry] = {}
    for toolbox in toolboxes:
        entries = _merged(entries, toolbox._entries)  # noqa: SLF001  # the same class, outside its body
    registry = combine_registries(*(each.registry for each in toolboxes), options=registry_options)
    settings = {id(each._settings): each._settings for each in toolboxes}  # noqa: SLF001  # as above
    return Toolbox(registry.snapshot(), entries, settings.popitem()[1] if len(settings) == 1 else None)


def call_sync(
    toolbox: Toolbox,
    name: str,
    arguments: Mapping[str, Any] | str | bytes | None = None,
    /,
    **options: Unpack[ExecuteOptions],
) -> ToolResult:
    """Run a tool by name from a script, in an event loop of its own; see `Toolbox.call`.

    Raises:
        RuntimeError: An event loop runs in this thread, and waiting here would stop it: use `await toolbox.call(…)`.
        TypeError: What is to be called is not in a toolbox.
    """
    if not isinstance(toolbox, Toolbox):
        raise TypeError(
            f"`call_sync` takes a toolbox first, not a value of type `{type(toolbox).__name__}`: "
            "write `call_sync(create_toolbox(tool), name, arguments)`."
        )
    if asyncio._get_running_loop() is not None:  # noqa: SLF001  # the public one raises where there is none
        raise RuntimeError("`call_sync` would stop the event loop that runs here: write `await toolbox.call(…)`.")
    return asyncio.run(toolbox.call(name, arguments, **options))


async def _ready(result: ToolResult) -> ToolResult:
    return result


def _several(tools: object) -> Iterable[object]:
    # A definition can be iterated, and would be said to be tuples.
    return tools if isinstance(tools, Iterable) and not isinstance(tools, ToolDefinition) else (tools,)


def _checked(tool: object) -> RunnableTool:
    if isinstance(tool, RunnableTool):
        return tool
    if isinstance(tool, ToolDefinition):
        raise InvalidDefinition(
            f"The definition {quoted(tool.id)} has no function to run.",
            hint="Make a tool of it: `create_tool(definition, function)`.",
        )
    kind = "A plain function" if inspect.isroutine(tool) else f"A value of type `{type(tool).__name__}`"
    raise InvalidDefinition(f"{kind} is not a tool.", hint="Decorate the function with `@tool`, or use `create_tool`.")


def _entries(tools: Iterable[RunnableTool], settings: ToolboxSettings) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for each in tools:
        if entries.setdefault(each.id, Entry(each, settings)).tool is not each:
            raise _there_twice(each.id)
    return entries


def _merged(one: Mapping[str, Entry], other: Mapping[str, Entry]) -> dict[str, Entry]:
    for tool_id in sorted(one.keys() & other.keys()):
        same = one[tool_id].tool is other[tool_id].tool and one[tool_id].settings is other[tool_id].settings
        if not same:
            raise _there_twice(tool_id)
    return {**one, **other}


def _there_twice(tool_id: str) -> DuplicateTool:
    return DuplicateTool(
        f"{quoted(tool_id)} is there twice, and not as the same tool under the same settings.",
        hint="Leave one of them out, or give one another namespace or version.",
    )


def _call_options(options: ExecuteOptions) -> CallOptions:
    if unknown := options.keys() - ExecuteOptions.__annotations__.keys():
        known = listed(ExecuteOptions.__annotations__)
        raise TypeError(f"a call has no option {listed(sorted(unknown))}; known are {known}")
    listener = options.get("on_event")
    return CallOptions(
        context=options.get("context"),
        run=options.get("run"),
        timeout=options.get("timeout"),
        cancellation=options.get("cancellation"),
        listeners=() if listener is None else (listener,),
    )


def _with_switch(options: CallOptions, switch: Cancellation | None) -> CallOptions:
    return options if switch is options.cancellation else options._replace(cancellation=switch)
