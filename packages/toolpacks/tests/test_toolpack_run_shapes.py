"""Text programs and forms: what they are given, and what their output is read as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loading_packs import CLI, places, write
from loopback import Server, answer, header_of, serving
from running_packs import ask, load, needs_walls, running, write_pack

from toolcrib_runtime.guards.net import NetGrant
from toolcrib_toolpacks import plan_of

pytestmark = [pytest.mark.req("CT-25"), pytest.mark.enable_socket]

LOCAL = NetGrant(allow_loopback=True)
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "max_count": {"type": "integer"},
        "all": {"type": "boolean"},
        "tags": {"type": "array"},
        "place": {"type": ["object", "null"]},
    },
}
INPUT: dict[str, Any] = {"text": "-a&b=c d", "max_count": 3, "all": True, "tags": ["x", 2], "place": None}


def cat(folder: Path, name: str, *, schema: dict[str, Any] = SCHEMA, **execution: Any) -> None:
    """A pack that prints its standard input, and behind it its arguments."""
    cmd = ["/bin/sh", "-c", 'cat; for each in "$@"; do printf "%s\\n" "$each"; done', "sh"]
    extra = execution.pop("cmd", [])
    write_pack(folder, name, {"kind": "cli", "cmd": [*cmd, *extra], **execution}, inputSchema=schema)


@needs_walls
@pytest.mark.parametrize(
    ("execution", "printed"),
    [
        ({}, json.dumps(INPUT, separators=(",", ":"))),
        ({"body": ["max_count", "tags"]}, '{"max_count":3,"tags":["x",2]}'),
        ({"body": '{"q": "{{ input.text }}", "n": {{ input.max_count + 1 }}}'}, '{"q": "-a&b=c d", "n": 4}'),
        ({"input": "text", "body": ["text"]}, "-a&b=c d"),
        ({"input": "text", "body": "<{{ input.text }}>\n{{ input.all }}"}, "<-a&b=c d>\ntrue"),
        ({"input": "form"}, "text=-a%26b%3Dc%20d&max_count=3&all=true&tags=x&tags=2"),
        ({"input": "form", "body": ["tags"]}, "tags=x&tags=2"),
        ({"input": "form", "body": "q={{ input.text }}&n=1"}, "q=-a%26b%3Dc%20d&n=1"),
        ({"input": "none", "cmd": ["{{ input.max_count }}"]}, "3"),
        ({"input": "args"}, "--text=-a&b=c d\n--max-count=3\n--all\n--tags=x\n--tags=2"),
        ({"input": "args", "body": ["all"]}, "--all"),
        (
            {"input": "args", "cmd": ["-n{{ input.max_count }}", "{{ input.tags | join }}"]},
            "-n3\nx2\n--text=-a&b=c d\n--all",
        ),
    ],
)
async def test_a_program_gets_its_input_in_the_form_that_its_file_says(
    execution: dict[str, Any], printed: str, tmp_path: Path
) -> None:
    cat(tmp_path, "cat", output="text", **execution)

    async with running(tmp_path) as toolbox:
        assert (await ask(toolbox, "cat", **INPUT)).unwrap() == printed


@needs_walls
@pytest.mark.parametrize(
    ("printed", "execution", "value"),
    [
        ("text\n\n", {"output": "text"}, "text"),
        ("", {"output": "text"}, ""),
        (" a \r\n\nb\n", {"output": "lines"}, [" a ", "", "b"]),
        ("", {"output": "lines"}, []),
        ('a,b\r\n1,"x, y"\n2\n', {"output": "csv"}, [{"a": "1", "b": "x, y"}, {"a": "2", "b": None}]),
        ("\ufeffa\n1\n", {"output": "csv"}, [{"a": "1"}]),
        ("", {"output": "csv"}, []),
        ('{"a": [{"b": 1}, {"b": 2}]}', {"select": "/a/1"}, {"b": 2}),
        ('{"a": [{"b": 1}, {"b": 2}]}', {"select": "$.a[*].b"}, [1, 2]),
        ('{"a": 1}', {"select": "$.b"}, []),
        ("a,b\n1,2\n3,4\n", {"output": "csv", "select": "$[*].b"}, ["2", "4"]),
        ("one\ntwo", {"output": "lines", "select": "/1"}, "two"),
    ],
)
async def test_the_output_of_a_program_is_read_in_the_form_that_its_file_says(
    printed: str, execution: dict[str, Any], value: Any, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    cat(tmp_path, "cat", schema=schema, input="text", **execution)

    async with running(tmp_path) as toolbox:
        assert (await ask(toolbox, "cat", text=printed)).unwrap() == value


@needs_walls
@pytest.mark.parametrize(
    ("printed", "execution", "why"),
    [
        ("a,a\n1,2", {"output": "csv"}, "two columns have the same name"),
        ("a\n1,2", {"output": "csv"}, "row 1 has more values than there are columns"),
        ('a\n"1', {"output": "csv"}, "is not a table in CSV: unexpected end of data, behind line 1"),
        ('{"a": 1}', {"select": "/b"}, "has nothing at `/b`"),
        ("no json", {}, "is not one JSON value"),
    ],
)
async def test_output_in_another_form_is_an_error(
    printed: str, execution: dict[str, Any], why: str, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    cat(tmp_path, "cat", schema=schema, input="text", **execution)

    async with running(tmp_path) as toolbox:
        error = (await ask(toolbox, "cat", text=printed)).error

    assert error is not None
    assert error.code == "toolbox.malformed-output"
    assert why in error.message


@needs_walls
async def test_output_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    cat(tmp_path, "cat", input="none", output="lines")
    write_pack(tmp_path, "bytes", {"kind": "cli", "cmd": ["printf", "a\\377"], "input": "none", "output": "text"})

    async with running(tmp_path) as toolbox:
        error = (await ask(toolbox, "bytes")).error

    assert error is not None
    assert error.message == "The output of `test:bytes` is not text in UTF-8: byte 2 cannot be read."


def http(folder: Path, server: Server, path: str = "/x", **execution: Any) -> None:
    write_pack(folder, "call", {"kind": "http", "url": server.url(path), **execution}, inputSchema=SCHEMA)


@pytest.mark.parametrize(
    ("execution", "start", "kind", "body"),
    [
        ({}, "POST /x HTTP", "application/json", json.dumps(INPUT, separators=(",", ":"))),
        ({"body": ["max_count"]}, "POST /x HTTP", "application/json", '{"max_count":3}'),
        (
            {"body": '{"item": {"title": "{{ input.text }}", "tags": {{ input.tags }}}}', "method": "PUT"},
            "PUT /x HTTP",
            "application/json",
            '{"item": {"title": "-a&b=c d", "tags": ["x",2]}}',
        ),
        (
            {"input": "form", "body": ["text"]},
            "POST /x HTTP",
            "application/x-www-form-urlencoded",
            "text=-a%26b%3Dc%20d",
        ),
        ({"input": "text", "body": "{{ input.text }}!"}, "POST /x HTTP", "text/plain; charset=utf-8", "-a&b=c d!"),
        ({"input": "none"}, "POST /x HTTP", None, ""),
        (
            {"input": "args", "method": "GET"},
            "GET /x?text=-a%26b%3Dc%20d&max_count=3&all=true&tags=x&tags=2 HTTP",
            None,
            "",
        ),
        (
            {"input": "text", "body": "<a/>", "headers": {"Content-Type": "application/xml"}},
            "POST /x HTTP",
            "application/xml",
            "<a/>",
        ),
    ],
)
async def test_a_request_carries_the_input_in_the_form_that_its_file_says(
    execution: dict[str, Any], start: str, kind: str | None, body: str, tmp_path: Path
) -> None:
    async with serving(answer(body=b"{}")) as server:
        http(tmp_path, server, **execution)
        async with running(tmp_path, network=LOCAL) as toolbox:
            (await ask(toolbox, "call", **INPUT)).unwrap()

    assert server.requests[0].decode().startswith(start)
    assert server.requests[0].partition(b"\r\n\r\n")[2].decode() == body
    if kind is None:
        assert b"content-type" not in server.requests[0].lower()
    else:
        assert header_of(server.requests[0], "Content-Type") == kind


async def test_arguments_go_behind_the_query_that_a_url_has_and_not_in_twice(tmp_path: Path) -> None:
    async with serving(answer(body=b"{}")) as server:
        http(tmp_path, server, "/{{ input.text }}?v=1#here", input="args", method="GET")
        async with running(tmp_path, network=LOCAL) as toolbox:
            (await ask(toolbox, "call", text="a b", max_count=2)).unwrap()

    assert server.requests[0].startswith(b"GET /a%20b?v=1&max_count=2 HTTP/1.1")


@pytest.mark.parametrize(
    ("execution", "accepted", "value"),
    [
        ({"output": "text"}, "*/*", "a,b\n1,2"),
        ({"output": "lines"}, "*/*", ["a,b", "1,2"]),
        ({"output": "csv", "select": "/0"}, "text/csv", {"a": "1", "b": "2"}),
    ],
)
async def test_an_answer_is_read_in_the_form_that_its_file_says(
    execution: dict[str, Any], accepted: str, value: Any, tmp_path: Path
) -> None:
    async with serving(answer(body=b"a,b\r\n1,2\r\n" if "csv" in str(execution) else b"a,b\n1,2\n")) as server:
        http(tmp_path, server, **execution)
        async with running(tmp_path, network=LOCAL) as toolbox:
            assert (await ask(toolbox, "call")).unwrap() == value

    assert header_of(server.requests[0], "Accept") == accepted


async def test_a_part_of_a_json_answer_can_be_selected(tmp_path: Path) -> None:
    async with serving(
        answer(body=b'{"items": [{"id": 1, "own": {"n": "a"}}, {"id": 2, "own": {"n": "b"}}]}')
    ) as server:
        http(tmp_path, server, select="$.items[?@.id > 1].own.n")
        async with running(tmp_path, network=LOCAL) as toolbox:
            assert (await ask(toolbox, "call")).unwrap() == ["b"]


def test_a_plan_shows_what_would_be_given(tmp_path: Path) -> None:
    cat(tmp_path, "cat", input="form", body=["text", "max_count"])
    write_pack(
        tmp_path,
        "get",
        {"kind": "http", "url": "https://api.example/x", "method": "GET", "input": "args"},
        inputSchema=SCHEMA,
    )
    sent, asked = (plan_of(pack, {"text": "a b", "max_count": 1}) for pack in load(tmp_path))

    assert sent.body == "text=a%20b&max_count=1"
    assert (asked.url, asked.body) == ("https://api.example/x?text=a%20b&max_count=1", None)


HTTP = {"kind": "http", "url": "https://api.example/x"}


@pytest.mark.parametrize(
    ("execution", "found"),
    [
        ({**CLI, "input": "yaml"}, ("execution.input", "unknown-value")),
        ({**CLI, "output": "xml"}, ("execution.output", "unknown-value")),
        ({**CLI, "body": 3}, ("execution.body", "wrong-type")),
        ({**CLI, "body": []}, ("execution.body", "wrong-type")),
        ({**CLI, "body": ["city", "ctiy"]}, ("execution.body[1]", "unknown-property")),
        ({**CLI, "body": "{{ input.ctiy }}"}, ("execution.body", "template")),
        ({**CLI, "body": ["city"], "input": "none"}, ("execution.body", "bad-execution")),
        ({**CLI, "body": "x", "input": "args"}, ("execution.body", "bad-execution")),
        ({**CLI, "input": "text", "body": ["city", "days"]}, ("execution.body", "bad-execution")),
        ({**CLI, "input": "text"}, ("execution.input", "bad-execution")),
        ({**CLI, "select": "a.b"}, ("execution.select", "bad-select")),
        ({**CLI, "select": "$.a["}, ("execution.select", "bad-select")),
        ({**CLI, "select": "/a", "output": "text"}, ("execution.select", "bad-select")),
        ({**HTTP, "method": "GET", "input": "form"}, ("execution.input", "bad-execution")),
        ({"kind": "python", "module": "a:b", "input": "text"}, ("execution.input", "unknown-key")),
    ],
)
def test_what_does_not_fit_together_is_refused(
    execution: dict[str, Any], found: tuple[str, str], tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"city": {}, "days": {}}, "additionalProperties": False}
    write(tmp_path, {"execution": execution, "inputSchema": schema})

    assert places(tmp_path) == [found]
