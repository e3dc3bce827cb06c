"""Our own settings: what clients' files have no words for."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from toolcrib_core import ToolRisk
from toolcrib_core.json_values import FrozenDict
from toolcrib_core.risk import DataSensitivity, Effects
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.net.grant import is_host_name

MEGABYTE = 1024 * 1024

Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]
IdleSeconds: TypeAlias = Annotated[float, Field(ge=0, le=30 * 86_400)]
"""Seconds without a call; 0 stands for never."""

StartWhen: TypeAlias = Literal["lazy", "eager"]
Glob: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]
"""A pattern over the tools' own names: `*`, `?` and `[…]`."""

Origin: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9+.-]*://[^\s/]+$", max_length=300)]
"""A page's origin, as `https://example.com`."""

EnvPattern: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_*?]{1,200}$")]
"""The name of an environment variable, or a pattern: `AWS_*`, or `*` for all of them."""

AbsolutePath: TypeAlias = Annotated[str, Field(pattern=r"^(/|~/)", max_length=4096)]
"""A place on this machine; `~/` is the user's home."""

Grant: TypeAlias = Literal["elicitation", "sampling", "roots", "logging"]
"""What a server may have of a client: an answer of its user, a model's, its roots; and its ear for log messages."""


def _host(text: str) -> str:
    if is_host_name(text.lower()) or _is_address(text):
        return text
    raise ValueError("expected a host name or an IP address")


class SettingsModel(BaseModel):
    """What all settings have in common: they do not change, know every key, and never repeat a value in an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )


class RiskOverride(SettingsModel):
    """What the operator knows better about the risk of a tool; what is not said stays as it is."""

    effects: Effects | None = None
    """What a call may do."""
    destructive: bool | None = None
    """Whether a call may destroy what was there."""
    idempotent: bool | None = None
    """Whether a second call with the same arguments changes nothing more."""
    requires_approval: bool | None = None
    """Whether somebody has to approve a call first."""
    data_sensitivity: DataSensitivity | None = None
    """How confidential what it reads is."""
    external_network: bool | None = None
    """Whether it reaches beyond this machine."""
    system_access: bool | None = None
    """Whether it reaches files and programs of this machine."""

    def applied_to(self, risk: ToolRisk) -> ToolRisk:
        """The risk as the operator sees it; unlike what a server says, this may also lower it."""
        return risk.model_copy(update=self.model_dump(exclude_none=True))


class RestartPolicy(SettingsModel):
    """What happens when a server ends or cannot be reached.

    The wait doubles from `initial_delay` to `max_delay`; after `max_failures` in a row the server rests for `rest`.
    """

    when: Literal["always", "on-failure", "never"] = "always"
    """After which end the server is started again."""
    initial_delay: Seconds = 0.5
    """Seconds before the first new start."""
    max_delay: Seconds = 30
    """The longest wait between two starts, in seconds."""
    max_failures: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many failures in a row are taken before the server rests."""
    rest: Seconds = 60
    """How long it rests, in seconds."""


class ServerSandbox(SettingsModel):
    """Walls around a server that is started here; a wall that this machine cannot build keeps the server from starting.

    With `network: false`, `read` or `write` a server gets only the basic variables of the environment.
    """

    network: bool = True
    """Whether it may open connections."""
    read: tuple[AbsolutePath, ...] | None = None
    """What it may read beside system libraries and its own program; without a list, whatever its user may."""
    write: tuple[AbsolutePath, ...] | None = None
    """What it may write; without a list, whatever its user may, or with a list to `read`, nothing."""
    memory_bytes: Annotated[int, Field(ge=16 * MEGABYTE, le=2**46)] | None = None
    """The most address space of each of its processes; without a number, no limit. Chromium reserves terabytes."""
    cpu_seconds: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """The most CPU time of each of its processes over its whole life, in seconds; without a number, no limit."""
    open_files: Annotated[int, Field(ge=16, le=1_000_000)] | None = None
    """The most open files of each of its processes; without a number, no limit of ours."""


