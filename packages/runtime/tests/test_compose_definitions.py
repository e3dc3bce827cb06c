"""What composed tools say of themselves: names, risk, tags, cost, age; and that they are tools as any other."""

from __future__ import annotations

import re
from typing import Annotated

import pytest
from composed_tools import COMPOSERS, REPEATABLE_COMPOSERS, Composer, counting, lazily
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator
from small_toolboxes import box

from toolcrib_core import (
    InvalidDefinition,
    ToolLifecycle,
    ToolRisk,
    deserialize_tool_definition,
    merge_risks,
    serialize_tool_definition,
)
from toolcrib_runtime import RunnableTool, bind, create_tool, create_toolbox, map_output, parallel, pipe, retry, tap
from toolcrib_runtime.testing import fake_tool

Even = Annotated[int, AfterValidator(lambda n: n)]
LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=100)
RISKS = st.builds(
    ToolRisk,
    effects=st.sampled_from(["none", "read", "write", "unknown"]),
    destructive=st.booleans(),
    idempotent=st.booleans(),
    requires_approval=st.booleans(),
    data_sensitivity=st.sampled_from(["public", "internal", "restricted", "secret"]),
    external_network=st.booleans(),
    system_access=st.booleans(),
)

each_composer = pytest.mark.parametrize("compose", REPEATABLE_COMPOSERS.values(), ids=REPEATABLE_COMPOSERS)
# A lazy tool has the definition that it is given.
each_deriving_composer = pytest.mark.parametrize(
    "compose", [each for each in REPEATABLE_COMPOSERS.values() if each is not lazily]
)


@pytest.mark.req("RT-12")
@given(names=st.lists(NAMES, min_size=2, max_size=6))
def test_the_name_is_legal_for_every_provider_whatever_the_parts_are_called(names: list[str]) -> None:
    parts = [fake_tool("part", name=name) for name in names]

    composed = [pipe(*parts), parallel(*parts), bind(parts[0], {}), retry(parts[0])]

    assert all(LEGAL.fullmatch(each.name) for each in composed)


@pytest.mark.req("RT-12")
@given(one=NAMES, other=NAMES)
def test_parts_that_had_to_be_renamed_do_not_end_up_with_one_name(one: str, other: str) -> None:
    names = [bind(fake_tool("part", name=f"{name}."), {}).name for name in (one, other)]

    assert (names[0] == names[1]) == (one == other)


@pytest.mark.req("RT-12")
def test_long_compositions_that_begin_alike_have_different_names() -> None:
    beginning = [fake_tool("a" * 40), fake_tool("b" * 40)]

    one, other = (pipe(*beginning, fake_tool(end)) for end in ("c", "d"))

    assert one.name != other.name
    assert one.name.startswith(f"pipe_{'a' * 40}_b")


@pytest.mark.req("RT-12")
def test_a_function_that_takes_part_is_part_of_the_name() -> None:
    def first_line(value: object) -> object:
        return value

    tool = fake_tool("read")

    assert map_output(tool, first_line).name == "map_output_read_first_line"
    assert map_output(tool, lambda value: value).name == "map_output_read"


@pytest.mark.req("RT-12")
def test_what_a_caller_says_counts_before_what_the_parts_say() -> None:
    made = pipe(
        fake_tool("a"), fake_tool("b"), name="both", namespace="own", version="2.0.0", description="Do both things."
    )

    assert (made.id, made.definition.description) == ("own:both@2.0.0", "Do both things.")


@pytest.mark.req("RT-12")
def test_an_option_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="no option `nmae`"):
        pipe(fake_tool("a"), fake_tool("b"), nmae="both")  # type: ignore[call-arg]


@pytest.mark.req("RT-12")
@given(risks=st.lists(RISKS, min_size=2, max_size=5))
def test_the_risk_is_no_lower_than_that_of_any_part(risks: list[ToolRisk]) -> None:
    parts = [fake_tool(f"part{number}", risk=risk) for number, risk in enumerate(risks)]

    for made in (pipe(*parts), parallel(*parts)):
        assert made.definition.risk == merge_risks(*risks)


@pytest.mark.req("RT-12")
@pytest.mark.parametrize("compose", COMPOSERS.values(), ids=COMPOSERS)
def test_a_composition_of_dangerous_tools_is_dangerous(compose: Composer) -> None:
    risk = ToolRisk(effects="write", destructive=True, requires_approval=True, data_sensitivity="secret")

    made = compose(fake_tool("wipe", risk=risk))

    assert made.definition.risk == risk


