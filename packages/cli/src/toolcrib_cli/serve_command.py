"""`toolcrib serve`: all servers of a catalogue as one server, over standard input and output or over HTTP."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import typer

from toolcrib_cli.asking import Choice, asked_for, tell_warnings, usable_state
from toolcrib_cli.screen import tell
from toolcrib_cli.semantic_search import open_vectors
from toolcrib_cli.shared_database import shared_database
from toolcrib_cli.wiring import Asked, Wired, wired
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.config.nesting import refuse_endless_nesting
from toolcrib_mcp.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_mcp.config import HttpFront
    from toolcrib_mcp.serving import Admission, Mode
    from toolcrib_runtime.guards.secrets import Scrubber

_ADDRESS: Final = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:]*):)?(?P<port>\d{1,5})")


@dataclass(frozen=True, kw_only=True)
class Clients:
    """Who is served, and what they have of their own."""

    toolsets: bool = False
    principal: str | None = None
    auth: Literal["none", "tokens", "oauth"] | None = None
    """How clients over HTTP say who they are; `None` leaves it to the configuration."""
    admin_api: bool = False

    @property
    def tokens(self) -> bool:
        """Whether they need tokens of ours."""
        return self.auth == "tokens"

    @property
    def oauth(self) -> bool:
        """Whether they need tokens of an authorization server."""
        return self.auth == "oauth"


ANYBODY: Final = Clients()


def run_serve(
    *, choice: Choice, mode: Mode | None, http: str | None, log_level: str, clients: Clients = ANYBODY
) -> None:
    """Serve until the client leaves or the process is asked to stop.

    Raises:
        ToolError: The configuration or the address cannot be used, or large results cannot be kept.
    """
    from toolcrib_mcp.redaction import configured_secrets

    scrubber = _log_to_stderr(log_level)
    address = None if http is None else read_address(http)
    asked = asked_for(choice)
    refuse_endless_nesting(asked.path)
    scrubber.add(*configured_secrets(asked.config.enabled))
    tell_warnings(asked)
    state = usable_state(asked, named=choice.state_dir is not None)
    front = _front(address, asked.config.settings.http)
    clients = _as_configured(clients, front)
    chosen = mode or asked.config.settings.mode
    _check(clients, mode=chosen, over_http=front is not None)
    try:
        asyncio.run(_serve(asked, mode=chosen, front=front, state=state, clients=clients, root=choice.state_dir))
    except OSError as failure:
        if failure.errno != errno.EBADF:
            raise
        raise ConfigError(
            "Standard input or output is closed, and a client speaks through them.",
            hint="Let an MCP client start it, or serve over HTTP with `--http 8765`.",
        ) from None


def _log_to_stderr(level: str) -> Scrubber:
    """Log to standard error, without the secrets that what is given knows, whoever writes the line."""
    from toolcrib_cli.log_lines import FORMAT, LineFormatter
    from toolcrib_runtime.guards.secrets import Scrubber, ScrubbingFilter

    scrubber = Scrubber()
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(ScrubbingFilter(scrubber))
    handler.setFormatter(LineFormatter(FORMAT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    return scrubber


def _check(clients: Clients, *, mode: Mode, over_http: bool) -> None:
    if clients.toolsets and mode != "gateway":
        raise ConfigError("Toolsets are shown in gateway mode only.", hint="Leave `--mode` out, or `--toolsets`.")
    if clients.toolsets and not over_http and clients.principal is None:
        raise ConfigError("It is not said whose toolsets are shown.", hint="Name them: `--principal NAME`.")
    if clients.toolsets and over_http and not (clients.tokens or clients.oauth):
        raise ConfigError("Nobody would know whose toolsets to show.", hint="Add `--auth tokens` or `--auth oauth`.")
    if (clients.tokens or clients.oauth or clients.admin_api) and not over_http:
        raise ConfigError("Tokens and the management API are for HTTP.", hint="Add `--http HOST:PORT`.")
    if clients.principal is not None and over_http:
        raise ConfigError(
            "Over HTTP a token says who a client is.", hint="Leave `--principal` out, and add `--auth tokens`."
        )


def _front(address: HttpFront | None, configured: HttpFront | None) -> HttpFront | None:
    """Where to listen; what the configuration says of its own address beside that counts for a named one, too."""
    if address is None or configured is None:
        return address or configured
    return configured.model_copy(update={"host": address.host, "port": address.port})


def _as_configured(clients: Clients, front: HttpFront | None) -> Clients:
    configured = front is not None and front.oauth is not None
    if clients.oauth and front is not None and not configured:
        raise ConfigError(
            "It is not said whose access tokens are taken.",
            hint="Add `http.oauth` with `issuer`, `resource` and `jwks` to the settings of the configuration.",
            details={"place": "http.oauth"},
        )
    return replace(clients, auth="oauth") if clients.auth is None and configured else clients


async def _serve(
    asked: Asked, *, mode: Mode, front: HttpFront | None, state: Path | None, clients: Clients, root: Path | None
) -> None:
    from toolcrib_mcp.serving import by_oauth, serve

    async with wired(asked) as parts, _admission(clients, root) as known:
        oauth = front.oauth if front is not None and clients.oauth else None
        beside = parts.config.path
        admission = known
        if oauth is not None:
            admission = by_oauth(known, oauth, directory=None if beside is None else beside.parent)
        await serve(
            parts.config,
            mode=mode,
            http=front,
            state_dir=state,
            on_ready=_announce(parts, mode),
            open_vectors=open_vectors,
            upstreams=parts.upstreams,
            admission=admission,
            shared=shared_database(asked),
        )


@asynccontextmanager
async def _admission(clients: Clients, root: Path | None) -> AsyncIterator[Admission]:
    from toolcrib_mcp.serving import Admission

    if not (clients.toolsets or clients.tokens or clients.admin_api):
        yield Admission(principal=clients.principal)
        return
    from toolcrib_cli.toolset.serving import admitted

    async with admitted(clients, root=root) as admission:
        yield admission


def read_address(text: str) -> HttpFront:
    """An address to listen at: `HOST:PORT`, `[IPv6]:PORT`, or a port alone, which is then on this machine only.

    Raises:
        BadParameter: It is none of these.
    """
    from toolcrib_mcp.config import HttpFront

    parts = _ADDRESS.fullmatch(text)
    host, port = (parts["host"], int(parts["port"])) if parts else (None, -1)
    try:
        return HttpFront(host=host.strip("[]"), port=port) if host else HttpFront(port=port)
    except ValueError:  # as pydantic's own error is
        problem = f"{quoted(text)} is no address. Write `HOST:PORT`, as in `127.0.0.1:8765`."
        raise typer.BadParameter(problem, param_hint="--http") from None


def _announce(parts: Wired, mode: str) -> Callable[[str | None], None]:
    servers = count(len(parts.config.enabled) + len(parts.upstreams), "server")

    def announce(url: str | None) -> None:
        if url is not None:
            tell(f"toolcrib serves {servers} in {mode} mode at {url}")
        elif sys.stderr.isatty():
            tell(f"toolcrib serves {servers} in {mode} mode over standard input and output; Ctrl-C ends it.")

    return announce
