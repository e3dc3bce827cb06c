"""Values in command lines: each is one item, no shell reads it, and none becomes an option by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running_packs import ask, load, needs_walls, running, write_pack

from toolcrib_toolpacks.planning import PreparedPack, RunSettings

pytestmark = pytest.mark.req("TP-26", "CT-24")

HOSTILE = ["; rm -rf /", "$(id)", "`id`", "a b\tc", "line\nbreak", "*", "'\"", "é☃", "{{ 7*7 }}", "%s%n", "\\", ""]


@needs_walls
@pytest.mark.fault("C7")
async def test_whatever_a_value_is_it_is_one_item_and_nothing_runs_it(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("alive")
    script = 'printf "%s|" "$@" | od -An -v -tx1 | tr -d " \\n" | sed "s/.*/\\"&\\"/"'
    cmd = ["/bin/sh", "-c", script, "sh", "{{ input.value }}", "--name={{ input.value }}"]
    write_pack(tmp_path, "items", {"kind": "cli", "cmd": cmd})

    async with running(tmp_path) as toolbox:
        for value in [*HOSTILE, f"; rm {canary}", f"$(rm {canary})"]:
            seen = bytes.fromhex((await ask(toolbox, "items", value=value)).unwrap()).decode()
            assert seen == f"{value}|--name={value}|"

    assert canary.read_text() == "alive"


@pytest.mark.fault("C7")
@pytest.mark.parametrize(
    ("cmd", "value", "expected"),
    [
        (["tool", "{{ input.value }}"], "--output=/etc/x", None),
        (["tool", "{{ input.value }}"], "-rf", None),
        (["tool", "{{ input.value }}"], "plain", ("plain",)),
        (["tool", "--", "{{ input.value }}"], "-rf", ("--", "-rf")),
        (["tool", "--name={{ input.value }}"], "-rf", ("--name=-rf",)),
        (["tool", "{{ input.value }}"], "nul\0byte", None),
        (["tool", "{% if input.value %}--all{% endif %}", "x"], "yes", ("--all", "x")),
        (["tool", "{% if not input.value %}--all{% endif %}", "x"], "yes", ("x",)),
        (["tool", "{{ '--all' if input.value }}", "{{ input.value }}"], "", ("",)),
        (["tool", "{% for x in input.value.split() %}{{ x }} {% endfor %}"], "a -b", ("a -b ",)),
    ],
)
def test_a_value_does_not_become_an_option_unless_the_pack_ends_the_options(
    cmd: list[str], value: str, expected: Any, tmp_path: Path
) -> None:
    write_pack(tmp_path, "tool", {"kind": "cli", "cmd": cmd})
    (pack,) = load(tmp_path)
    prepared = PreparedPack(pack, RunSettings())

    if expected is None:
        with pytest.raises(Exception, match=r"begins with `-`|NUL") as refused:
            prepared.command({"value": value})
        assert value not in str(refused.value)
    else:
        assert prepared.command({"value": value}).argv[1:] == expected


@needs_walls
async def test_context_and_allowed_variables_are_there_and_nothing_else(tmp_path: Path) -> None:
    cmd = ["/bin/sh", "-c", 'printf \'"%s %s %s"\' "$@"', "sh", "{{ context.unit }}", "{{ env.MODE }}", "{{ input.n }}"]
    write_pack(
        tmp_path,
        "all",
        {"kind": "cli", "cmd": cmd},
        templating={"engine": "jinja2", "context": {"unit": "km"}},
        env={"passthrough": ["MODE"]},
    )

    async with running(tmp_path, environment={"MODE": "fast"}, granted_env=frozenset({"MODE"})) as toolbox:
        assert (await ask(toolbox, "all", n=3)).unwrap() == "km fast 3"
        missing = (await ask(toolbox, "all")).error
    async with running(tmp_path, environment={}) as toolbox:
        unset = (await ask(toolbox, "all", n=3)).error

    for error in (missing, unset):
        assert error is not None
        assert error.code == "toolbox.template-error"


@needs_walls
async def test_defaults_of_the_schema_reach_templates_and_programs(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer", "default": 3}, "city": {"type": "string"}}}
    cmd = ["/bin/sh", "-c", 'printf "[%s,%s]" "$1" "$(cat)"', "sh", "{{ input.days }}"]
    write_pack(tmp_path, "both", {"kind": "cli", "cmd": cmd}, inputSchema=schema)

    async with running(tmp_path) as toolbox:
        left_out, given = (await ask(toolbox, "both")).unwrap(), (await ask(toolbox, "both", days=5)).unwrap()

    assert left_out == [3, {"days": 3}]
    assert given == [5, {"days": 5}]
