"""`RunnableTool`: a definition and the function that does its work."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypedDict, TypeGuard, Unpack, overload

from toolcrib_core import (
    InvalidDefinition,
    JsonValue,
    ToolDefinition,
    ToolKind,
    ToolLifecycle,
    ToolRisk,
    define_tool,
    merge_risks,
)
from toolcrib_core.risk import Effects
from toolcrib_core.schema.compiled import CompiledSchema, compile_schema
from toolcrib_core.signatures import read_signature
from toolcrib_core.wording import listed
from toolcrib_runtime.alone import run_alone
from toolcrib_runtime.arguments import Explain
from toolcrib_runtime.binding import Binding, Handler, bind_described, bind_function, bind_model
from toolcrib_runtime.executors.protocol import Executor
from toolcrib_runtime.outputs import ToolOutput
from toolcrib_runtime.policy.bounds import check_number, check_whole
from toolcrib_runtime.policy.caching import CachePolicy, check_cachable
from toolcrib_runtime.policy.retries import RetryPolicy
from toolcrib_runtime.policy.rules import Rule


class DefinitionOptions(TypedDict, total=False):
    """What a definition says beyond its source; see `toolcrib_core.define_tool`."""

    name: str
    namespace: str
    version: str
    title: str
    description: str
    output: object
    tags: Iterable[str]
    examples: Iterable[str]
    input_examples: Iterable[Mapping[str, object]]
    kind: ToolKind
    lifecycle: ToolLifecycle
    cost_hint: float
    metadata: Mapping[str, object]
    risk: ToolRisk
    effects: Effects
    """Short for `risk=ToolRisk(effects=…)`."""
    idempotent: bool
    """Short for `risk=ToolRisk(idempotent=…)`."""


class RunOptions(TypedDict, total=False):
    """How a tool is run, wherever it is; a toolbox adds its own rules."""

    timeout: float
    """Seconds that a call may take, waiting for its turn included."""
    retries: RetryPolicy
    """For a tool that is idempotent or has no effects; others are never retried."""
    concurrency: int
    """How many calls of this tool run at a time."""
    cache: CachePolicy
    """Declares that equal arguments give equal values, so that these may be remembered."""
    rules: tuple[Rule, ...]
    """Rules of this tool's own, beside those of the toolbox."""
    blocking: bool
    """Whether it runs in a worker thread; plain functions do unless this says no."""
    executor: Executor
    """Where it runs, if not where the toolbox's tools run."""
    explain: Explain
    """What the tool itself says of arguments that its schema refuses, where it can say more than that."""


