"""What a tool may know about the run it is part of, without anything that belongs to running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self


class Logger(Protocol):
    """The part of `logging.Logger` that tools use."""

    def debug(self, msg: str, *args: object) -> None: ...
    def info(self, msg: str, *args: object) -> None: ...
    def warning(self, msg: str, *args: object) -> None: ...
    def error(self, msg: str, *args: object) -> None: ...


class Span(Protocol):
    """One timed piece of work in a trace; the shape is OpenTelemetry's."""

    def set_attribute(self, key: str, value: str | bool | int | float) -> None: ...
    def record_exception(self, exception: BaseException) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


class Tracer(Protocol):
    """Starts spans."""

    def start_as_current_span(self, name: str) -> Span: ...


@dataclass(frozen=True, kw_only=True)
class Principal:
    """A user or a tenant, as far as tools need to know it."""

    id: str
    name: str | None = None
    roles: frozenset[str] = frozenset()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ToolContext:
    """Who asks, in which run, until when. Every part is optional; the runtime extends it with what running needs."""

    run_id: str | None = None
    request_id: str | None = None
    user: Principal | None = None
    tenant: Principal | None = None
    logger: Logger | None = None
    tracer: Tracer | None = None
    deadline: float | None = None
    """A reading of `time.monotonic()` after which nobody waits for the answer."""
