"""How the servers of a configuration are, whoever found it out, in one form for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from toolcrib_core.wording import count

if TYPE_CHECKING:
    from toolcrib_cli.probing import Probe
    from toolcrib_cli.wiring import Asked
    from toolcrib_mcp import GatewayConfig
    from toolcrib_mcp.serving.live import LiveStatus


TO_BE_ASKED_LESS: Final = (
    "toolcrib policy allow SERVER   runs all tools of a server without a question",
    "toolcrib policy show           lists your rules, and the answers you gave",
)


@dataclass(frozen=True, kw_only=True)
class ServerReport:
    """One server; what it said itself is not made fit for a terminal here."""

    name: str
    status: Mapping[str, Any]
    """As the hub tells it."""
    start_error: Mapping[str, Any] | None = None
    """Why it could not be started just now."""

    @property
    def health(self) -> Mapping[str, Any]:
        """As its upstream tells it."""
        health: Mapping[str, Any] = self.status.get("health", {})
        return health

    @property
    def failed(self) -> bool:
        """Whether it cannot be used, and not only for not having been started yet."""
        return not self.status.get("ok", False) and self.error is not None

    @property
    def error(self) -> Mapping[str, Any] | None:
        """What went wrong with it last, as JSON; the error of a server behind says more than that it has to rest."""
        return self.health.get("toolsProblem") or self.health.get("lastFailure") or self.start_error

    @property
    def state(self) -> str:
        """In a word."""
        if self.failed:
            return "failed"
        if self.health.get("phase") == "starting":
            return "starting"
        state = str(self.health.get("state", "unknown"))
        return "idle" if state == "known" else state

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        written = {**self.status, "failed": self.failed}
        return written if self.start_error is None else written | {"startError": self.start_error}


@dataclass(frozen=True, kw_only=True)
class StatusReport:
    """All servers of a configuration."""

    config: Path | None
    """The file, where there is one."""
    source: Literal["live", "probe"]
    hub: Mapping[str, Any]
    """The status as JSON, from the process that serves or from the one that tried the servers."""
    processes: tuple[LiveStatus, ...] = ()
    """Who serves it right now; the first one is the one that is reported about."""
    start_errors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    asked_about: Mapping[str, int] = field(default_factory=dict)
    """By name, how many tools of a server need an approval before they run; known after the servers were tried."""
    has_rules: bool = False
    """Whether there are rules or remembered answers, so that the commands need not be named."""
    switched_off: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Servers that nobody serves because a variable of theirs is not set."""
    warnings: tuple[str, ...] = ()
    is_demo: bool = False

    @property
    def subject(self) -> str:
        """What it is about, in words."""
        if self.config is not None:
            return str(self.config)
        return "The demo" if self.is_demo else "No configuration"

    @property
    def ok(self) -> bool:
        """Whether no server failed or is left out, the audit can be written, and the configuration is current."""
        if self.hub.get("configProblem") or self.hub.get("auditProblem"):
            return False
        return not self.left_out and not any(server.failed for server in self.servers())

    @property
    def questions(self) -> str:
        """How many tools need an approval, in words."""
        asked = sum(self.asked_about.values())
        return (
            f"{count(asked, 'tool needs', 'tools need')} your approval; the answer can be remembered." if asked else ""
        )

    @property
    def to_be_asked_less(self) -> tuple[str, ...]:
        """What to do about that, where nobody has decided anything yet."""
        return () if self.has_rules or not self.asked_about else TO_BE_ASKED_LESS

    def servers(self) -> Iterator[ServerReport]:
        """The servers, in the order of the configuration."""
        for name, status in self.hub.get("servers", {}).items():
            yield ServerReport(name=name, status=status, start_error=self.start_errors.get(name))

    def to_json(self) -> dict[str, Any]:
        """What `toolcrib status --json` prints."""
        written: dict[str, Any] = {
            "config": None if self.config is None else str(self.config),
            "source": self.source,
            "ok": self.ok,
        }
        if self.processes:
            first, *others = (
                each.model_dump(mode="json", by_alias=True, exclude={"hub", "version"}, exclude_none=True)
                for each in self.processes
            )
            written |= {"process": first, "otherProcesses": others}
        return {
            **written,
            **self.hub,
            "ok": self.ok,
            "servers": {server.name: server.to_json() for server in self.servers()},
            **({"askedAbout": dict(self.asked_about)} if self.source == "probe" else {}),
            "switchedOff": list(self.switched_off),
            "leftOut": list(self.left_out),
            "warnings": list(self.warnings),
        }


def live_report(asked: Asked, processes: Sequence[LiveStatus]) -> StatusReport:
    """The report of the process that was started last."""
    return replace(_report_on(asked, "live", processes[0].hub), processes=tuple(processes))


def probed_report(asked: Asked, probe: Probe) -> StatusReport:
    """The report after the servers were tried."""
    report = _report_on(asked, "probe", probe.status)
    return replace(
        report, start_errors=probe.failures, asked_about=probe.asked_about, has_rules=probe.has_rules or asked.demo
    )


def _report_on(asked: Asked, source: Literal["live", "probe"], hub: Mapping[str, Any]) -> StatusReport:
    # Who serves may have variables that this process has not: what is served is not left out.
    served = hub.get("servers", {})
    warnings = [each for each in asked.config.warnings if each.left_out not in served]
    return StatusReport(
        config=None if asked.path is None else asked.path.resolve(),
        is_demo=asked.demo,
        source=source,
        hub=hub,
        switched_off=_switched_off(asked.config),
        left_out=tuple(dict.fromkeys(each.left_out for each in warnings if each.left_out is not None)),
        warnings=tuple(map(str, warnings)),
    )


def _switched_off(config: GatewayConfig) -> tuple[str, ...]:
    return tuple(server.name for server in config.servers.values() if not server.enabled)
