"""What real MCP clients send to their models of what toolcrib answers, as a table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from checks.real_servers import install, select_parts
from tests.clients.known_limits import KNOWN_LIMITS
from tests.clients.running import CLIENTS, run_client
from tests.clients.scenario import CELLS, Outcome
from tests.clients.stage import TRANSPORTS, orders_server, reference_servers, stage

_SERVERS: Final = ("git", "time", "sqlite", "filesystem", "memory", "everything")
_SEEN: Final = "seen"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One client over one transport."""

    client: str
    transport: str
    cells: Mapping[str, str]
    """By what was shown: `seen`, `known` or `FAIL`."""
    reasons: Mapping[str, str]
    """Of every cell that is not `seen`, why."""
    printed: str
    """The end of what the client printed, if a cell failed."""

    @property
    def is_good(self) -> bool:
        """Whether everything was seen, or is known not to be."""
        return "FAIL" not in self.cells.values()


def judge(client: str, transport: str, outcome: Outcome, printed: str) -> Row:
    """The row of a client: what is missing fails, unless it is a known limit of this client."""
    cells = dict.fromkeys(CELLS, _SEEN)
    reasons: dict[str, str] = {}
    for cell, missing in outcome.missing.items():
        limit = KNOWN_LIMITS.get((client, cell))
        is_known = limit is not None and limit.sign in missing
        cells[cell] = "known" if is_known else "FAIL"
        reasons[cell] = limit.reason if limit is not None and is_known else missing
    if outcome.asked_by_form and "approval" not in reasons:
        cells["approval"] = f"{_SEEN} (form)"
    row = Row(client=client, transport=transport, cells=cells, reasons=reasons, printed="")
    return row if row.is_good else Row(**{**asdict(row), "printed": printed})


def run_clients(clients: Sequence[str], transports: Sequence[str], folder: Path) -> Iterator[Row]:
    """One row after the other; the clients of one transport share a configuration."""
    for transport in transports:
        servers = {**reference_servers(folder), **orders_server()}
        with stage(folder / transport, transport, servers) as running:
            for order, client in enumerate(clients, start=1):
                outcome, printed = run_client(client, running, order=order)
                yield judge(client, transport, outcome, printed)


def render(rows: Sequence[Row]) -> str:
    """The table, and below it the reason of every cell that is not `seen`."""
    if not rows:
        return "no client ran"
    header = ["client", "transport", *rows[0].cells]
    lines = [header, *([row.client, row.transport, *row.cells.values()] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    for row in rows:
        text += [
            f"\n{row.cells[cell]}: {row.client} over {row.transport}, {cell}: {why}"
            for cell, why in row.reasons.items()
        ]
        if row.printed:
            text.append(f"\n{row.client} printed at the end:\n{row.printed}")
    return "\n".join(text)


def main(arguments: list[str] | None = None) -> int:
    """Run clients and print the table; 1 if a cell is neither seen nor a known limit, or a client is not installed."""
    parser = argparse.ArgumentParser(prog="scripts/clients", description=__doc__)
    parser.add_argument("--client", action="append", choices=CLIENTS, metavar="NAME", help="only this one; repeatable")
    parser.add_argument("--transport", action="append", choices=TRANSPORTS, help="only this one; repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="print the names of the clients, and run none")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(CLIENTS))
        return 0
    clients = options.client or list(CLIENTS)
    failed = install(select_parts([*clients, *_SERVERS]))
    for name, reason in failed.items():
        print(f"error: the real part `{name}` cannot be installed: {reason}", file=sys.stderr)
    if set(failed) & {*_SERVERS, "node"}:
        return 1
    rows = []
    with tempfile.TemporaryDirectory(prefix="toolcrib-clients-") as folder:
        runnable = [client for client in clients if client not in failed]
        for row in run_clients(runnable, options.transport or TRANSPORTS, Path(folder)):
            print(
                f"{row.client} over {row.transport}: {'good' if row.is_good else 'FAIL'}", file=sys.stderr, flush=True
            )
            rows.append(row)
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else render(rows))
    return 0 if not failed and all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