class ServerSettings(SettingsModel):
    """How one server is treated."""

    enabled: bool = True
    """Whether the server is served."""
    namespace: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """What its tools' ids begin with; made legal where it is not. Without one it comes from the server's name."""
    own_namespaces: bool = False
    """Whether the ids of its tools begin with what their names begin with, as `tracker` in `tracker.create_issue`."""
    timeout: Seconds | None = None
    """For one call, in seconds; without one the gateway's own counts."""
    start_timeout: Seconds = 30
    """How long it may take to start, in seconds."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = None
    """How many calls may be under way at once; without a number, as many as the gateway allows."""
    allow: tuple[Glob, ...] = ("*",)
    """Which tools are served, by patterns over the server's own names for them."""
    deny: tuple[Glob, ...] = ()
    """Tools that are left out even where `allow` has them."""
    trusted: bool = False
    """Whether what the server says of its tools may lower their risk."""
    risk: Annotated[Mapping[Glob, RiskOverride], AfterValidator(FrozenDict)] = FrozenDict()
    """Risks by pattern; the first pattern that fits a tool counts."""
    start: StartWhen | None = None
    """`lazy` starts it at its first call if its tools are known, `eager` with the gateway.

    Without a word the gateway's counts.
    """
    idle_stop: IdleSeconds | None = None
    """Seconds without a call after which it is stopped until the next one; `null` or 0 is never.

    Without a value the gateway's counts.
    """
    restart: RestartPolicy = RestartPolicy()
    """What happens when it ends or cannot be reached."""
    network: NetGrant | None = None
    """What the gateway may reach for this server; without one, what its URL names."""
    grants: tuple[Grant, ...] = ()
    """What the server may ask of the client behind the gateway, or tell it; everything else is refused."""
    sandbox: ServerSandbox | None = None
    """Walls around the server; only for one that is started here."""
    inherit_env: tuple[EnvPattern, ...] = ()
    """Variables of toolcrib's environment that the server gets beside the usual ones, by name or pattern."""
    pins: Literal["off", "warn", "enforce"] | None = None
    """What happens to a tool that changed: `enforce` withholds it, `warn` serves it with a warning in log and audit,
    `off` pins nothing. Without a value the gateway's `pins` counts."""

    def admits(self, *names: str) -> bool:
        """Whether a tool is served, by the name that the server gives it and any other that it has."""
        return _fits(names, self.allow) and not _fits(names, self.deny)

    def idle_seconds(self, gateway: GatewaySettings) -> float | None:
        """After how long without a call it is stopped; `None` is never."""
        own = self.idle_stop if "idle_stop" in self.model_fields_set else gateway.idle_stop
        return own or None

    def risk_of(self, *names: str) -> RiskOverride | None:
        """What the operator says about the risk of a tool, by any of its names."""
        return next((override for pattern, override in self.risk.items() if _fits(names, (pattern,))), None)


