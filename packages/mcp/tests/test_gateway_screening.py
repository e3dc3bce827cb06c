"""The screen over any result: what passes is small, and what is large is kept."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from gateway_cases import gatewayed, text_block, tokens_sent
from gateway_samples import (
    ANYBODY,
    ECHO,
    LOG,
    PROSE,
    answering,
    image,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core import count_tokens
from toolcrib_mcp.firewall import ContentKind
from toolcrib_mcp.front import Caller
from toolcrib_mcp.gateway import GatewayBehaviour
from toolcrib_mcp.gateway.parts import Part, take_apart
from toolcrib_mcp.gateway.screening import Screen
from toolcrib_mcp.gateway.shelf import Shelf
from toolcrib_mcp.gateway.sizing import is_surely_small, tokens_of
from toolcrib_mcp.gateway.telling import digest, tell_kept
from toolcrib_store import ArtifactInfo, NewArtifact

texts = st.text(max_size=300).flatmap(lambda text: st.integers(1, 40).map(lambda times: text * times))
blocks = st.lists(
    st.builds(text_block, texts)
    | st.builds(image, st.binary(max_size=40))
    | st.fixed_dictionaries({"type": st.text(max_size=9), "x": texts})
    | st.builds(lambda uri, text: {"type": "resource", "resource": {"uri": uri, "text": text}}, texts, texts)
    | st.integers(),
    max_size=8,
)


@pytest.mark.req("GW-4.5", "GW-7.3")
@settings(max_examples=60)
@given(content=blocks, structured=st.none() | st.dictionaries(st.text(max_size=9), texts, max_size=4))
async def test_whatever_is_sent_is_small_and_whatever_is_large_is_kept(content: list[Any], structured: Any) -> None:
    kept: list[NewArtifact] = []

    class MemoryShelf:
        async def put_all(self, every: list[NewArtifact], *, caller: Caller) -> Any:
            kept.extend(every)
            return [_info(each) for each in every]

    result = {"content": content} | ({} if structured is None else {"structuredContent": structured})
    screen = Screen(MemoryShelf(), whole_tokens=300, summary_tokens=400)  # type: ignore[arg-type]  # all that is used

    executed = await screen.screened(result, tool_id="a:b@1", caller=ANYBODY, repeatable=True)

    if executed.envelope is None:
        assert executed.result is result
        assert tokens_of(result) <= 300
        assert not kept
    else:
        assert tokens_sent(executed.result) <= 400
        assert kept


@given(content=blocks)
def test_taking_a_result_apart_loses_no_text(content: list[Any]) -> None:
    apart = take_apart({"content": content}, beside=112)

    everything = json.dumps(apart.blocks) + "".join(each.content.decode("utf-8", "replace") for each in apart.parts)
    for block in content:
        if isinstance(block, dict) and block["type"] == "text":
            text = block["text"]
            assert (
                text in everything
                or json.dumps(text) in everything
                or json.dumps(text, ensure_ascii=False) in everything
            )


@given(text=st.text(max_size=500))
def test_what_is_said_to_be_small_without_counting_is(text: str) -> None:
    result = {"content": [text_block(text)]}

    assert is_surely_small(result, limit=100) in {None, count_tokens(text) <= 100}


def _info(new: NewArtifact) -> Any:
    handle = "art_" + base64.b32encode(new.digest).decode().lower()[:16]
    return ArtifactInfo(
        handle=handle,
        size=len(new.content),
        media_type=new.media_type,
        kind=new.kind,
        source=new.source,
        facts=new.facts,
        created_at=0,
        expires_at=1,
    )


@pytest.mark.req("GW-4.5")
@pytest.mark.parametrize("budget", [400, 300, 250])
def test_summaries_give_way_until_all_that_is_told_fits(budget: int) -> None:
    parts = [
        Part(label=f"resource file:///{'x' * 70}", content=LOG.encode(), media_type="text/plain", kind=ContentKind.LOG),
        Part(label="text", content=PROSE.encode(), media_type="text/plain", kind=ContentKind.PROSE),
    ]
    digested = digest(parts, budget=700, passing=0)
    kept = [_info(NewArtifact(content=each.content, media_type="", kind=each.kind, source="")) for each in parts]

    told = tell_kept(digested, kept, index=None, budget=budget)

    assert count_tokens(told) <= budget
    assert all(each.handle in told for each in kept)


def test_of_many_parts_at_least_one_is_named_however_little_room_there_is() -> None:
    part = Part(label="text", content=LOG.encode(), media_type="text/plain", kind=ContentKind.LOG)

    assert digest([part] * 9, budget=100, passing=0).named == 1
    assert digest([part] * 9, budget=300, passing=0).named == 2
    assert digest([part] * 3, budget=400, passing=0).named == 3


async def test_what_is_brief_passes_even_where_the_threshold_is_lower() -> None:
    screen = Screen(Shelf(None), whole_tokens=10, summary_tokens=400)  # type: ignore[arg-type]  # nothing is kept
    result = {"content": [text_block("Some words that are more than ten tokens, but not by very much at all.")]}

    executed = await screen.screened(result, tool_id="a:b@1", caller=ANYBODY, repeatable=True)

    assert executed.result is result


@pytest.mark.parametrize(("words", "is_whole"), [(4_900, True), (5_100, False)])
async def test_a_high_threshold_is_counted_as_exactly(tmp_path: Path, words: int, *, is_whole: bool) -> None:
    behaviour = GatewayBehaviour(whole_tokens=5_000)
    server = answering({"content": [text_block(" word" * words)]})
    async with gatewayed({"box": server}, file=tmp_path / "a.db", behaviour=behaviour) as case:
        executed = await case.gateway.execute(ECHO)

    assert (executed.envelope is None) is is_whole
