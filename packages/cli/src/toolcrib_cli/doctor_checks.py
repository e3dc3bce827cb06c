"""What `toolcrib doctor` looks at, one function for each: what was found, and what to do about it."""

from __future__ import annotations

import locale
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from toolcrib_core import ToolError, count_tokens
from toolcrib_core.wording import count, listed, quoted, shown
from toolcrib_mcp.config import GatewayConfig, ServerSettings, StdioTransport

if TYPE_CHECKING:
    from toolcrib_cli.status_report import StatusReport
    from toolcrib_cli.wiring import Asked
    from toolcrib_mcp.config.settings import ServerSandbox

Verdict: TypeAlias = Literal["ok", "note", "warning", "broken"]

OLDEST_PYTHON: Final = (3, 11)
_MAX_FINDINGS: Final = 10
_MAX_LAST_WORDS: Final = 3
# Of the findings about tools: what may be an attack, which many small repairs must not push off the screen.
_FIRST: Final = ("left-out", "withheld", "flagged")
_VENDORS: Final = ("openai", "anthropic", "google-genai", "claude-agent-sdk")
_KNOWN_TEXT: Final = "Hello, tool crib!"
_KNOWN_TOKENS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    said: str
    hint: str = ""
    details: Any = field(default=None)

    def to_json(self) -> dict[str, Any]:
        """As JSON, without what there is nothing to say about."""
        told = {"name": self.name, "verdict": self.verdict, "said": self.said, "hint": self.hint or None}
        return {key: value for key, value in (told | {"details": self.details}).items() if value is not None}


def check_python() -> Check:
    """This interpreter and this system."""
    here = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    encoding = locale.getpreferredencoding(do_setlocale=False)
    if sys.version_info < OLDEST_PYTHON:  # pragma: no cover  # pip installs us nowhere older
        return Check(name="python", verdict="broken", said=here, hint="Use Python 3.11 or later.")
    if encoding.lower().replace("-", "") != "utf8":
        hint = "Set `PYTHONUTF8=1`, or a UTF-8 locale."
        return Check(name="python", verdict="warning", said=f"{here}, text as {encoding}", hint=hint)
    return Check(name="python", verdict="ok", said=here)


def check_parts() -> Check:
    """Our distributions, which must be of one version, and the vendors' that they can use."""
    ours = {each.metadata["Name"]: each.version for each in distributions() if _is_ours(each.metadata["Name"])}
    vendors = {name: found for name in _VENDORS if (found := _installed(name)) is not None}
    versions = sorted(set(ours.values()))
    details = {"parts": dict(sorted(ours.items())), "vendors": vendors}
    if len(versions) > 1:
        said = f"{count(len(ours), 'part')} of different versions: {', '.join(versions)}"
        hint = f"Install one version of all: pip install --upgrade toolcrib=={versions[-1]}"
        return Check(name="parts", verdict="broken", said=said, hint=hint, details=details)
    said = f"{count(len(ours), 'part')} of version {versions[0]}"
    with_vendors = f"; SDKs: {', '.join(f'{name} {number}' for name, number in vendors.items())}" if vendors else ""
    return Check(name="parts", verdict="ok", said=said + with_vendors, details=details)


def check_sandbox() -> Check:
    """What this machine can enforce around a child process."""
    from toolcrib_runtime.guards.process import sandbox_levels

    levels = sandbox_levels()
    held = [each.name for each in levels if each.enforced]
    missing = [each.name for each in levels if not each.enforced]
    details = [each.to_dict() for each in levels]
    said = f"{len(held)} of {len(levels)} levels: {', '.join(held)}" if held else "no level of it"
    if not missing:
        return Check(name="sandbox", verdict="ok", said=said, details=details)
    needs = "; ".join(f"{each.name}: {each.by}" for each in levels if not each.enforced)
    return Check(name="sandbox", verdict="note", said=said, hint=f"Not enforced here: {needs}.", details=details)


def check_vocabulary() -> Check:
    """The token vocabulary that comes with core."""
    try:
        tokens = count_tokens(_KNOWN_TEXT)
    except ToolError as failure:
        return _broken("vocabulary", failure)
    if tokens != _KNOWN_TOKENS:
        hint = "Install toolcrib-core again: pip install --force-reinstall toolcrib-core"
        return Check(name="vocabulary", verdict="broken", said="cl100k_base counts wrongly", hint=hint)
    return Check(name="vocabulary", verdict="ok", said="cl100k_base, offline")


