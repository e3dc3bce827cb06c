"""The two ways to reach a server, in whatever form their texts are: as written, ready for use, or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

from toolcrib_core.json_values import FrozenDict, pointer_join

TextT = TypeVar("TextT")
OtherT = TypeVar("OtherT")


@dataclass(frozen=True, kw_only=True)
class StdioTransport(Generic[TextT]):
    """A program that is started, and spoken to through its standard input and output."""

    kind: ClassVar[Literal["stdio"]] = "stdio"
    command: TextT
    args: tuple[TextT, ...] = ()
    env: Mapping[str, TextT] = field(default_factory=FrozenDict)
    cwd: TextT | None = None

    def texts(self) -> Iterator[tuple[str, TextT]]:
        """Every text with its place, a JSON pointer from the entry on."""
        yield "/command", self.command
        yield from ((f"/args/{index}", text) for index, text in enumerate(self.args))
        yield from ((pointer_join("/env", name), text) for name, text in self.env.items())
        if self.cwd is not None:
            yield "/cwd", self.cwd

    def map(self, change: Callable[[str, TextT], OtherT]) -> StdioTransport[OtherT]:
        """The same with every text changed; `change` gets the place and the text."""
        return StdioTransport(
            command=change("/command", self.command),
            args=tuple(change(f"/args/{index}", text) for index, text in enumerate(self.args)),
            env=FrozenDict({name: change(pointer_join("/env", name), text) for name, text in self.env.items()}),
            cwd=None if self.cwd is None else change("/cwd", self.cwd),
        )


@dataclass(frozen=True, kw_only=True)
class HttpTransport(Generic[TextT]):
    """A server that is reached over HTTP."""

    kind: ClassVar[Literal["http"]] = "http"
    url: TextT
    headers: Mapping[str, TextT] = field(default_factory=FrozenDict)
    protocol: Literal["streamable-http", "sse"] | None = field(default=None, compare=False)
    """Which transport the file names; without one, streamable HTTP, or SSE where the server refuses that."""

    def texts(self) -> Iterator[tuple[str, TextT]]:
        """Every text with its place, a JSON pointer from the entry on."""
        yield "/url", self.url
        yield from ((pointer_join("/headers", name), text) for name, text in self.headers.items())

    def map(self, change: Callable[[str, TextT], OtherT]) -> HttpTransport[OtherT]:
        """The same with every text changed; `change` gets the place and the text."""
        headers = {name: change(pointer_join("/headers", name), text) for name, text in self.headers.items()}
        return HttpTransport(url=change("/url", self.url), headers=FrozenDict(headers), protocol=self.protocol)


Transport: TypeAlias = StdioTransport[TextT] | HttpTransport[TextT]
