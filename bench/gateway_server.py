"""The server behind the gateways where results are weighed: `report` gives one of a kind and a size.

It needs nothing but a Python. Every part of a result bears a mark, so that a reader can tell whether it was reached.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import sys
import zlib
from collections.abc import Callable
from typing import Any

MARK = re.compile(r"mark-\d{6}")
"""What stands once in every part of a result."""

_WORDS = "the heron waits at the weir until the water is clear and the small fish come back to the stones".split()
_LEVELS = ("INFO", "INFO", "INFO", "WARNING", "ERROR")


def mark(number: int) -> str:
    """The mark of a part."""
    return f"mark-{number:06}"


def _record(number: int) -> dict[str, Any]:
    word = _WORDS[number % len(_WORDS)]
    return {"id": mark(number), "name": f"{word} {number}", "amount": number * 7 % 1_000, "open": number % 3 == 0}


def _records(size: int) -> str:
    return json.dumps([_record(number) for number in range(size)])


def _object(size: int) -> str:
    groups = {
        f"group_{start}": {"entries": [_record(each) for each in range(start, min(start + 50, size))]}
        for start in range(0, size, 50)
    }
    return json.dumps({"total": size, "groups": groups})


def _table(size: int) -> str:
    rows = (f"{each['id']},{each['name']},{each['amount']}" for each in map(_record, range(size)))
    return "\n".join(["id,name,amount", *rows]) + "\n"


def _log(size: int) -> str:
    lines = (
        f"2026-03-01T09:{number // 60 % 60:02}:{number % 60:02}Z {_LEVELS[number % 5]} worker: {mark(number)} "
        f"took {number * 13 % 400} ms"
        for number in range(size)
    )
    return "\n".join(lines) + "\n"


def _prose(size: int) -> str:
    said = (" ".join(_WORDS[number % 7 :] + _WORDS[: number % 7]) for number in range(size))
    return "\n\n".join(
        f"{mark(number).capitalize()} says: {text}. It is so." for number, text in enumerate(said)
    ).replace("Mark-", "mark-")


def _code(size: int) -> str:
    return "\n\n".join(
        f'def function_{number}(value: int) -> str:\n    """{mark(number)}."""\n    return str(value + {number})'
        for number in range(size)
    )


def _markup(size: int) -> str:
    parts = (f"<h2>Part {number}</h2>\n<p>{mark(number)}: {' '.join(_WORDS)}</p>" for number in range(size))
    return "<!doctype html>\n<html><body>\n" + "\n".join(parts) + "\n</body></html>"


TEXTS: dict[str, Callable[[int], str]] = {
    "records": _records,
    "object": _object,
    "table": _table,
    "log": _log,
    "prose": _prose,
    "code": _code,
    "markup": _markup,
}


def image(size: int) -> bytes:
    """A picture of so many pixels in each direction, uncompressed, so that it has a size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + bytes((row * column) % 251 for column in range(size)) for row in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def report(kind: str, size: int, *, structured: bool = False) -> dict[str, Any]:
    """The result of a call."""
    if kind == "image":
        data = base64.b64encode(image(size)).decode()
        return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    text = TEXTS[kind](size)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return {**result, "structuredContent": {"result": json.loads(text)}} if structured else result


TOOL = {
    "name": "report",
    "description": "Gives a report of a kind and a size.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "kind": {"enum": [*TEXTS, "image"]},
            "size": {"type": "integer", "minimum": 0},
            "structured": {"type": "boolean"},
        },
        "required": ["kind", "size"],
        "additionalProperties": False,
    },
}


def main() -> None:
    """Answer until standard input ends."""
    identity = {"name": "report", "version": "1"}
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": lambda _: {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": identity,
            },
            "tools/list": lambda _: {"tools": [TOOL]},
            "tools/call": lambda params: report(**params["arguments"]),
        }
        answer = answers.get(asked["method"])
        reply = {"error": {"code": -32601, "message": "Method not found"}}
        if answer is not None:
            reply = {"result": answer(asked.get("params") or {})}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