def check_state(asked: Asked) -> Check:
    """The directory that everything is kept in."""
    from toolcrib_mcp.state_files import Untrusted, private_directory

    directory = asked.state_dir
    if directory is None:
        return Check(name="state", verdict="note", said="nothing is kept")
    try:
        private_directory(directory)
    except OSError as failure:
        said = f"{quoted(str(directory))} cannot be used: {failure.strerror}"
        hint = failure.advice if isinstance(failure, Untrusted) else "Name another with `--state-dir`."
        return Check(name="state", verdict="broken", said=said, hint=hint)
    if not os.access(directory, os.W_OK | os.X_OK):
        said = f"{quoted(str(directory))} cannot be written"
        return Check(name="state", verdict="broken", said=said, hint="Name another with `--state-dir`.")
    return Check(name="state", verdict="ok", said=str(directory))


def check_database(asked: Asked) -> Check:
    """The database of large results, from end to end where it is not huge."""
    from toolcrib_cli.shared_database import database_of

    database = database_of(asked)
    if database is None or (isinstance(database, Path) and not _may_be_there(database)):
        return Check(name="database", verdict="ok", said="none yet; it is made when a large result is kept")
    from toolcrib_store import open_store

    try:
        with open_store(database) as store:
            said = f"{store.name}, shared" if isinstance(database, str) else f"{store.name}, {_size(database)}"
    except ToolError as failure:
        return _broken("database", failure)
    return Check(name="database", verdict="ok", said=said)


def check_toolsets() -> Check | None:
    """The database of toolsets and its master key, where there are toolsets at all."""
    from toolcrib_cli.toolset.opening import opened_store, sealing_of, toolset_database
    from toolcrib_toolsets import Unkeyed
    from toolcrib_toolsets.rotation import has_master_key

    target = toolset_database(None, environ=os.environ)
    if isinstance(target, Path) and not _may_be_there(target):
        return None
    try:
        with opened_store(None) as store:
            if not has_master_key(store) and isinstance(sealing_of(store, keyed=False), Unkeyed):
                said, hint = "none yet, and no master key", "Before the first one: toolcrib toolset init-key"
                return Check(name="toolsets", verdict="note", said=said, hint=hint)
            sealing_of(store, keyed=True)
            said = store.name
    except ToolError as failure:
        return _broken("toolsets", failure)
    return Check(name="toolsets", verdict="ok", said=f"{said}, under the master key that was given")


def check_config(asked: Asked) -> Check:
    """The configuration, which was read before."""
    if asked.path is None:
        said = "none here, so the demo is used" if asked.demo else "none here"
        return Check(name="configuration", verdict="note", said=said, hint="For your own servers: toolcrib init")
    enabled = count(len(asked.config.enabled), "server")
    said = f"{asked.path}: {enabled}"
    if asked.config.warnings:
        warnings = list(map(str, asked.config.warnings))
        return Check(name="configuration", verdict="warning", said=said, hint=" ".join(warnings), details=warnings)
    return Check(name="configuration", verdict="ok", said=said)


def check_toolpacks(asked: Asked) -> Check:
    """The tool files that are served, and what each may do.

    Raises:
        ToolError: They cannot be used, or a path is granted that there is not.
    """
    from toolcrib_cli.toolpack.loading import load_folders
    from toolcrib_toolpacks import permissions

    packs, grants = load_folders(asked.toolpacks), asked.grants.path_grants()
    may = {each.tool: list(permissions(each, grants)) for each in packs}
    lines = [f"{tool}: {'; '.join(words)}" for tool, words in may.items()]
    said = f"{count(len(packs), 'tool')} of {listed(map(str, asked.toolpacks))}; each may do this, and nothing else"
    return Check(name="tool files", verdict="ok", said=said, hint="\n".join(lines), details=may)


