"""What a process serves, and the entrance through which clients reach it before that is put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from toolcrib_mcp.serving.admission import ANYBODY, Admission
from toolcrib_mcp.serving.greeting import Greeting, GreetingFile, Mode, first_greeting

if TYPE_CHECKING:
    from toolcrib_core import DocumentVectors
    from toolcrib_mcp.config import GatewayConfig, HttpFront
    from toolcrib_mcp.shared import SharedDatabase
    from toolcrib_mcp.upstreams import Connect

OpenVectors: TypeAlias = Callable[[], "DocumentVectors | None"]
"""Opens what finds tools by meaning, where there is such a thing."""

OnReady: TypeAlias = Callable[[str | None], None]
"""Is called with the URL that clients connect to, or with `None` for standard input and output."""


@dataclass(frozen=True, kw_only=True)
class Composition:
    """What is served."""

    config: GatewayConfig
    upstreams: Mapping[str, Connect] = field(default_factory=dict)
    """Servers beside those of the configuration, by name."""
    admission: Admission = ANYBODY
    """Who is let in, and what they have of their own."""
    shared: SharedDatabase | None = None
    """The database that the replicas share; without it, there is one process."""
    open_vectors: OpenVectors | None = None
    reload: Callable[[], GatewayConfig] | None = None
    """Reads the configuration again: with it, an edit of its file is served within two seconds."""


Compose: TypeAlias = Callable[[], AbstractAsyncContextManager[Composition]]
"""Puts together what is served, and closes at the end what that holds."""


@dataclass(frozen=True, kw_only=True)
class Entrance:
    """Where clients connect, and what they are answered before anything else is known."""

    mode: Mode
    http: HttpFront | None = None
    """The address to listen at; without it, standard input and output."""
    admission: Admission = ANYBODY
    state_dir: Path | None = None
    """The directory of this configuration alone."""
    greeting: Greeting | None = None
    """Without it, clients wait until the servers are being started."""
    kept: GreetingFile | None = None
    """Where the greeting is kept for the next process."""
    max_message: int
    """The longest message that is read from standard input, in bytes."""
    has_replicas: bool = False
    """Whether sessions are shared with other processes."""
    on_ready: OnReady | None = None
    """Is called when clients can connect."""


def entrance_to(
    config: GatewayConfig,
    *,
    mode: Mode,
    http: HttpFront | None = None,
    admission: Admission = ANYBODY,
    state_dir: Path | None = None,
    on_ready: OnReady | None = None,
) -> Entrance:
    """The entrance that a configuration describes, with the greeting for servers that were never seen.

    Clients that say who they are get no such greeting: what they may know is known when the policy is read.
    """
    settings = config.settings
    max_message = settings.limits.max_message_bytes
    return Entrance(
        mode=mode,
        http=http,
        admission=admission,
        state_dir=state_dir,
        greeting=None
        if admission.authenticate is not None
        else first_greeting(mode, execute=settings.execute, max_message=max_message, servers=_nameable(config)),
        max_message=max_message,
        on_ready=on_ready,
    )


def _nameable(config: GatewayConfig) -> list[str]:
    """The servers that every client may know of, as far as that is certain before the policy is read."""
    beside = None if config.path is None else config.path.parent
    has_policy = config.settings.policy is not None or (beside is not None and any(beside.glob("*.policy.toml")))
    return [] if has_policy else [each.namespace for each in config.enabled]
