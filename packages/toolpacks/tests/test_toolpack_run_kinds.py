"""Every kind of pack really runs: Python functions and scripts, Node, PHP, programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from running_packs import ask, need, needs_walls, running, write_file, write_pack, write_python

pytestmark = [pytest.mark.req("TP-20"), needs_walls]

ADD = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
ECHO_PYTHON = """
    import json, sys
    print(json.dumps({"got": json.load(sys.stdin), "argv": sys.argv[1:]}))
"""


async def test_a_python_function_gets_the_input_as_keywords_or_as_one(tmp_path: Path) -> None:
    write_python(tmp_path, "add", "def run(a, b):\n    return {'sum': a + b}\n", inputSchema=ADD)
    write_python(tmp_path, "whole", "def run(payload):\n    return payload | {'seen': True}\n")
    write_python(tmp_path, "later", "async def run(payload):\n    return [payload]\n")

    async with running(tmp_path) as toolbox:
        added = await ask(toolbox, "add", a=2, b=3)
        whole = await ask(toolbox, "whole", x=1)
        later = await ask(toolbox, "later", x=1)

    assert added.unwrap() == {"sum": 5}
    assert whole.unwrap() == {"x": 1, "seen": True}
    assert later.unwrap() == [{"x": 1}]


async def test_a_python_script_reads_json_and_prints_json(tmp_path: Path) -> None:
    args = ("--name={{ input.name }}", "fixed")
    write_python(tmp_path, "echo", ECHO_PYTHON, way="script", args=args)

    async with running(tmp_path) as toolbox:
        result = await ask(toolbox, "echo", name="Ada; rm -rf /")

    assert result.unwrap() == {"got": {"name": "Ada; rm -rf /"}, "argv": ["--name=Ada; rm -rf /", "fixed"]}


async def test_a_node_script_and_a_node_module_run(tmp_path: Path) -> None:
    need("node")
    script = write_file(
        tmp_path,
        "echo.cjs",
        """
        let text = "";
        process.stdin.on("data", (part) => (text += part));
        process.stdin.on("end", () =>
          console.log(JSON.stringify({ got: JSON.parse(text), argv: process.argv.slice(2) })));
        """,
    )
    write_file(
        tmp_path,
        "slug.mjs",
        """
        let calls = 0;
        export function slugify(input) {
          calls += 1;
          console.log("noise");
          return { slug: input.text.toLowerCase(), calls };
        }
        export default async function (input) { throw new RangeError(`no ${Object.keys(input)}`); }
        """,
    )
    write_pack(tmp_path, "echo", {"kind": "node", "script": script, "args": ["{{ input.name }}"]})
    write_pack(tmp_path, "slug", {"kind": "node", "module": "slug.mjs:slugify"})
    write_pack(tmp_path, "fail", {"kind": "node", "module": "slug.mjs"})

    async with running(tmp_path) as toolbox:
        echo = await ask(toolbox, "echo", name="$(id)")
        slugs = [(await ask(toolbox, "slug", text="Ab")).unwrap() for _ in range(2)]
        failed = await ask(toolbox, "fail", text="Ab")

    assert echo.unwrap() == {"got": {"name": "$(id)"}, "argv": ["$(id)"]}
    assert slugs == [{"slug": "ab", "calls": 1}, {"slug": "ab", "calls": 2}]
    assert failed.error is not None
    assert failed.error.message == "`test:fail@1.0.0` failed: RangeError: no text"


async def test_a_php_script_runs_and_its_warnings_stay_out_of_the_output(tmp_path: Path) -> None:
    need("php")
    script = write_file(
        tmp_path,
        "echo.php",
        """<?php
        trigger_error("a warning", E_USER_WARNING);
        echo json_encode(["got" => json_decode(stream_get_contents(STDIN), true), "argv" => array_slice($argv, 1)]);
        """,
    )
    write_pack(tmp_path, "echo", {"kind": "php", "script": script, "args": ["{{ input.name }}"]})

    async with running(tmp_path) as toolbox:
        result = await ask(toolbox, "echo", name="`id`")

    assert result.unwrap() == {"got": {"name": "`id`"}, "argv": ["`id`"]}


async def test_a_program_of_the_machine_and_one_of_the_pack_run(tmp_path: Path) -> None:
    own = write_file(tmp_path, "own.sh", '#!/bin/sh\nprintf \'{"first": "%s"}\' "$1"\n')
    (tmp_path / own).chmod(0o755)
    write_pack(tmp_path, "own", {"kind": "cli", "cmd": ["./own.sh", "{{ input.word }}"]})
    write_pack(tmp_path, "cat", {"kind": "cli", "cmd": ["cat"]})

    async with running(tmp_path) as toolbox:
        assert (await ask(toolbox, "own", word="$HOME *")).unwrap() == {"first": "$HOME *"}
        assert (await ask(toolbox, "cat", any=[1, None])).unwrap() == {"any": [1, None]}