def check_servers(config: GatewayConfig, report: StatusReport) -> Iterator[Check]:
    """Every server: whether it can be used."""
    for server in report.servers():
        name = f"server {shown(server.name)}"
        if server.failed:
            error = server.error or {}
            said, hints = str(error.get("message", "It failed.")), [str(error.get("hint") or ""), *_last_words(error)]
            yield Check(name=name, verdict="broken", said=said, hint="\n".join(hints), details=dict(error))
            continue
        tools = server.status.get("tools", {})
        yield Check(name=name, verdict="ok", said=f"{server.state}, {count(tools.get('served', 0), 'tool')}")
    for left_out in report.left_out:
        yield Check(name=f"server {shown(left_out)}", verdict="broken", said=config.left_out.get(left_out, "left out"))


def check_tools(report: StatusReport) -> Check:
    """What the catalogue found in the tools that servers list: what is left out or flagged first, then the rest."""
    found = [finding for server in report.servers() for finding in server.status.get("findings", ())]
    found.sort(key=lambda each: each.get("kind") not in _FIRST)
    if not found:
        return Check(name="tools", verdict="ok", said="nothing is wrong with any tool's name, text or schema")
    told = [_finding(each) for each in found[:_MAX_FINDINGS]]
    more = f" And {len(found) - _MAX_FINDINGS} more: `--json` has all." if len(found) > _MAX_FINDINGS else ""
    names = listed(dict.fromkeys(str(each.get("kind")) for each in found))
    said = f"{count(len(found), 'finding')} about tools ({names})"
    return Check(name="tools", verdict="warning", said=said, hint="\n".join(told) + more, details=found)


def check_questions(report: StatusReport) -> Iterator[Check]:
    """What the policy asks about; nothing where it asks about no tool, or nobody knows."""
    if report.questions:
        hint, details = "\n".join(report.to_be_asked_less), dict(report.asked_about)
        yield Check(name="policy", verdict="ok", said=report.questions.rstrip("."), hint=hint, details=details)


def check_limits(config: GatewayConfig) -> Check:
    """The limits of the gateway, and where a server has limits of its own; defaults included."""
    settings, limits = config.settings, config.settings.limits
    said = (
        f"{settings.call_timeout:g} s for a call, {ServerSettings().start_timeout:g} s for a start, "
        f"{limits.max_concurrent_calls:,} calls at once for each server, "
        f"messages of up to {_bytes(limits.max_message_bytes)}, {limits.max_tools:,} tools for each server"
    )
    own = {server.name: ", ".join(_own_limits(server.settings)) for server in config.enabled}
    hint = "\n".join(f"{shown(name)}: {text}" for name, text in own.items() if text)
    details = {
        "callTimeout": settings.call_timeout,
        "limits": limits.model_dump(mode="json", by_alias=True),
        "servers": {
            server.name: {
                "timeout": settings.call_timeout if server.settings.timeout is None else server.settings.timeout,
                "startTimeout": server.settings.start_timeout,
                "concurrency": server.settings.concurrency or limits.max_concurrent_calls,
            }
            for server in config.enabled
        },
    }
    return Check(name="limits", verdict="ok", said=said, hint=hint, details=details)


def check_sandboxes(config: GatewayConfig, report: StatusReport) -> Iterator[Check]:
    """The sandbox and the resource limits of each server that runs on this machine; nothing where there is none."""
    held: dict[str, list[str]] = {}
    details: dict[str, Any] = {}
    for server in report.servers():
        configured, running = config.servers.get(server.name), server.health.get("sandbox")
        if running is None and (configured is None or configured.written.kind != "stdio"):
            continue
        settings = None if configured is None else configured.settings.sandbox
        held[server.name] = [*_sandbox(settings, running), *_resource_limits(settings)]
        details[server.name] = {
            "sandbox": running,
            "configured": None if settings is None else settings.model_dump(mode="json", by_alias=True),
        }
    if not held:
        return
    free = [shown(name) for name, words in held.items() if not words]
    said = f"{len(held) - len(free)} of {count(len(held), 'local server')} confined"
    lines = [f"{shown(name)}: {', '.join(words)}" for name, words in held.items() if words]
    if free:
        lines.append(
            f"No sandbox and no resource limits: {listed(free)}. "
            "They can reach what your user can; confine one with `sandbox` under `toolcrib.servers`."
        )
    yield Check(name="server sandboxes", verdict="ok", said=said, hint="\n".join(lines), details=details)


