"""Ways to be wrong, one each: what a lossy proxy would do, done by the server itself, to see that the suite notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from mcp.server.context import ServerMiddleware
from pydantic import BaseModel

Next: TypeAlias = Callable[[Any], Awaitable[Any]]


def _changing(change: Callable[[dict[str, Any]], None]) -> ServerMiddleware[Any]:
    """Every result as a plain object, after a change."""

    async def mutate(ctx: Any, call_next: Next) -> Any:
        result = await call_next(ctx)
        if isinstance(result, BaseModel):
            result = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        if isinstance(result, dict):
            change(result)
        return result

    return mutate


def _hide_errors(result: dict[str, Any]) -> None:
    if result.get("isError"):
        result["isError"] = False


def _without(kind: str) -> Callable[[dict[str, Any]], None]:
    def drop(result: dict[str, Any]) -> None:
        blocks = result.get("content")
        if isinstance(blocks, list) and [block.get("type") for block in blocks] == [kind]:
            result["content"] = [{"type": "text", "text": f"({kind})"}]

    return drop


def _without_freshness(result: dict[str, Any]) -> None:
    if "resourceTemplates" in result:
        result.pop("ttlMs", None)


def _one_state(result: dict[str, Any]) -> None:
    requests = result.get("inputRequests")
    if isinstance(requests, dict) and "step2" in requests:
        result.pop("requestState", None)


async def _without_progress(ctx: Any, call_next: Next) -> Any:
    async def silence(*_: object, **__: object) -> None:
        return None

    session = ctx.session
    if ctx.method == "tools/call":
        session = _Silent(session, report_progress=silence)
    return await call_next(dataclasses.replace(ctx, session=session))


class _Silent:
    """A session with some of its methods replaced."""

    def __init__(self, session: object, **replaced: object) -> None:
        self._session = session
        self._replaced = replaced

    def __getattr__(self, name: str) -> object:
        return self._replaced.get(name) or getattr(self._session, name)


MUTATIONS: Final[Mapping[str, ServerMiddleware[Any]]] = MappingProxyType(
    {
        "hides-errors": _changing(_hide_errors),
        "drops-images": _changing(_without("image")),
        "drops-audio": _changing(_without("audio")),
        "drops-freshness": _changing(_without_freshness),
        "drops-progress": _without_progress,
        "drops-request-state": _changing(_one_state),
    }
)
