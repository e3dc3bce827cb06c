"""The gateway: what a call through it costs in CPU, and what finding, calling and reading cost a model in tokens.

    uv run python bench/gateway.py [--quick] [--json] [--peers]

Peers are contextweaver's gateway and FastMCP with its BM25 search, in front of the same servers.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from gateway_browse import browse_rows
from gateway_paths import OUR_NAME, gateways
from gateway_results import result_rows
from gateway_tokens import the_catalogue, token_rows
from proxy import measured, rows_of
from proxy_paths import ECHO, PathTo
from ratios import Row, parser, report


async def execute_rows(folder: Path, *, install: bool, rounds: int, calls: int) -> list[Row]:
    """P2: a call of a tool through each gateway, against one without any."""
    servers = {"echo": {"command": ECHO[0], "args": ECHO[1:]}}
    paths = [PathTo(name="direct", command=ECHO), *gateways(folder, servers, install=install)]
    costs = await measured(paths, rounds=rounds, calls=calls)
    return rows_of(costs, {OUR_NAME: "<= 2.0"}, row_id="P2")


async def main() -> None:
    """Measure and print."""
    arguments = parser(__doc__ or "")
    arguments.add_argument("--peers", action="store_true", help="install the peers that are missing into bench/peers/")
    options = arguments.parse_args()
    quick, install = options.quick, options.peers
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            *await execute_rows(folder, install=install, rounds=3 if quick else 7, calls=100 if quick else 300),
            *await token_rows(folder, install=install, rounds=3 if quick else 50),
            *await result_rows(folder, install=install, quick=quick),
            *await browse_rows(
                the_catalogue(folder),
                sizes=(100, 1_000) if quick else (100, 1_000, 10_000),
                rounds=3 if quick else 7,
                install=install,
            ),
        ]
    report("gateway", rows, as_json=options.json)


if __name__ == "__main__":
    asyncio.run(main())
