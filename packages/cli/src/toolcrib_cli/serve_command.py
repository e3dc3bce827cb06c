"""`toolcrib serve`: all servers of a catalogue as one server, over standard input and output or over HTTP.

Over standard input and output, a client that was served before is answered before the configuration is even read.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urljoin

import typer

from toolcrib_cli.asking import Choice, Place, asked_for, place_of, tell_warnings, usable_state
from toolcrib_cli.screen import tell
from toolcrib_cli.semantic_search import open_vectors
from toolcrib_cli.shared_database import shared_database
from toolcrib_cli.version import version
from toolcrib_cli.wiring import Asked, Wired, wired
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.config.nesting import refuse_endless_nesting
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.state_files import GREETING

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_mcp.config import GatewayConfig, HttpFront
    from toolcrib_mcp.serving import Admission, Composition, Entrance, GreetingFile, Mode
    from toolcrib_runtime.guards.secrets import Scrubber

_ADDRESS: Final = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:]*):)?(?P<port>\d{1,5})")
# What a greeting depends on beside the options: these files in the folder of the configuration.
_BESIDE: Final = ("toolcrib.toml", "toolcrib.policy.toml")


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
    scrubber = _log_to_stderr(log_level)
    address = None if http is None else read_address(http)
    place = place_of(choice)
    refuse_endless_nesting(place.path)
    kept = _greeting_file(place, choice, mode, clients) if address is None else None
    greeting = None if kept is None else kept.read()
    try:
        if kept is not None and greeting is not None:
            from toolcrib_mcp.serving import Admission, Entrance

            entrance = Entrance(
                mode=greeting.mode,
                admission=Admission(principal=clients.principal),
                state_dir=kept.path.parent,
                greeting=greeting,
                kept=kept,
                max_message=greeting.max_message,
            )
            asyncio.run(
                _serve_stdio(
                    lambda: _read(choice, scrubber),
                    entrance,
                    clients=clients,
                    root=choice.state_dir,
                    scrubber=scrubber,
                )
            )
            return
        asked = _read(choice, scrubber)
        state = usable_state(asked, named=choice.state_dir is not None)
        front = _front(address, asked.config.settings.http)
        clients = _as_configured(clients, front)
        chosen = mode or asked.config.settings.mode
        _check(clients, mode=chosen, over_http=front is not None)
        if front is None:
            asyncio.run(
                _serve_stdio(
                    lambda: asked,
                    _entrance(asked, mode=chosen, clients=clients, state=state, kept=kept),
                    clients=clients,
                    root=choice.state_dir,
                    scrubber=scrubber,
                )
            )
        else:
            asyncio.run(
                _serve_http(
                    asked,
                    mode=chosen,
                    front=front,
                    state=state,
                    clients=clients,
                    root=choice.state_dir,
                    scrubber=scrubber,
                )
            )
    except OSError as failure:
        if failure.errno != errno.EBADF:
            raise
        raise ConfigError(
            "Standard input or output is closed, and a client speaks through them.",
            hint="Let an MCP client start it, or serve over HTTP with `--http 8765`.",
        ) from None


def _read(choice: Choice, scrubber: Scrubber) -> Asked:
    """Read the configuration, and keep its secrets out of the log."""
    from toolcrib_mcp.redaction import configured_secrets

    asked = asked_for(choice)
    scrubber.add(*configured_secrets(asked.config.enabled))
    tell_warnings(asked)
    return asked


def _greeting_file(place: Place, choice: Choice, mode: Mode | None, clients: Clients) -> GreetingFile | None:
    """Where the greeting of this catalogue is kept; `None` where none is."""
    from toolcrib_mcp.serving.greeting import GreetingFile, greeting_key

    directory = usable_state(place, named=choice.state_dir is not None)
    if directory is None:
        return None
    options = repr((version(), mode, clients, choice))
    files = [] if place.path is None else [place.path, *(place.path.parent / name for name in _BESIDE)]
    contents = []
    for file in files:
        data = b""
        with suppress(OSError):
            data = file.read_bytes()
        contents.append(data)
    return GreetingFile(path=directory / GREETING, key=greeting_key((options.encode(), *contents)))


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


def _entrance(asked: Asked, *, mode: Mode, clients: Clients, state: Path | None, kept: GreetingFile | None) -> Entrance:
    from toolcrib_mcp.serving import Admission, entrance_to

    admission = Admission(principal=clients.principal)
    entrance = entrance_to(asked.config, mode=mode, admission=admission, state_dir=state)
    return replace(entrance, kept=kept)


async def _serve_stdio(
    read: Callable[[], Asked], entrance: Entrance, *, clients: Clients, root: Path | None, scrubber: Scrubber
) -> None:
    from toolcrib_mcp.serving import Composition, serve_composed

    @asynccontextmanager
    async def compose() -> AsyncIterator[Composition]:
        from toolcrib_mcp.safeguards.checking import check_safeguards

        asked = await asyncio.to_thread(read)
        check_safeguards(asked.config)
        async with wired(asked) as parts, _admission(clients, root) as admission:
            if sys.stderr.isatty():
                _announce(parts, clients, entrance.mode, "over standard input and output; Ctrl-C ends it.")
            yield Composition(
                config=parts.config,
                upstreams=parts.upstreams,
                admission=admission,
                shared=shared_database(asked),
                open_vectors=open_vectors,
                reload=_reload(parts, scrubber),
            )

    await serve_composed(compose, entrance)


async def _serve_http(
    asked: Asked,
    *,
    mode: Mode,
    front: HttpFront,
    state: Path | None,
    clients: Clients,
    root: Path | None,
    scrubber: Scrubber,
) -> None:
    from toolcrib_mcp.serving import by_oauth, serve

    async with wired(asked) as parts, _admission(clients, root) as known:
        oauth = front.oauth if clients.oauth else None
        beside = parts.config.path
        admission = known
        if oauth is not None:
            admission = by_oauth(known, oauth, directory=None if beside is None else beside.parent)
        await serve(
            parts.config,
            mode=mode,
            http=front,
            state_dir=state,
            on_ready=lambda url: _announce_url(parts, clients, mode, url),
            open_vectors=open_vectors,
            upstreams=parts.upstreams,
            admission=admission,
            shared=shared_database(asked),
            reload=_reload(parts, scrubber),
        )


def _reload(parts: Wired, scrubber: Scrubber) -> Callable[[], GatewayConfig] | None:
    load = parts.reload
    if load is None:
        return None

    def reload() -> GatewayConfig:
        from toolcrib_mcp.redaction import configured_secrets

        config = load()
        scrubber.add(*configured_secrets(config.enabled))
        return config

    return reload


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


def _announce(parts: Wired, clients: Clients, mode: Mode, where: str) -> None:
    number = len(parts.config.enabled) + len(parts.upstreams)
    served = [count(number, "server")] if number or not clients.toolsets else []
    if clients.toolsets:
        served.append("toolsets")
    tell(f"toolcrib serves {' and '.join(served)} in {mode} mode {where}")


def _announce_url(parts: Wired, clients: Clients, mode: Mode, url: str | None) -> None:
    _announce(parts, clients, mode, f"at {url}")
    if clients.admin_api and url is not None:
        from toolcrib_toolsets.api import PREFIX

        tell(f"The management API is at {urljoin(url, PREFIX)}")
