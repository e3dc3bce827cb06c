"""What a composed tool says of itself: a legal name, and the risk, tags, cost and age of everything it is made of."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict

from toolcrib_core import InvalidDefinition, LossyFeature, ToolDefinition, ToolLifecycle, ToolRisk, merge_risks
from toolcrib_core.wording import listed
from toolcrib_runtime.compose.steps import Steps, make_composed
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.runnable import RunnableTool

MAX_NAME: Final = 64
"""The longest name that every provider takes."""

StepWork: TypeAlias = Callable[[dict[str, Any], Steps], Awaitable[object]]
"""What a composed tool does with its arguments, by way of its steps."""

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")


class Naming(TypedDict, total=False):
    """What may be said about a composed tool instead of what its parts say."""

    name: str
    namespace: str
    version: str
    description: str


def compose(
    verb: str,
    steps: Sequence[RunnableTool],
    work: StepWork,
    *,
    naming: Naming,
    description: str,
    takes: ToolDefinition,
    gives: ToolDefinition | None,
    like: ToolDefinition | None = None,
    by: Callable[..., object] | None = None,
    timeout: float | None = None,
    added_risk: ToolRisk | None = None,
    metadata: Mapping[str, object] | None = None,
) -> RunnableTool:
    """A tool that does this work by way of these steps.

    Its risk is at least that of every step, its cost the sum of theirs, its tags are all of theirs, and it is
    deprecated if one of them is. The input is that of `takes`, the output that of `gives`. `like` is the tool that it
    is still the same as, for whoever looks for it; `by` is a function that takes part in the work.
    """
    _refuse_unknown(naming)
    parts = [step.definition for step in steps]
    definition = ToolDefinition(
        namespace=naming.get("namespace", parts[0].namespace),
        name=naming.get("name") or _legal_name(verb, parts, by),
        version=naming.get("version"),
        title=like and like.title,
        description=naming.get("description", description),
        input_schema=takes.input_schema,
        output_schema=gives and gives.output_schema,
        tags=sorted({tag for part in parts for tag in part.tags}),
        examples=like.examples if like else (),
        input_examples=takes.input_examples if like else (),
        kind=like.kind if like else "tool",
        risk=merge_risks(*(part.risk for part in parts), *([added_risk] if added_risk else [])),
        lifecycle=_lifecycle(parts),
        cost_hint=sum(part.cost_hint for part in parts),
        metadata={"composedOf": [part.id for part in parts], **(metadata or {})},
        lossy=_lossy(takes, "/inputSchema") + _lossy(gives, "/outputSchema"),
    )

    async def run(arguments: dict[str, Any], context: RuntimeToolContext) -> object:
        return await work(arguments, Steps(verb, steps, context, repeatable=made.repeatable))

    made = make_composed(definition, run, steps=steps, timeout=timeout)
    return made


def need_tools(verb: str, tools: Sequence[object], *, least: int = 1) -> None:
    """Refuse what cannot be composed.

    Raises:
        InvalidDefinition: There are too few, or one is not a tool.
    """
    if len(tools) < least:
        raise InvalidDefinition(f"`{verb}` needs at least {least} tools, and got {len(tools)}.")
    for each in tools:
        if not isinstance(each, RunnableTool):
            raise InvalidDefinition(
                f"`{verb}` composes tools, not a value of type `{type(each).__name__}`.",
                hint="Decorate the function with `@tool`, or use `create_tool`.",
            )


def _refuse_unknown(naming: Mapping[str, object]) -> None:
    unknown = [name for name in naming if name not in Naming.__annotations__]
    if unknown:
        raise TypeError(f"a composed tool has no option {listed(unknown)}; known are {listed(Naming.__annotations__)}")


def _legal_name(verb: str, parts: Sequence[ToolDefinition], by: Callable[..., object] | None) -> str:
    words = [verb, *(part.name for part in parts), *_name_of(by)]
    plain = "_".join(words)
    name = "_".join(filter(None, (_ILLEGAL.sub("_", word).strip("_") for word in words)))
    if name == plain and len(name) <= MAX_NAME:
        return name
    # Two compositions must not share a name because what was cut or replaced was the difference.
    mark = hashlib.sha256("\n".join([*words, *(part.id for part in parts)]).encode()).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{mark}"


def _name_of(function: Callable[..., object] | None) -> list[str]:
    name = getattr(function, "__name__", "<lambda>")
    return [] if name == "<lambda>" else [name]


def _lifecycle(parts: Sequence[ToolDefinition]) -> ToolLifecycle:
    old = [part.id for part in parts if part.lifecycle.deprecated]
    if not old:
        return ToolLifecycle()
    return ToolLifecycle(deprecated=True, message=f"It is made of deprecated tools: {listed(old)}.")


def _lossy(definition: ToolDefinition | None, place: str) -> tuple[LossyFeature, ...]:
    found = definition.lossy if definition else ()
    return tuple(each for each in found if each.pointer == place or each.pointer.startswith(f"{place}/"))
