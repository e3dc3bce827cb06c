"""Whatever bytes are in the files, the loader answers with packs or with its one error, in bounded time.

`TOOLCRIB_FUZZ_EXAMPLES=20000 pytest packages/toolpacks/tests/test_toolpack_load_fuzz.py` looks for longer.
"""

from __future__ import annotations

import json
import os
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loading_packs import CHILDREN, CLI, GOOD, pack_with

from toolcrib_toolpacks import ToolpackLoader, ToolpackValidationError
from toolcrib_toolpacks.loader import SUFFIX

MAX_MEMORY = 64 * 1024 * 1024

_KEYS = [
    *GOOD, "caps", "env", "templating", "examples", "risk", "metadata", "tags", "timeout_ms", "kind", "url", "cmd",
    "headers", "script", "module", "$ref", "$defs", "type", "properties", "items", "allOf", "$id", "$anchor", "$schema",
    "network", "filesystem", "subprocess", "passthrough", "set", "engine", "context", "cacheKey", "input", "output",
]  # fmt: skip
_WORDS = [
    "object", "array", "string", "http", "jinja2", "python", "cli", "node", "php", "a.tool.yaml", "b.json", "b.json#/a",
    "#", "#/$defs/a", "../x.json", "https://x/{{ input.a }}", "{{ input.a }}", "{{ 9**9 }}", "1.0.0", "a.b", "x:y",
    "b.yaml#/properties/a", "", "\ud7ff", "no", "012",
]  # fmt: skip
_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.sampled_from(_WORDS), st.text(max_size=12)
)
_keys = st.one_of(st.sampled_from(_KEYS), st.sampled_from(["a", "b", "A"]), st.text(max_size=6))
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_keys, inner, max_size=5), max_leaves=20
)
_EXAMPLES = int(os.environ.get("TOOLCRIB_FUZZ_EXAMPLES", "60"))
_quickly = settings(max_examples=_EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def load(files: dict[str, bytes]) -> int:
    """How many packs there are, or how many violations; anything else escapes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        loader = ToolpackLoader()
        error = None
        try:
            loader.load_dir(folder)
        except ToolpackValidationError as failure:
            error = failure
    assert loader.snapshot()
    if error is None:
        return len(loader.list())
    assert str(error)
    assert json.dumps(error.to_dict())
    assert not loader.list()
    return len(error.violations)


@pytest.mark.req("TP-11", "D0-3b", "D0-3d")
@_quickly
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    load({f"a{SUFFIX}": data})


@pytest.mark.req("TP-11")
@_quickly
@given(st.text(alphabet="abc:-?[]{},&*!|>'\"%@`# \n\t0123<=~\\\x00\x85\u2028\ufeff", max_size=120))
def test_any_text_that_looks_like_yaml(text: str) -> None:
    load({f"a{SUFFIX}": text.encode("utf-8", "replace")})


@pytest.mark.req("TP-11", "D0-3b")
@_quickly
@given(st.dictionaries(_keys, _values, max_size=8), _values)
def test_any_mapping_beside_any_other_file(document: dict[str, Any], other: object) -> None:
    text = yaml.safe_dump(document, allow_unicode=True).encode("utf-8", "replace")
    load({f"a{SUFFIX}": text, "b.json": json.dumps(other).encode("utf-8", "replace"), "b.yaml": text})


@pytest.mark.req("TP-11")
@_quickly
@given(st.data())
def test_a_good_pack_with_anything_in_one_place(data: st.DataObject) -> None:
    document = pack_with(
        {"execution": CLI, "caps": CHILDREN, "templating": {"context": {}}, "examples": [], "risk": {}}
    )
    place, key = document, data.draw(st.sampled_from(sorted(document)))
    while isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place)))
    place[key] = data.draw(_values)
    other = json.dumps(data.draw(_values)).encode("utf-8", "replace")
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)

    assert load({f"a{SUFFIX}": text.encode("utf-8", "replace"), "b.json": other, "b.yaml": other}) >= 1


@pytest.mark.req("TP-11")
@_quickly
@given(st.data())
def test_a_good_pack_with_some_bytes_changed(data: st.DataObject) -> None:
    text = bytearray(yaml.safe_dump(dict(GOOD), sort_keys=False).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        text = text or bytearray(b" ")

    load({f"a{SUFFIX}": bytes(text)})


@pytest.mark.req("TP-11")
@pytest.mark.fault("C1")
def test_the_worst_files_take_bounded_memory() -> None:
    worst = [
        b"[" * 250_000,
        b"{a: " * 60_000,
        b"- " * 120_000,
        b"a: [" + b"{}," * 80_000,
        b"\n".join(b"k%d: &a%d [*a%d, *a%d]" % (at, at, at - 1, at - 1) for at in range(1, 6000)),
        b"'" + b"x" * 250_000,
        b"? " * 120_000,
        b"a: |\n" + b" x\n" * 60_000,
        b"inputSchema: {allOf: [" + b"{$ref: '#'}," * 15_000 + b"]}",
    ]
    tracemalloc.start()
    try:
        for data in worst:
            load({f"a{SUFFIX}": data})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < MAX_MEMORY


_TYPES = {"array", "boolean", "integer", "null", "number", "object", "string"}


def _is_type(value: object) -> bool:
    if isinstance(value, list):
        names = {str(each) for each in value}
        return 0 < len(names) == len(value) and names <= _TYPES
    return value in _TYPES


@pytest.mark.req("TP-9", "D0-4h")
@given(
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-9, 9),
        st.text(alphabet="abjorst", max_size=8),
        st.lists(st.sampled_from(["string", "null", "text", 1]), max_size=3),
    ).filter(lambda value: not _is_type(value)),
    key=st.sampled_from(["inputSchema", "outputSchema"]),
)
@_quickly
def test_any_value_of_type_that_is_none_is_refused(value: object, key: str) -> None:
    schema = {"type": "object", "properties": {"x": {"type": value}}}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / f"a{SUFFIX}").write_text(json.dumps(pack_with({key: schema})), encoding="utf-8")
        with pytest.raises(ToolpackValidationError) as caught:
            ToolpackLoader().load_dir(folder)

    assert all(each.path.startswith(f"{key}.properties.x.type") for each in caught.value.violations)