@pytest.mark.req("RT-12")
async def test_a_composition_of_dangerous_tools_is_asked_about_as_they_are() -> None:
    wipe = fake_tool("wipe", risk=ToolRisk(effects="write", destructive=True))
    made = pipe(fake_tool("read", returns={}), wipe)

    result = await create_toolbox([made]).call(made.id, {})

    assert (result.outcome, wipe.calls) == ("action_required", [])


@pytest.mark.req("RT-12")
def test_an_effect_adds_its_own_risk() -> None:
    made = tap(fake_tool("read"), print, risk=ToolRisk(effects="write", external_network=True))

    assert (made.definition.risk.effects, made.definition.risk.external_network) == ("write", True)


@pytest.mark.req("RT-12")
def test_tags_are_joined_and_costs_add_up() -> None:
    made = pipe(fake_tool("a", tags=["web", "files"], cost_hint=1.5), fake_tool("b", tags=["web"], cost_hint=2))

    assert (made.definition.tags, made.definition.cost_hint) == (("files", "web"), 3.5)


@pytest.mark.req("RT-12")
@each_composer
def test_a_composition_of_a_deprecated_tool_is_deprecated(compose: Composer) -> None:
    made = compose(fake_tool("old", lifecycle=ToolLifecycle(deprecated=True)))

    assert made.definition.lifecycle.deprecated


@pytest.mark.req("RT-12")
def test_a_tool_that_is_only_wrapped_is_found_by_what_it_said_before() -> None:
    tool = fake_tool("read", title="Read it", description="Read a file.", examples=["show me"], kind="skill")

    for made in (bind(tool, {}), retry(tool), tap(tool, print)):
        definition = made.definition
        assert (definition.title, definition.description) == ("Read it", "Read a file.")
        assert (definition.examples, definition.kind) == (("show me",), "skill")


@pytest.mark.req("RT-12")
def test_what_a_schema_could_not_say_is_still_known_of_the_composed_tool() -> None:
    def halve(n: Even) -> Even:
        return n // 2

    tool = create_tool(halve, description="Halve.", effects="read")
    pointers = [each.pointer for each in tool.definition.lossy]

    lossy = pipe(tool, counting("add")).definition.lossy

    assert [each.pointer for each in lossy] == [each for each in pointers if each.startswith("/inputSchema")] != []


@pytest.mark.req("RT-12")
@each_composer
def test_a_composed_tool_is_serialized_and_read_back_the_same(compose: Composer) -> None:
    made = compose(counting("add"))

    read = deserialize_tool_definition(serialize_tool_definition(made.definition))

    assert read == made.definition


@pytest.mark.req("RT-12")
@each_composer
async def test_a_composed_tool_is_found_and_run_in_a_toolbox(compose: Composer) -> None:
    made = compose(counting("add"))
    toolbox = box(made)

    found = [hit.id for hit in toolbox.search("add").hits]
    result = await toolbox.call(made.name, {"n": 1})

    assert (found, result.ok) == ([made.id], True)


@pytest.mark.req("RT-12")
@each_composer
async def test_a_composed_tool_runs_alone(compose: Composer) -> None:
    assert await compose(counting("add")).run({"n": 1})


@pytest.mark.req("RT-12")
@each_deriving_composer
def test_a_composed_tool_says_which_tools_it_is_made_of(compose: Composer) -> None:
    part = counting("add")

    made = compose(part)

    assert {step.id for step in made.steps} == {part.id} == set(made.definition.metadata["composedOf"])


@pytest.mark.req("RT-12")
@pytest.mark.parametrize(
    ("make", "seconds"),
    [
        (lambda a, b: pipe(a, b), 300),
        (lambda a, b: parallel(a, b), 200),
        (lambda a, b: bind(b, {}), 200),
        (lambda a, b: pipe(a, fake_tool("c")), None),
    ],
)
def test_the_time_that_is_allowed_is_what_the_parts_ask_for(make: object, seconds: float | None) -> None:
    made = make(fake_tool("a", timeout=100), fake_tool("b", timeout=200))  # type: ignore[operator]

    assert made.timeout == seconds


@pytest.mark.req("RT-12")
@pytest.mark.parametrize("verb", [pipe, parallel])
def test_too_few_tools_are_refused(verb: object) -> None:
    with pytest.raises(InvalidDefinition, match="at least 2 tools, and got 1"):
        verb(fake_tool("a"))  # type: ignore[operator]


@pytest.mark.req("RT-12")
@each_deriving_composer
def test_what_is_not_a_tool_is_refused(compose: Composer) -> None:
    def function() -> None: ...

    not_a_tool: RunnableTool = function  # type: ignore[assignment]

    with pytest.raises(InvalidDefinition, match="not a value of type `function`"):
        compose(not_a_tool)