class ToolOptions(DefinitionOptions, RunOptions, total=False):
    """Everything that can be said when a tool is made."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunnableTool:
    """One tool that can be run. Calling it calls the function behind it, as if it had never become a tool."""

    definition: ToolDefinition
    binding: Binding = field(repr=False)
    is_async: bool
    is_coroutine_function: bool
    streams: bool
    """Whether the function yields its result in chunks."""
    blocking: bool
    timeout: float | None = None
    retries: RetryPolicy | None = None
    concurrency: int | None = None
    cache: CachePolicy | None = None
    rules: tuple[Rule, ...] = ()
    executor: Executor | None = field(default=None, repr=False)
    explain: Explain | None = field(default=None, repr=False)
    steps: tuple[RunnableTool, ...] = field(default=(), repr=False)
    """The tools that a composed tool calls."""

    def __post_init__(self) -> None:
        if self.timeout is not None:
            check_number("timeout", self.timeout, least=0)
        if self.concurrency is not None:
            check_whole("concurrency", self.concurrency, least=1)

    @property
    def id(self) -> str:
        """The id of the definition."""
        return self.definition.id

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self.definition.name

    @cached_property
    def takes(self) -> CompiledSchema:
        """What its arguments must satisfy, compiled."""
        return compile_schema(self.definition)

    @cached_property
    def gives(self) -> CompiledSchema | None:
        """What its value must satisfy, compiled; None where nothing is said about it."""
        schema = self.definition.output_schema
        return None if schema is None else compile_schema(schema)

    @cached_property
    def is_simple(self) -> bool:
        """Whether it is an async function on the caller's loop that asks for nothing but its arguments."""
        asks = bool(self.binding.context_parameters) or self.timeout is not None or self.executor is not None
        return self.is_coroutine_function and not (self.blocking or asks)

    @cached_property
    def repeatable(self) -> bool:
        """Whether running it twice does no more than running it once."""
        risk = self.definition.risk
        return risk.idempotent or risk.effects in {"none", "read"}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself: nothing is validated, and nothing stands around it."""
        return self.binding.handler(*args, **kwargs)

    def run(self, arguments: Mapping[str, Any] | str | bytes | None = None) -> Coroutine[Any, Any, JsonValue]:
        """Run it once, with arguments and value validated and nothing else around it: no rules, no retries.

        Raises:
            ToolError: The arguments, the tool or its value are at fault.
        """
        return run_alone(self, arguments)

    def replace(self, **changes: Any) -> RunnableTool:
        """The same tool with some fields changed."""
        return dataclasses.replace(self, **changes)


@overload
def tool(function: Handler, /) -> RunnableTool: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[Handler], RunnableTool]: ...
def tool(
    function: Handler | None = None, /, **options: Unpack[ToolOptions]
) -> RunnableTool | Callable[[Handler], RunnableTool]:
    """Make a tool of a function, as a decorator with or without options.

    Schema, descriptions and defaults come from the signature, the annotations and the docstring. A parameter of type
    `RuntimeToolContext` (or `ToolContext`) is filled in by the runtime and is no part of the schema.

    Raises:
        CatalogError: The function cannot be a tool; the message names the parameter.
    """
    if function is not None:
        return _create(function, None, options)
    return lambda decorated: _create(decorated, None, options)


def create_tool(
    source: Handler | type | ToolDefinition | Mapping[str, object],
    handler: Handler | None = None,
    **options: Unpack[ToolOptions],
) -> RunnableTool:
    """Make a tool of a function, or of a handler and what describes it.

    What describes it is a pydantic model, a TypedDict or a dataclass (the handler gets one object of it), or a
    definition or a JSON Schema (the handler gets keywords; or all as one dict, if its only parameter is `arguments`).

    Raises:
        CatalogError: They cannot be a tool together; the message says why.
    """
    return _create(source, handler, options)


def make_runnable(definition: ToolDefinition, binding: Binding, **options: Unpack[RunOptions]) -> RunnableTool:
    """A tool from its parts."""
    kinds = _callables(binding.handler)
    is_coroutine_function = any(map(inspect.iscoroutinefunction, kinds))
    yields_async = any(map(inspect.isasyncgenfunction, kinds))
    is_async = is_coroutine_function or yields_async
    made = RunnableTool(
        definition=definition,
        binding=binding,
        is_async=is_async,
        is_coroutine_function=is_coroutine_function,
        streams=yields_async or any(map(inspect.isgeneratorfunction, kinds)),
        blocking=not is_async,
    )
    return made.replace(**options)


def is_runnable_tool(value: object) -> TypeGuard[RunnableTool]:
    """Whether the value is a `RunnableTool`."""
    return isinstance(value, RunnableTool)


def _create(source: Any, handler: Handler | None, options: ToolOptions) -> RunnableTool:
    _refuse_unknown(options)
    described, ran = _split(options)
    definition, binding = _bound(source, handler, _with_risk(described))
    check_cachable(definition, ran.get("cache"))
    return make_runnable(definition, binding, **ran)


def _bound(source: Any, handler: Handler | None, described: dict[str, Any]) -> tuple[ToolDefinition, Binding]:
    if handler is None:
        if isinstance(source, type | ToolDefinition | Mapping) or not callable(source):
            raise InvalidDefinition("There is nothing to run.", hint="Pass the handler as the second argument.")
        definition = define_tool(source, **_without_envelope(source, described))
        return definition, bind_function(source, name=definition.name)
    if not callable(handler):
        raise InvalidDefinition(
            "The handler is not a function.", hint="Pass what does the work as the second argument."
        )
    if isinstance(source, ToolDefinition):
        definition = source.replace(**described) if described else source
    else:
        definition = define_tool(source, **described)
    if isinstance(source, type):
        return definition, bind_model(source, handler, name=definition.name)
    properties = definition.input_schema.get("properties", {})
    return definition, bind_described(handler, name=definition.name, properties=properties)


def _without_envelope(function: Handler, described: dict[str, Any]) -> dict[str, Any]:
    """The options, with no output schema for a `ToolOutput`: that is how a value comes, not what it is."""
    returns = read_signature(function, name="function").returns
    return {"output": False, **described} if returns is ToolOutput else described


def _callables(handler: Handler) -> list[object]:
    """What may show the kind of a function: itself, or the method that makes an object callable."""
    return [handler] if inspect.isroutine(handler) else [handler, type(handler).__call__]


def _with_risk(described: dict[str, Any]) -> dict[str, Any]:
    """The options with `effects`, `idempotent` and the flags of old metadata folded into `risk`."""
    shorthand = {key: described.pop(key) for key in ("effects", "idempotent") if key in described}
    if shorthand and "risk" in described:
        raise InvalidDefinition("`risk` and its short forms are both given.", hint="Say it all in `risk=ToolRisk(…)`.")
    if shorthand:
        described["risk"] = ToolRisk(**shorthand)
    flags = _risk_of_flags(described.get("metadata") or {})
    if flags is not None:
        given = described.get("risk")
        described["risk"] = flags if given is None else merge_risks(flags, given)
    return described


def _risk_of_flags(metadata: Mapping[str, object]) -> ToolRisk | None:
    flags = {key for key in ("mutates", "readOnly", "dangerous") if metadata.get(key) is True}
    if not flags:
        return None
    warnings.warn(
        f"the metadata flags {listed(sorted(flags))} are deprecated: say it in `risk=ToolRisk(…)`",
        DeprecationWarning,
        stacklevel=5,  # whoever called `tool` or `create_tool`
    )
    effects: Effects = "write" if "mutates" in flags else "read" if "readOnly" in flags else "unknown"
    return ToolRisk(effects=effects, destructive="dangerous" in flags, requires_approval="dangerous" in flags)


def _split(options: ToolOptions) -> tuple[dict[str, Any], Any]:
    run_names = RunOptions.__annotations__
    described = {key: value for key, value in options.items() if key not in run_names}
    return described, {key: value for key, value in options.items() if key in run_names}


def _refuse_unknown(options: Mapping[str, object]) -> None:
    known = {**DefinitionOptions.__annotations__, **RunOptions.__annotations__}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"a tool has no option {listed(unknown)}; known are {listed(known)}")
