"""Names of generated definitions: by content, and by nothing else."""

from __future__ import annotations

import itertools
import subprocess
import sys
import types
from collections.abc import Iterable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.schema.canonical import canonical_json
from toolcrib_core.schema.defs_naming import name_definitions
from toolcrib_core.sources import define_tool

SAME_SOURCE = """
from pydantic import BaseModel
class Leaf(BaseModel):
    value: int
class Tree(BaseModel):
    leaf: Leaf
    children: list["Tree"] = []
    other: "Tree | None" = None
def tool(tree: Tree, leaf: Leaf) -> Tree: ...
"""


def module_tool(module_name: str, before: str = "") -> ToolDefinition:
    module = types.ModuleType(module_name)
    sys.modules[module_name] = module
    try:
        exec(compile(before + SAME_SOURCE, module_name, "exec"), module.__dict__)
        return define_tool(module.tool)
    finally:
        del sys.modules[module_name]


def digest_printed_by(program: str, hash_seed: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env={"PYTHONHASHSEED": hash_seed}, capture_output=True, check=True, text=True).stdout


@pytest.mark.req("AR-6.1", "D1-0w")
def test_names_of_definitions_do_not_depend_on_module_names_or_on_what_was_defined_before() -> None:
    plain = module_tool("plain_module")
    crowded = module_tool(
        "another.module", before="from pydantic import BaseModel\nclass Leaf(BaseModel):\n    x: str\n"
    )

    assert canonical_json(plain.input_schema) == canonical_json(crowded.input_schema)
    assert [name.partition("_")[0] for name in plain.input_schema["$defs"]] == ["Leaf", "Tree"]


@pytest.mark.req("AR-6.1", "D1-0w")
def test_names_of_definitions_do_not_depend_on_the_hash_seed() -> None:
    program = SAME_SOURCE + "\nfrom toolcrib_core.sources import define_tool\nprint(define_tool(tool).digest)\n"

    digests = {digest_printed_by(program, hash_seed) for hash_seed in ("1", "2")}

    assert len(digests) == 1


Shape: TypeAlias = tuple[str, tuple[int, ...]]
"""What a definition is, and which others it refers to."""

shapes: st.SearchStrategy[list[Shape]] = st.integers(1, 4).flatmap(
    lambda count: st.lists(
        st.tuples(st.sampled_from("xy"), st.lists(st.integers(0, count - 1), max_size=2).map(tuple)),
        min_size=count,
        max_size=count,
    )
)


def graph_of(shapes: list[Shape], keys: list[str]) -> dict[str, Any]:
    def refs(targets: Iterable[int]) -> list[dict[str, str]]:
        return [{"$ref": f"#/$defs/{keys[target]}"} for target in targets]

    definitions = [(keys[at], {"const": what, "prefixItems": refs(to)}) for at, (what, to) in enumerate(shapes)]
    return {"anyOf": refs(range(len(shapes))), "$defs": dict(sorted(definitions))}


def unfolded(shapes: list[Shape], at: int, depth: int) -> object:
    what, targets = shapes[at]
    return (what, *(unfolded(shapes, target, depth - 1) for target in targets)) if depth else "…"


@pytest.mark.req("AR-6.1")
@given(shapes, st.permutations(["A", "B", "C", "D"]))
@settings(max_examples=150)
def test_names_do_not_depend_on_the_keys_that_definitions_had(shapes: list[Shape], keys: list[str]) -> None:
    titles = dict.fromkeys("ABCDWXYZ", "Shape")

    one, _ = name_definitions(graph_of(shapes, keys), titles=titles)
    other, _ = name_definitions(graph_of(shapes, ["W", "X", "Y", "Z"]), titles=titles)

    assert one == other


@pytest.mark.req("AR-6.1")
@given(shapes)
@settings(max_examples=150)
def test_definitions_share_a_name_exactly_when_they_unfold_to_the_same(shapes: list[Shape]) -> None:
    keys = ["A", "B", "C", "D"]

    _, names = name_definitions(graph_of(shapes, keys), titles=dict.fromkeys(keys, "Shape"))

    for one, other in itertools.combinations(range(len(shapes)), 2):
        same = unfolded(shapes, one, len(shapes)) == unfolded(shapes, other, len(shapes))
        assert (names[keys[one]] == names[keys[other]]) == same


@pytest.mark.req("AR-6.1")
def test_a_definition_has_the_same_name_beside_others() -> None:
    a, b = {"items": {"$ref": "#/$defs/A"}}, {"items": {"$ref": "#/$defs/A"}, "maxItems": 1}
    alone = {"$ref": "#/$defs/A", "$defs": {"A": a}}
    beside = {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": {"A": a, "B": b}}

    _, names_alone = name_definitions(alone, titles={"A": "List"})
    _, names_beside = name_definitions(beside, titles={"A": "List", "B": "List"})

    assert names_alone["A"] == names_beside["A"] != names_beside["B"]


def test_data_that_looks_like_a_reference_is_not_renamed() -> None:
    data = {"$ref": "#/$defs/Old"}
    schema = {
        "properties": {"$ref": {"const": data, "default": data, "enum": [data]}, "x": {"$ref": "#/$defs/Old"}},
        "$defs": {"Old": {"type": "string"}, "Unused": {}},
    }

    named, names = name_definitions(schema, titles={"Old": "New", "Unused": "Unused"})

    assert named["properties"]["$ref"] == schema["properties"]["$ref"]  # type: ignore[index]  # a literal above
    assert named["properties"]["x"] == {"$ref": f"#/$defs/{names['Old']}"}
    assert list(named["$defs"]) == [names["Old"]]
