"""How tools are named for another process, and which cannot be."""

from __future__ import annotations

import functools
import sys
from types import ModuleType

import process_tools as tools
import pytest

from toolcrib_core import InvalidDefinition
from toolcrib_runtime import RunnableTool, create_tool
from toolcrib_runtime.executors.process import ProcessExecutor
from toolcrib_runtime.executors.process_target import Target, importing, target_of
from toolcrib_runtime.executors.worker_tools import SCRIPT_NAME, ToolLoader

pytestmark = pytest.mark.req("RT-19")

_ANY = {"type": "object", "properties": {"x": {"type": "integer"}}}


class Adder:
    def __call__(self, x: int) -> int:
        """Add one."""
        return x + 1


def local_function() -> RunnableTool:
    def inner(x: int) -> int:
        """A function in a function."""
        return x

    return create_tool(inner)


@pytest.mark.parametrize(
    ("tool", "target"),
    [
        (tools.double, Target(module="process_tools", name="double")),
        (tools.double.replace(timeout=1.0), Target(module="process_tools", name="double")),
        (tools.book_trip, Target(module="process_tools", name="book_trip")),
        (create_tool(tools.next_day), Target(module="process_tools", name="next_day")),
        (create_tool(tools.bare), Target(module="process_tools", name="bare", context_parameters=())),
        (
            create_tool(tools.bare_with_context),
            Target(module="process_tools", name="bare_with_context", context_parameters=("context",)),
        ),
        (
            create_tool(tools.Shelf.label),
            Target(module="process_tools", name="Shelf.label", context_parameters=()),
        ),
    ],
)
def test_a_tool_is_named_by_its_module_and_its_place_in_there(tool: RunnableTool, target: Target) -> None:
    assert target_of(tool) == target


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (create_tool(_ANY, lambda x: x, name="short"), "its function is a lambda"),
        (local_function(), "its function is defined inside another function"),
        (
            create_tool(_ANY, functools.partial(tools.bare), name="partial"),
            "its function is not what `functools:` means",
        ),
        (create_tool(_ANY, Adder(), name="adder"), f"its function is not what `{__name__}:` means"),
        (create_tool(tools.Shelf().place), "its function is not what `process_tools:Shelf.place` means"),
        (
            create_tool(tools.Trip, tools.book, name="book_again"),
            "its arguments are described by something beside its function",
        ),
        (
            create_tool(_ANY, tools.bare, name="described"),
            "its arguments are described by something beside its function",
        ),
    ],
)
def test_a_function_that_no_other_process_can_find_is_refused_with_the_reason(tool: RunnableTool, reason: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        target_of(tool)

    assert refused.value.message == f"`{tool.id}` cannot run in a worker process: {reason}."
    assert "at the top level of a module" in str(refused.value.hint)


def test_a_function_of_a_module_that_is_gone_is_refused() -> None:
    def orphan(x: int) -> int:
        """Belongs to nothing."""
        return x

    orphan.__module__, orphan.__qualname__ = "no_such_module", "orphan"

    with pytest.raises(InvalidDefinition, match="its function belongs to no module"):
        target_of(create_tool(orphan))


def test_a_function_that_no_schema_can_be_made_of_is_refused_beside_another_schema() -> None:
    with pytest.raises(InvalidDefinition, match="described by something beside its function"):
        target_of(create_tool(tools.Trip, tools.book_oddly, name="oddly"))


async def test_the_refusal_comes_before_anything_runs() -> None:
    executor = ProcessExecutor(workers=1)

    with pytest.raises(InvalidDefinition, match="lambda"):
        await create_tool(_ANY, lambda x: x, name="short", executor=executor).run({"x": 1})

    assert executor._pools == {}


@pytest.mark.parametrize(
    ("known", "module", "script"),
    [({"__spec__": tools.__spec__}, "process_tools", None), ({"__file__": __file__}, "__main__", __file__)],
)
def test_the_module_that_was_started_is_named_by_its_spec_or_its_file(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, object], module: str, script: str | None
) -> None:
    _start_with(monkeypatch, **known)

    target = target_of(create_tool(tools.bare))

    assert (target.module, target.script) == (module, script)


@pytest.mark.parametrize("known", [{}, {"__file__": "<stdin>"}])
def test_a_tool_that_was_typed_in_is_refused(monkeypatch: pytest.MonkeyPatch, known: dict[str, object]) -> None:
    _start_with(monkeypatch, **known)

    with pytest.raises(InvalidDefinition, match="typed in or piped in"):
        target_of(create_tool(tools.bare))


async def test_a_module_that_calls_tools_while_a_worker_imports_it_is_stopped() -> None:
    with importing(), pytest.raises(SystemExit):
        await ProcessExecutor(workers=1).run(_Work())


def test_the_loader_of_a_worker_runs_a_script_once_and_under_another_name(tmp_path) -> None:
    script = tmp_path / "job"
    script.write_text("seen = []\nseen.append(__name__)\ndef names() -> list:\n    return seen\n")
    loader = ToolLoader()
    target = {"module": "__main__", "name": "names", "script": str(script), "context_parameters": []}

    try:
        first, second = loader.load(target), ToolLoader().load(target)
    finally:
        sys.modules.pop(SCRIPT_NAME, None)

    assert first() == second() == [SCRIPT_NAME]
    assert loader.load(target) is first


def _start_with(monkeypatch: pytest.MonkeyPatch, **known: object) -> None:
    """Let `bare` be a function of the script that this process was started with."""
    main = ModuleType("__main__")
    vars(main).update({"bare": tools.bare, **known})
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(tools.bare, "__module__", "__main__")


class _Work:
    """All that the executor looks at before it stops."""

    tool = tools.double
