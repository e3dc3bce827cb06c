"""`fake_tool`: a tool that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Unpack

from toolcrib_runtime.runnable import RunnableTool, ToolOptions, create_tool

_NOTHING: Final[Any] = object()
_ANY_ARGUMENTS: Final = {"type": "object"}


@dataclass(frozen=True, kw_only=True, eq=False)
class FakeTool(RunnableTool):
    """A tool whose answers are given beforehand."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    """The arguments of every time it was run."""


def fake_tool(
    name: str,
    /,
    *,
    returns: object = _NOTHING,
    raises: BaseException | type[BaseException] | None = None,
    sequence: Sequence[object] | None = None,
    schema: Mapping[str, object] | None = None,
    **options: Unpack[ToolOptions],
) -> FakeTool:
    """Make a tool that always gives `returns`, always raises `raises`, or goes through the values of `sequence`.

    An exception in the sequence is raised; the last item is repeated for ever. Without any of the three it gives null.
    It takes any arguments unless `schema` says otherwise. Its effects are `read` unless the options say otherwise, so
    that it runs without an approval. The name may have a namespace: `fs:read`.

    Raises:
        TypeError: More than one of the three is given, or the sequence is empty.
    """
    answers = _answers(returns, raises, sequence)
    calls: list[dict[str, Any]] = []
    namespace, _, bare = name.rpartition(":")
    options.setdefault("name", bare)
    options.setdefault("description", "A fake for tests.")
    if namespace:
        options.setdefault("namespace", namespace)
    if "risk" not in options:
        options.setdefault("effects", "read")
    made = create_tool(dict(schema or _ANY_ARGUMENTS), _handler(answers, calls), **options)
    return FakeTool(**vars(made), calls=calls)


def _answers(returns: object, raises: object, sequence: Sequence[object] | None) -> list[object]:
    given = [returns is not _NOTHING, raises is not None, sequence is not None]
    if sum(given) > 1:
        raise TypeError("say only one of `returns`, `raises` and `sequence`")
    if sequence is not None and not sequence:
        raise TypeError("`sequence` needs at least one item")
    if sequence is not None:
        return list(sequence)
    return [raises if raises is not None else None if returns is _NOTHING else returns]


def _handler(answers: list[object], calls: list[dict[str, Any]]) -> Callable[..., Coroutine[Any, Any, object]]:
    async def answer(**given: Any) -> object:
        current = answers[min(len(calls), len(answers) - 1)]
        calls.append(given)
        if isinstance(current, BaseException) or (isinstance(current, type) and issubclass(current, BaseException)):
            raise current
        return current

    return answer