class OAuthSettings(SettingsModel):
    """Clients bring access tokens of an authorization server, which are checked here (OAuth 2.1 resource server)."""

    issuer: Annotated[str, Field(pattern=r"^https?://", max_length=500)]
    """Who gives the tokens out, exactly as they say it in `iss`."""
    resource: Annotated[str, Field(pattern=r"^https?://", max_length=500)]
    """What this gateway is called; only tokens whose `aud` says so are taken."""
    jwks: Annotated[str, Field(min_length=1, max_length=4096)]
    """The issuer's keys: a file, as seen from the configuration, or a URL."""
    network: NetGrant | None = None
    """What may be reached for the keys; without one, what their URL names."""
    required_scopes: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = ()
    """Scopes that every token needs."""
    principal_claim: Annotated[str, Field(min_length=1, max_length=100)] = "sub"
    """The claim that says who it is."""
    algorithms: tuple[Literal["RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "EdDSA"], ...] = (
        "RS256",
        "ES256",
        "EdDSA",
    )
    """How tokens may be signed."""


class HttpFront(SettingsModel):
    """Where the gateway listens for clients that come over HTTP."""

    host: Annotated[str, AfterValidator(_host)] = "127.0.0.1"
    """The name or address to listen on."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8765
    """The port; 0 takes any that is free."""
    allowed_hosts: tuple[Annotated[str, Field(min_length=1, max_length=300)], ...] = ()
    """Names and addresses, without a port, that a request may be for, beside those of this machine itself."""
    allowed_origins: tuple[Origin, ...] = ()
    """Web pages that may send requests, beside those of the hosts that are allowed."""
    max_body_bytes: Annotated[int, Field(ge=64 * 1024, le=256 * MEGABYTE)] = 4 * MEGABYTE
    """Of one request."""
    requests_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """How many requests one principal may send, or without principals one address; without a number, any."""
    unauthenticated_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] | None = 600
    """How many requests without a known token one address may send, where clients authenticate; `null` is any."""
    max_sessions: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """How many sessions are open at once."""
    max_principal_sessions: Annotated[int, Field(ge=1, le=1_000_000)] = 250
    """Of one principal. Beyond it, that of its sessions which has been unused for longest ends."""
    max_requests: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """How many requests are worked on at once, streams of changes included."""
    max_principal_requests: Annotated[int, Field(ge=1, le=1_000_000)] = 250
    """Of one principal."""
    max_address_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """How many connections one address may have open. Beyond it, the one that has been idle for longest is closed."""
    oauth: OAuthSettings | None = None
    """Whose access tokens are taken; for `--auth oauth`."""


class GatewayLimits(SettingsModel):
    """How much the gateway takes from its servers."""

    max_message_bytes: Annotated[int, Field(ge=64 * 1024, le=256 * MEGABYTE)] = 16 * MEGABYTE
    """Of one message of a server."""
    max_tools: Annotated[int, Field(ge=1, le=100_000)] = 10_000
    """Of one server."""
    max_concurrent_calls: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Of one server, unless it has a number of its own: one that hangs takes no room from the others."""


class ArtifactSettings(SettingsModel):
    """How long results that are too large to send are kept, and how much room they take."""

    ttl: Annotated[float, Field(ge=60, le=30 * 86_400)] = 86_400
    """In seconds."""
    max_bytes: Annotated[int, Field(ge=MEGABYTE, le=256 * MEGABYTE)] = 64 * MEGABYTE
    """Of one."""
    max_owner_bytes: Annotated[int, Field(ge=MEGABYTE)] = 256 * MEGABYTE
    """Of all that belong to one client's user."""
    max_owner_count: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """How many one client's user may have."""
    max_total_bytes: Annotated[int, Field(ge=MEGABYTE)] = 4096 * MEGABYTE
    """Of all together."""


class AuditSettings(SettingsModel):
    """What is written down about calls; never what is in them, unless that is asked for."""

    enabled: bool = True
    """Whether calls are written down at all."""
    arguments: bool = False
    """Whether their arguments are, too, with what looks like a secret taken out."""
    on_failure: Literal["refuse-writes", "refuse-all", "continue"] = "refuse-writes"
    """What happens to calls while the audit cannot be written: those that may change something are refused, or all.

    With `continue` all run, and what does not fit into memory until it can be written again is only counted.
    """


class GatewaySettings(SettingsModel):
    """How the gateway itself behaves, and how it treats its servers."""

    mode: Literal["gateway", "proxy", "transparent"] = "gateway"
    """What clients see of the servers."""
    http: HttpFront | None = None
    """Without one the gateway speaks only stdio."""
    call_timeout: Seconds = 60
    """How long a call may take, in seconds, unless its server has a `timeout`."""
    start: StartWhen = "lazy"
    """When servers start: at their first call where their tools are known from an earlier start, or with the gateway.

    A server whose tools are not known starts with the gateway in any case.
    """
    idle_stop: IdleSeconds | None = 1_800
    """Seconds without a call after which a server is stopped until the next one; `null` or 0 is never."""
    limits: GatewayLimits = GatewayLimits()
    """How much is taken from servers."""
    cache_stable: bool = False
    """Whether a client gets the tools that it has seen or run first and unchanged, for the sake of its prompt cache."""
    browse_limit: Annotated[int, Field(ge=5, le=50)] = 8
    """How many tools a search shows when the client names no number."""
    whole_tokens: Annotated[int, Field(ge=200, le=100_000)] = 4_000
    """A result of at most this many tokens is passed on unchanged; a larger one is stored, and summarised."""
    summary_tokens: Annotated[int, Field(ge=350, le=4_000)] = 375
    """What stands in place of a larger one has at most so many."""
    view_tokens: Annotated[int, Field(ge=200, le=8_000)] = 1_500
    """How many tokens one answer of `tool_view` may have."""
    artifacts: ArtifactSettings = ArtifactSettings()
    """How results that are too large to send are kept."""
    pins: Literal["first-use", "locked", "off"] | None = None
    """What a tool is compared with: its definition at first use, or the lock file. A server may have its own `pins`.

    Without a value: `locked` if `toolcrib.lock.json` lies beside the configuration, else `first-use`.
    """
    policy: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    """The policy file, as seen from the configuration; without one, `toolcrib.policy.toml` beside it."""
    approvals: Literal["gateway", "client"] = "gateway"
    """Who asks before a tool runs that may do harm: the gateway, or a client that asks for each call by itself.

    With `client`, what the policy asks about by risk runs. Rules that ask or deny, pins and the scan hold nevertheless.
    """
    execute: Literal["one", "by-risk"] = "one"
    """Whether tools are run through `tool_execute`, or through one tool each for reading, writing and destroying."""
    redact: Literal["configured", "known-formats"] = "configured"
    """What is taken out of results: the secrets of this configuration, or whatever has the form of a secret, too."""
    audit: AuditSettings = AuditSettings()
    """What is written down about calls."""
    inherit_env: tuple[EnvPattern, ...] = ()
    """Variables of toolcrib's environment that every local server gets beside the usual ones: names, patterns such as
    `AWS_*`, or `*`."""
    servers: Annotated[Mapping[str, ServerSettings], AfterValidator(FrozenDict)] = FrozenDict()
    """How single servers are treated, by the server's name."""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _fits(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
