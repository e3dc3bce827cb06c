"""Results of every kind and size, and what becomes of them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from gateway_cases import GatewayCase, envelope_of, text_block
from scripted_servers import ScriptedServer

from toolcrib_mcp.front import Caller
from toolcrib_mcp.gateway.screening import Screen
from toolcrib_mcp.gateway.shelf import Shelf
from toolcrib_mcp.upstreams import Era
from toolcrib_store import Artifacts, Owner, open_store

ECHO = "box__echo"
LOCAL = Owner(principal="local")
ANYBODY = Caller(era=Era.MODERN, protocol_version="2026-07-28")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
ROWS = [{"id": number, "name": f"row {number}", "price": number * 1.5} for number in range(500)]
PROSE = "The quick brown fox jumps over the lazy dog. " * 400


def answering(result: dict[str, Any]) -> ScriptedServer:
    return ScriptedServer(**{"tools/call": result})


def image(content: bytes, **more: Any) -> dict[str, Any]:
    return {"type": "image", "data": base64.b64encode(content).decode(), "mimeType": "image/png", **more}


def handles_in(result: dict[str, Any]) -> list[str]:
    return [each["handle"] for each in envelope_of(result)["artifacts"]]


async def read_all(case: GatewayCase, handle: str) -> bytes:
    """What was kept under a handle."""
    assert case.artifacts is not None
    return case.artifacts.read(handle, owner=LOCAL)


async def every_part(case: GatewayCase, sent: dict[str, Any]) -> list[bytes]:
    """All that was kept of a result, in order."""
    index = envelope_of(sent).get("index")
    handles = (
        handles_in(sent) if index is None else [each["handle"] for each in json.loads(await read_all(case, index))]
    )
    return [await read_all(case, each) for each in handles]


async def screened(result: dict[str, Any], file: Path) -> tuple[dict[str, Any], list[bytes]]:
    """What is sent of a result that no wire of a test could carry, and what is kept of it."""
    with open_store(file) as store:
        artifacts = Artifacts(store)
        screen = Screen(Shelf(artifacts), whole_tokens=1_000, summary_tokens=400)
        executed = await screen.screened(result, tool_id="a:b@1", caller=ANYBODY, repeatable=True)
        return executed.result, [artifacts.read(each, owner=LOCAL) for each in handles_in(executed.result)]


LOG = "".join(
    f"2026-01-01T00:00:{n % 60:02} {'ERROR' if n % 50 == 0 else 'INFO'} request {n} done\n" for n in range(3_000)
)
CSV = "id,name,price\n" + "".join(f"{n},name {n},{n / 7:.2f}\n" for n in range(5_000))
LARGE = {
    "records": [text_block(json.dumps(ROWS))],
    "json": [text_block(json.dumps({"items": ROWS, "next": None}))],
    "table": [text_block(CSV)],
    "log": [text_block(LOG)],
    "prose": [text_block(PROSE)],
    "code": [text_block("def f(x):\n    return x + 1\n\n\n" * 900)],
    "markup": [text_block("<html><body>" + "<h1>A</h1><p>Words.</p>" * 500 + "</body></html>")],
    "binary": [
        {
            "type": "resource",
            "resource": {"uri": "file:///a.bin", "blob": base64.b64encode(bytes(range(256)) * 99).decode()},
        }
    ],
}


ANYTHING = {"type": "object"}
TITLED = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "rows": {"type": "array", "maxItems": 600}},
    "additionalProperties": False,
}


def box(result: dict[str, Any]) -> ScriptedServer:
    """A tool with a large result, and one that takes what is given."""
    tools = [
        {"name": "source", "inputSchema": ANYTHING},
        {"name": "sink", "inputSchema": ANYTHING},
        {"name": "strict", "inputSchema": TITLED},
    ]

    def call(params: dict[str, Any]) -> dict[str, Any]:
        return result if params["name"] == "source" else {"content": [text_block("taken")]}

    answers: dict[str, Any] = {"tools/list": {"tools": tools}, "tools/call": call}
    return ScriptedServer(**answers)


async def made(case: GatewayCase) -> str:
    """The handle of the large result."""
    return handles_in(await case.execute("box__source"))[0]


def received(case: GatewayCase) -> Any:
    """What the tool was given last."""
    return case.servers["box"].params_of("tools/call")["arguments"]


def text_in(result: dict[str, Any]) -> str:
    assert "isError" not in result, result
    return str(result["content"][0]["text"])
