"""The example packs load, are found by the requests they claim, and give what they say they give."""

from __future__ import annotations

import io
import json
import runpy
import sys
import zipfile
from pathlib import Path

import pytest
from running_packs import need, needs_walls

from toolcrib_toolpacks import ToolpackLoader, open_toolbox
from toolcrib_toolpacks.examples import EXAMPLES, csv_summary, describe_numbers, text_diff, units, word_count
from toolcrib_toolpacks.model import Toolpack

pytestmark = pytest.mark.req("TP-20", "TP-13")


@pytest.fixture(scope="module")
def packs() -> tuple[Toolpack, ...]:
    return ToolpackLoader().load_dir(EXAMPLES)


def test_there_are_ten_and_every_kind_is_among_them(packs: tuple[Toolpack, ...]) -> None:
    assert len(packs) == 10
    assert {pack.execution.kind for pack in packs} == {"python", "node", "php", "cli", "http"}
    for pack in packs:
        assert pack.description
        assert pack.examples
        assert pack.search_cases
        assert pack.definition.risk.effects in {"none", "read"}


@needs_walls
async def test_every_example_that_needs_no_network_gives_its_output(packs: tuple[Toolpack, ...]) -> None:
    need("node")
    need("php")
    local = [pack for pack in packs if pack.execution.kind != "http"]
    async with open_toolbox(local) as toolbox:
        for pack in local:
            for example in pack.examples:
                result = await toolbox.call(pack.definition.id, example.input)
                assert result.unwrap() == example.output, pack.id


async def test_every_claimed_request_finds_its_tool_first_or_second(packs: tuple[Toolpack, ...]) -> None:
    async with open_toolbox(packs) as toolbox:
        for pack in packs:
            for request in pack.search_cases:
                found = [each.id for each in toolbox.search(request, limit=2).hits]
                assert pack.definition.id in found, request


def test_the_functions_behind_them_work_on_odd_input() -> None:
    assert word_count.count("")["sentences"] == 0
    assert describe_numbers.describe([3])["quartiles"] == [3, 3, 3]
    assert csv_summary.summarise("a;b\n1.5;\n;x\n", delimiter=";")["columns"][0]["kind"] == "number"
    assert csv_summary.summarise("a\n-7\n")["columns"][0]["kind"] == "integer"
    assert csv_summary.summarise("a\n")["columns"][0]["kind"] == "empty"
    assert text_diff.compare("same", "same")["diff"] == ""
    assert "No newline" in text_diff.compare("a", "b")["diff"]
    with pytest.raises(ValueError, match="cannot convert 'mile' to 'kg'"):
        units.convert(1, "mile", "kg", json.loads((EXAMPLES / "data/units.json").read_text()))


def test_the_scripts_read_and_print_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["text_diff.py", "--context=0"])
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"before": "a", "after": "a"}'))
    runpy.run_path(text_diff.__file__, run_name="__main__")
    assert json.loads(capsys.readouterr().out)["same"] is True

    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"value": 1, "from": "km", "to": "m"}'))
    runpy.run_path(units.__file__, run_name="__main__")
    assert json.loads(capsys.readouterr().out) == {"value": 1000.0, "unit": "m"}
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"value": 1, "from": "km", "to": "h"}'))
    with pytest.raises(SystemExit, match="cannot convert 'km' to 'h'"):
        runpy.run_path(units.__file__, run_name="__main__")


@pytest.mark.slow
def test_the_wheel_brings_them_along(tmp_path: Path) -> None:
    import subprocess

    root = Path(__file__).parents[3]
    uv = root / ".tools/uv/bin/uv"
    if not uv.exists():
        pytest.skip("uv is not in .tools")
    subprocess.run([uv, "build", "--wheel", "--offline", "-q", "-o", tmp_path, root / "packages/toolpacks"], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")

    assert len(ToolpackLoader().load_dir(tmp_path / "installed" / "toolcrib_toolpacks" / "examples")) == 10
    assert (tmp_path / "installed" / "toolcrib_toolpacks" / "children" / "node_worker.mjs").exists()
