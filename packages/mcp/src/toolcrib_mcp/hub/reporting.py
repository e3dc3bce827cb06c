"""The report about all servers, put together from those who know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from toolcrib_mcp.catalog import CatalogSnapshot
from toolcrib_mcp.hub.keeping import CatalogKeeper
from toolcrib_mcp.hub.lines import Lines
from toolcrib_mcp.hub.served import ServedServer
from toolcrib_mcp.hub.servers import HubServer
from toolcrib_mcp.hub.status import HubStatus, HubTotals, ServerStatus, ToolCounts, is_ok, is_running, total_of
from toolcrib_mcp.upstreams import Upstream


def report_on(
    servers: Mapping[str, ServedServer],
    *,
    keeper: CatalogKeeper,
    private: Lines,
    manifest_problem: str | None,
    config_problem: str | None,
    restart_needed: tuple[str, ...],
) -> HubStatus:
    """The report of this moment."""
    snapshot = keeper.catalog.snapshot()
    served = Counter(snapshot.hydrate(tool_id).upstream for tool_id in snapshot.ids)
    running = private.running()
    reports = {
        name: _server(
            server.about,
            server.upstream,
            snapshot,
            keeper=keeper,
            served=served[name],
            private=running[name],
            waiting=server.places.waiting,
        )
        for name, server in servers.items()
    }
    totals = HubTotals(
        servers=len(reports),
        running=sum(map(is_running, reports.values())),
        tools=total_of([each.tools for each in reports.values()]),
        private=running.total(),
        watched=sum(len(each.watch) for each in servers.values()),
    )
    return HubStatus(
        ok=all(each.ok for each in reports.values()),
        totals=totals,
        servers=reports,
        manifest_problem=manifest_problem,
        config_problem=config_problem,
        restart_needed=restart_needed,
    )


def _server(
    server: HubServer,
    upstream: Upstream,
    snapshot: CatalogSnapshot,
    *,
    keeper: CatalogKeeper,
    served: int,
    private: int,
    waiting: int,
) -> ServerStatus:
    findings = [each for each in snapshot.report.findings if each.upstream == server.name]
    kinds = Counter(each.kind for each in findings)
    health = upstream.health()
    return ServerStatus(
        ok=is_ok(health),
        namespace=server.namespace,
        health=health,
        private=private,
        waiting=waiting,
        tools=ToolCounts(
            served=served,
            left_out=kinds["left-out"],
            withheld=kinds["withheld"],
            unlisted=kinds["unlisted"],
            denied=keeper.denied(server.name),
            beyond_cap=keeper.beyond_cap(server.name),
        ),
        findings=tuple(each.to_dict() for each in findings),
    )