def check_environment(config: GatewayConfig, environ: Mapping[str, str] = os.environ) -> Iterator[Check]:
    """The names of the variables that each local server gets; nothing where no server is started here."""
    from toolcrib_mcp.upstreams.opening import environment_of

    local = [(each, each.written) for each in config.enabled if isinstance(each.written, StdioTransport)]
    if not local:
        return
    sessions = {server.name: environment_of(server, config.settings, environ=environ) for server, _ in local}
    usual = set.intersection(*(set(each.values) for each in sessions.values()))
    secret = sorted({name for each in sessions.values() for name in each.secret})
    lines = [f"every local server: {', '.join(sorted(usual))}"] if usual else []
    details = {}
    for server, written in local:
        more = sorted(sessions[server.name].values.keys() - usual)
        lines += [f"{shown(server.name)}, from this session: {', '.join(more)}"] if more else []
        lines += [f"{shown(server.name)}, from its `env`: {', '.join(written.env)}"] if written.env else []
        details[server.name] = {"session": sorted(sessions[server.name].values), "env": list(written.env)}
    if secret:
        lines.append(
            f"Not passed on, because the value holds a secret: {', '.join(secret)}. `inheritEnv` passes it on."
        )
    said = f"{count(len(usual), 'variable')} of this session for every local server"
    hint, every = "\n".join(lines), {"servers": details, "notPassedOn": secret}
    yield Check(name="environment", verdict="note" if secret else "ok", said=said, hint=hint, details=every)


def _own_limits(own: ServerSettings) -> Iterator[str]:
    if own.timeout is not None:
        yield f"{own.timeout:g} s for a call"
    if "start_timeout" in own.model_fields_set:
        yield f"{own.start_timeout:g} s for a start"
    if own.concurrency is not None:
        yield f"{own.concurrency:,} calls at once"


def _sandbox(settings: ServerSandbox | None, running: Mapping[str, Any] | None) -> Iterator[str]:
    """As it is enforced, or for a server that does not run as it is configured."""
    if running is None:
        if settings is not None and not settings.network:
            yield "no network"
        if settings is not None and (settings.read is not None or settings.write is not None):
            yield "only listed files"
        return
    if running.get("network") != "not isolated":
        yield f"no network ({running.get('network')})"
    if running.get("landlock") not in {"off", "unavailable"}:
        yield f"only listed files (Landlock {running.get('landlock')})"


def _resource_limits(settings: ServerSandbox | None) -> Iterator[str]:
    if settings is None:
        return
    if settings.memory_bytes is not None:
        yield f"{_bytes(settings.memory_bytes)} of address space"
    if settings.cpu_seconds is not None:
        yield f"{settings.cpu_seconds:,} s of CPU time"
    if settings.open_files is not None:
        yield f"{settings.open_files:,} open files"


def _bytes(number: int) -> str:
    unit, name = (2**30, "GiB") if number >= 2**30 else (2**20, "MiB")
    return f"{number / unit:.4g} {name}"


def _may_be_there(file: Path) -> bool:
    """Whether a file is there; also where its folder cannot be looked into: opening the file then tells why."""
    try:
        return file.exists()
    except OSError:
        return True


def _last_words(error: Mapping[str, Any]) -> list[str]:
    """The end of what a server wrote to standard error."""
    details = error.get("details")
    written = str(details.get("stderr") or "") if isinstance(details, Mapping) else ""
    return [f"| {line.rstrip()}" for line in written.strip().splitlines()[-_MAX_LAST_WORDS:]]


def _finding(each: dict[str, Any]) -> str:
    who = f"{shown(each.get('upstream', ''))} {shown(each.get('name') or 'without a name')}"
    return f"{each.get('kind')} {who}: {each.get('reason', '')} {each.get('hint', '')}".rstrip()


def _broken(name: str, failure: ToolError) -> Check:
    return Check(name=name, verdict="broken", said=failure.message, hint=failure.hint or "")


def _is_ours(name: str | None) -> bool:
    return name is not None and (name == "toolcrib" or name.startswith("toolcrib-"))


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _size(file: Path) -> str:
    return count(file.stat().st_size, "byte")
