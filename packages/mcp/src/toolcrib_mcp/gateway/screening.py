"""The firewall between tools and a model: small results pass untouched, large ones are kept and told of in short."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ResultTooLarge
from toolcrib_mcp.firewall import ContentKind, summarise
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.gateway.envelope import META_ENVELOPE, ExecuteResult, KeptPart, ResultEnvelope
from toolcrib_mcp.gateway.parts import Part, TakenApart, take_apart, take_meta
from toolcrib_mcp.gateway.shelf import Shelf
from toolcrib_mcp.gateway.sizing import is_surely_small, tokens_of, utf8
from toolcrib_mcp.gateway.telling import Digested, digest, selectors_of, tell_kept, tell_lost
from toolcrib_mcp.relay.questions import asks
from toolcrib_mcp.rpc.codec import json_text
from toolcrib_store import ArtifactInfo, NewArtifact, QuotaExceeded, StoreError

# Beyond it, counting takes longer than handing the work to a thread.
_COUNTED_AT_ONCE = 4_000
_JSON = "application/json"


class Screen:
    """Looks at every result before a model does.

    Without a shelf nothing can be kept, and every result passes as it is.
    """

    def __init__(self, shelf: Shelf | None, *, whole_tokens: int, summary_tokens: int) -> None:
        self._shelf = shelf
        self._whole = whole_tokens
        self._summary = summary_tokens

    async def screened(
        self, result: dict[str, Any], *, tool_id: str, caller: Caller, repeatable: bool
    ) -> ExecuteResult:
        """The result as it is if it is small, or asks the client something; else what stands in its place.

        `repeatable` is whether making the call again would do no harm. A result that cannot be kept is not lost in
        silence: what is sent says so, with as much of a summary as a whole result may have.

        Raises:
            ResultTooLarge: The result is nested too deeply to be written down.
        """
        if self._shelf is None:
            return ExecuteResult(tool_id=tool_id, result=result)
        try:
            if _only_asks(result) or await self._is_small(result):
                apart = take_meta(result)
            else:
                apart = await asyncio.to_thread(take_apart, result, beside=self._summary * 28 // 100)
        except TypeError:
            raise _too_deep(tool_id) from None
        if apart is None or not apart.parts:
            return ExecuteResult(tool_id=tool_id, result=result)
        budget = self._summary - apart.beside_tokens
        digested = await asyncio.to_thread(digest, apart.parts, budget=budget, passing=len(apart.blocks))
        try:
            kept, index = await self._keep(self._shelf, digested, tool_id=tool_id, caller=caller)
        except (QuotaExceeded, StoreError) as problem:
            retryable = problem.retryable and repeatable
            lost = await asyncio.to_thread(
                tell_lost, digested, problem=problem, retryable=retryable, budget=self._whole - apart.beside_tokens
            )
            return _answer(apart, lost, digested, tool_id=tool_id, problem=problem, retryable=retryable)
        told = await asyncio.to_thread(tell_kept, digested, kept, index=index, budget=budget)
        return _answer(apart, told, digested, tool_id=tool_id, kept=kept, index=index)

    async def _is_small(self, result: Mapping[str, Any]) -> bool:
        small = is_surely_small(result, limit=self._whole)
        if small is not None:
            return small
        if self._whole <= _COUNTED_AT_ONCE:
            return tokens_of(result) <= self._whole
        return await asyncio.to_thread(tokens_of, result) <= self._whole

    async def _keep(
        self, shelf: Shelf, digested: Digested, *, tool_id: str, caller: Caller
    ) -> tuple[list[ArtifactInfo], ArtifactInfo | None]:
        new = [
            _new(part, summary.facts, tool_id=tool_id)
            for part, summary in zip(digested.parts, digested.summaries, strict=True)
        ]
        kept = await shelf.put_all(new, caller=caller)
        if len(kept) == digested.named:
            return kept, None
        index = await asyncio.to_thread(_index_of, digested.parts, kept, tool_id)
        return kept, (await shelf.put_all([index], caller=caller))[0]


def _only_asks(result: Mapping[str, Any]) -> bool:
    # A server of the older era may say that it asks, which means nothing, and send anything with it.
    return asks(result) and "content" not in result and "structuredContent" not in result


def _new(part: Part, facts: Mapping[str, Any], *, tool_id: str) -> NewArtifact:
    return NewArtifact(
        content=part.content, media_type=part.media_type, kind=part.kind.value, source=tool_id, facts=dict(facts)
    )


def _index_of(parts: Sequence[Part], kept: Sequence[ArtifactInfo], tool_id: str) -> NewArtifact:
    rows = [
        {"part": number, "handle": info.handle, "kind": info.kind, "mediaType": info.media_type, "size": info.size}
        | {"label": part.label}
        for number, (part, info) in enumerate(zip(parts, kept, strict=True), start=1)
    ]
    content = utf8(json_text(rows))
    facts = summarise(content, ContentKind.RECORDS, media_type=_JSON).facts
    return NewArtifact(content=content, media_type=_JSON, kind=ContentKind.RECORDS.value, source=tool_id, facts=facts)


def _answer(
    apart: TakenApart,
    text: str,
    digested: Digested,
    *,
    tool_id: str,
    kept: Sequence[ArtifactInfo] = (),
    index: ArtifactInfo | None = None,
    problem: ToolError | None = None,
    retryable: bool | None = None,
) -> ExecuteResult:
    envelope = ResultEnvelope(
        status="error" if apart.fields.get("isError") is True else "ok",
        tool_id=tool_id,
        summary=text,
        artifacts=tuple(_kept_part(digested, place, info) for place, info in enumerate(kept[: digested.named])),
        parts=len(digested.parts),
        index=None if index is None else index.handle,
        total_bytes=sum(len(each.content) for each in digested.parts),
        problem=None if problem is None else problem.message,
        retryable=retryable,
    )
    theirs = apart.fields.get("_meta")
    meta = {**(theirs if isinstance(theirs, Mapping) else {}), META_ENVELOPE: envelope.to_json()}
    result = {**apart.fields, "content": [{"type": "text", "text": text}, *apart.blocks], "_meta": meta}
    return ExecuteResult(tool_id=tool_id, result=result, envelope=envelope)


def _kept_part(digested: Digested, place: int, info: ArtifactInfo) -> KeptPart:
    part, facts = digested.parts[place], digested.summaries[place].facts
    return KeptPart(
        handle=info.handle,
        label=part.label,
        kind=info.kind,
        media_type=info.media_type,
        size=info.size,
        facts=facts,
        selectors=selectors_of(part, facts, info),
    )


def _too_deep(tool_id: str) -> ResultTooLarge:
    return ResultTooLarge(
        f"The result of {quoted(tool_id)} is nested too deeply to be sent or kept.",
        hint="The tool answered; ask it for a smaller part.",
        details={"tool": tool_id},
    )
