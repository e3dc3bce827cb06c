"""Results as tools give them, written for the tests of the firewall."""

from __future__ import annotations

import csv
import io
import json


def issues(number: int) -> list[dict[str, object]]:
    """Issues of a tracker, as an API lists them."""
    labels = ["bug", "docs", "feature"]
    return [
        {
            "id": 4_000 + index,
            "title": f"Part {index % 37} of the parser is slow",
            "state": "closed" if index % 4 else "open",
            "comments": index % 11,
            "created_at": f"2024-{index % 12 + 1:02}-{index % 28 + 1:02}T08:00:00Z",
            "assignee": None if index % 3 else {"login": f"dev{index % 5}", "id": index % 5},
            "labels": labels[: index % 3],
            "score": index / 8,
            "locked": index % 50 == 0,
        }
        | ({"milestone": "1.0"} if index % 10 == 0 else {})
        for index in range(number)
    ]


def issue_list(number: int = 240) -> bytes:
    return json.dumps(issues(number)).encode()


def search_answer(number: int = 60) -> bytes:
    answer = {"total_count": 1_204, "incomplete_results": False, "query": {"text": "parser", "page": 1}}
    return json.dumps(answer | {"items": issues(number), "next": "https://api.example.com/search?page=2"}).encode()


def deployment() -> bytes:
    """An object of many different parts."""
    spec = {
        "replicas": 3,
        "template": {
            "containers": [
                {
                    "name": "api",
                    "image": "registry.example.com/api:1.4.2",
                    "env": {f"KEY_{n}": "v" * n for n in range(30)},
                }
            ],
            "volumes": [{"name": f"vol{n}", "path": f"/data/{n}"} for n in range(4)],
        },
    }
    status = {"ready": 2, "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicas"}]}
    notes = "Rolled back twice.\n" * 40
    return json.dumps({"kind": "Deployment", "spec": spec, "status": status, "notes": notes, "paused": None}).encode()


def orders(number: int = 800) -> bytes:
    """A table whose cells hold commas, quotes and line feeds."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["order", "placed", "customer", "country", "total", "note"])
    for index in range(number):
        note = 'said "soon",\nthen nothing' if index % 100 == 0 else ""
        country = ["DE", "FR", "IN", "US"][index % 4]
        total = f"{index * 1.25:.2f}"
        writer.writerow(
            [index + 1, f"2023-05-{index % 31 + 1:02}", f"Customer {index % 211}, Ltd", country, total, note]
        )
    return text.getvalue().encode()


def service_log(number: int = 2_000) -> bytes:
    """A log as a Python service writes it, with a traceback."""
    lines = []
    for index in range(number):
        time = f"2024-05-01 12:{index // 60 % 60:02}:{index % 60:02},{index % 1000:03}"
        lines.append(f"{time} INFO [worker-{index % 4}] handled GET /orders/{index * 7} in {index % 90} ms")
        if index % 400 == 399:
            lines.append(f"{time} WARNING [pool] connection {index:x}f was idle for 300 s")
        if index in {700, 1_500}:
            lines.append(f"{time} ERROR [worker-1] order {index} failed: Timeout after 30 s")
            lines.append("Traceback (most recent call last):")
            lines.append('  File "/app/orders.py", line 88, in handle')
            lines.append("TimeoutError: upstream ERROR")
    return "\n".join(lines).encode() + b"\n"


def access_log(number: int = 300) -> bytes:
    lines = [
        f'10.0.0.{index % 9} - - [10/Oct/2023:13:{index % 60:02}:36 +0000] "GET /item/{index} HTTP/1.1" '
        f'{[200, 200, 200, 304, 404, 500][index % 6]} {index * 31} "-" "curl/8.0"'
        for index in range(number)
    ]
    return "\n".join(lines).encode()


def json_lines(number: int = 50) -> bytes:
    lines = [
        {
            "time": f"2024-05-01T12:00:{index:02}Z",
            "level": "error" if index == 33 else "info",
            "msg": f"job {index} done",
        }
        for index in range(number)
    ]
    return "\n".join(map(json.dumps, lines)).encode()


PYTHON = b'''"""Reads orders."""

from __future__ import annotations

import json
from pathlib import Path

LIMIT = 20


class OrderFile:
    """A file of orders."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, *, limit: int = LIMIT) -> list[dict[str, object]]:
        if not self.path.exists():
            return []
        return json.loads(self.path.read_text())[:limit]


async def total(orders: list[dict[str, object]]) -> float:
    return sum(float(str(each["total"])) for each in orders)


def main() -> None:
    print(OrderFile(Path("orders.json")).read())
'''

GO = b"""package main

import (
\t"fmt"
)

type Order struct {
\tID int
}

func (o *Order) Total(rate float64) float64 {
\tsum, err := o.load()
\tif err != nil {
\t\treturn 0
\t}
\treturn sum * rate
}

func main() {
\tfmt.Println("hello")
}
"""

DIFF = b"""diff --git a/src/app.py b/src/app.py
index 83db48f..bf2a7c1 100644
--- a/src/app.py
+++ b/src/app.py
@@ -1,4 +1,4 @@
 import os
-print("old")
+print("new")
 # end
diff --git a/README.md b/README.md
index 1111111..2222222 100644
--- a/README.md
+++ b/README.md
@@ -10,2 +10,3 @@
 text
+more text
"""

YAML = b"""# How the service runs
version: 3
services:
  api:
    image: registry.example.com/api
    ports:
      - 8080
  worker:
    image: registry.example.com/worker
volumes:
  data:
    driver: local
"""

HTML = b"""<!doctype html>
<html><head><title>Orders &amp; returns</title>
<style>h1 { color: red }</style><script>if (a < b) { run("<h2>no</h2>") }</script></head>
<body>
<nav><a href="/">Home</a> <a href="/help">Help</a></nav>
<main>
<h1 class="big">Orders</h1>
<p>Every order can be <b>returned</b> within 30&nbsp;days.</p>
<h2>How to <em>return</em></h2>
<table><tr><td>1</td><td>Pack it</td></tr></table>
<h2>Refunds</h2>
<p>Refunds take five days.</p>
</main></body></html>
"""

XML = b"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>News of the parser</title>
<item><title>First</title><link>https://example.com/1</link></item>
<item><title>Second</title><link>https://example.com/2</link></item>
</channel></rss>
"""

MARKDOWN = b"""# Parser

Reads what others write. See the [guide](https://example.com/guide).

## Install

```sh
# not a heading
pip install parser
```

## Use

- first, open it
- then, read it

### Errors

| code | meaning |
|------|---------|
| 1    | unread  |

Changes
=======

None yet.
"""

PROSE = """The harbour was quiet when the ferry came in. Nobody had waited for it.

She walked up the hill without looking back! The letters were still in her coat, unread, and would stay so.

In the evening the wind turned. Windows closed along the street, one after the other, as if somebody had counted them.

“Tomorrow,” he said.
""".encode()

REPORT = b"""Annual report

The year was better than the one before. Sales rose.

Results

Revenue grew by four per cent. Costs did not.

Outlook

We expect nothing unusual. The board thanks everybody.
"""

LISTING = "\n".join(f"./src/module_{index:03}/part_{index % 7}.py" for index in range(400)).encode()
