"""Results that are too much: too large, too many, too deep, not Unicode, or without room to keep them."""

from __future__ import annotations

import base64
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from gateway_cases import HANDLE, envelope_of, gatewayed, text_block, tokens_sent
from gateway_samples import (
    ANYBODY,
    ECHO,
    LARGE,
    LOCAL,
    LOG,
    PNG,
    answering,
    every_part,
    handles_in,
    image,
    read_all,
    screened,
)
from relay_cases import failure_of
from scripted_servers import ScriptedServer

from toolcrib_core import ToolError
from toolcrib_mcp.errors import ResultTooLarge
from toolcrib_mcp.front import Caller
from toolcrib_mcp.gateway.parts import MAX_META_BYTES, MAX_PARTS
from toolcrib_mcp.gateway.screening import Screen
from toolcrib_mcp.rpc import RpcError
from toolcrib_store import ArtifactLimits, NewArtifact, StoreBusy


@pytest.mark.slow
@pytest.mark.req("GW-4.5", "GW-7.4")
async def test_ten_thousand_pictures_are_told_in_short_and_each_can_be_reached(tmp_path: Path) -> None:
    pictures = [image(PNG + number.to_bytes(4, "big")) for number in range(10_000)]
    async with gatewayed({"box": answering({"content": pictures})}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        index = envelope_of(sent)["index"]
        row = await case.view(index, type="rows", where=[{"column": "part", "op": "=", "value": MAX_PARTS}])
        (handle,) = re.findall(HANDLE, row["content"][0]["text"])
        alone = await case.view(handle, type="raw")
        row = await case.view(index, type="rows", where=[{"column": "part", "op": "=", "value": MAX_PARTS + 1}])
        (handle,) = re.findall(HANDLE, row["content"][0]["text"])
        together = json.loads(await read_all(case, handle))

    assert tokens_sent(sent) <= 400
    assert sent["content"][1:] == pictures[:4]
    assert alone["content"][1] == pictures[MAX_PARTS + 3]
    assert together == pictures[MAX_PARTS + 4 :]


@pytest.mark.fault("K18")
async def test_a_result_of_ten_thousand_parts_leaves_room_for_the_results_of_others(tmp_path: Path) -> None:
    pictures = [image(PNG + number.to_bytes(4, "big")) for number in range(10_000)]
    logs = [text_block("\n".join(f"{number} line {line}" for line in range(200))) for number in range(MAX_PARTS * 2)]
    servers = {
        "box": answering({"content": pictures}),
        "crate": answering({"content": logs}),
        "good": answering({"content": [text_block("word " * 20_000)]}),
    }
    async with gatewayed(servers, file=tmp_path / "a.db") as case:
        assert case.artifacts is not None
        await case.execute("box__echo")
        await case.execute("crate__echo")
        used = len(case.artifacts.list(owner=LOCAL))
        after = await case.execute("good__echo")

    assert used <= 2 * (MAX_PARTS + 3)
    assert handles_in(after)


@pytest.mark.fault("K18")
@pytest.mark.parametrize("is_error", [False, True])
async def test_a_huge_meta_is_kept_and_the_small_result_beside_it_passes(tmp_path: Path, *, is_error: bool) -> None:
    content = [text_block("All is well. " * 20)]
    result = {"content": content, "structuredContent": {"is": "well"}, "isError": is_error}
    huge = {"note": "x" * MAX_META_BYTES}
    async with gatewayed({"box": answering({**result, "_meta": huge})}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        (kept,) = await every_part(case, sent)

    assert sent["content"][1:] == content
    assert {name: sent[name] for name in ("structuredContent", "isError")} == {
        "structuredContent": {"is": "well"},
        "isError": is_error,
    }
    assert len(json.dumps(sent["_meta"])) < 4_096
    assert json.loads(kept) == huge


@pytest.mark.fault("K18")
async def test_a_meta_that_is_not_huge_passes_with_a_small_result(tmp_path: Path) -> None:
    result = {"content": [text_block("All is well.")], "_meta": {"note": "x" * (MAX_META_BYTES // 2)}}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)

    assert sent["_meta"]["note"] == result["_meta"]["note"]


@pytest.mark.fault("F7")
async def test_json_nested_5000_deep_is_kept_and_told(tmp_path: Path) -> None:
    deep = "[" * 5_000 + "]" * 5_000
    async with gatewayed({"box": answering({"content": [text_block(deep)]})}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        (handle,) = handles_in(sent)
        seen = await case.view(handle, type="head", chars=100)

    assert tokens_sent(sent) <= 400
    assert "[[[[" in seen["content"][0]["text"]


@pytest.mark.fault("F7")
@pytest.mark.parametrize("field", ["content", "structuredContent", "novel"])
async def test_a_result_that_is_nested_too_deeply_to_be_written_down_is_a_clear_error(
    tmp_path: Path, field: str
) -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = [deep] if field == "content" else {"a": deep}

    error = await failure_of(screened({field: deep}, tmp_path / "a.db"), ToolError)

    assert isinstance(error, ResultTooLarge)
    assert "nested too deeply" in error.message


async def test_what_is_not_unicode_is_kept_and_told(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(60_000)
    blob = {
        "type": "resource",
        "resource": {"uri": "x:", "mimeType": "text/plain", "blob": base64.b64encode(noise).decode()},
    }
    result = {"content": [text_block("caf\udce9 \ud800" * 2_000), blob]}

    sent, (text, binary) = await screened(result, tmp_path / "a.db")

    assert binary == noise
    assert "�" in text.decode()
    assert tokens_sent(sent) <= 400


@pytest.mark.slow
async def test_a_result_of_50_megabytes_is_told_in_short(tmp_path: Path) -> None:
    lines = io.StringIO()
    for number in range(700_000):
        lines.write(f"2026-01-01T00:00:00Z INFO request {number} took {number % 977} ms and went well\n")
    text = lines.getvalue()
    async with gatewayed({"box": answering({"content": [text_block(text)]})}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        seen = await case.view(handles_in(sent)[0], type="tail", lines=2)

    assert len(text) > 45_000_000
    assert tokens_sent(sent) <= 400
    assert "request 699999" in seen["content"][0]["text"]


@pytest.mark.req("GW-7.4")
@pytest.mark.fault("G7")
async def test_a_result_that_there_is_no_room_for_is_not_lost_in_silence(tmp_path: Path) -> None:
    limits = ArtifactLimits(max_owner=10_000)
    async with gatewayed(
        {"box": answering({"content": LARGE["records"]})}, file=tmp_path / "a.db", limits=limits
    ) as case:
        sent = await case.execute(ECHO)
        executed = await case.gateway.execute(ECHO)

    text = sent["content"][0]["text"]
    assert "isError" not in sent
    assert "could not be stored" in text
    assert "500 records" in text
    assert envelope_of(sent)["artifacts"] == []
    assert envelope_of(sent)["retryable"] is False
    assert text.splitlines()[0].endswith("Ask it for less.")
    assert executed.envelope is not None
    assert executed.envelope.problem is not None
    assert tokens_sent(sent) <= 1_000


class BusyShelf:
    """A shelf whose database somebody else holds."""

    async def put_all(self, every: list[NewArtifact], *, caller: Caller) -> Any:
        raise StoreBusy("Somebody else has been writing for too long.")


@pytest.mark.fault("G7")
@pytest.mark.parametrize("repeatable", [True, False])
async def test_a_call_may_be_repeated_only_if_that_does_no_harm(*, repeatable: bool) -> None:
    screen = Screen(BusyShelf(), whole_tokens=1_000, summary_tokens=400)  # type: ignore[arg-type]  # all that is used

    executed = await screen.screened({"content": LARGE["log"]}, tool_id="a:b@1", caller=ANYBODY, repeatable=repeatable)

    assert envelope_of(executed.result)["retryable"] is repeatable
    assert ("Call the tool again later" in executed.text) is repeatable


async def test_without_a_store_every_result_comes_back_as_it_is() -> None:
    result = {"content": LARGE["log"]}
    async with gatewayed({"box": answering(result)}) as case:
        assert await case.execute(ECHO) == result


@pytest.mark.req("GW-6.6")
async def test_a_large_error_of_a_server_is_kept_like_a_result(tmp_path: Path) -> None:
    server = ScriptedServer(**{"tools/call": RpcError(-32000, "It broke.", {"trace": LOG})})
    async with gatewayed({"box": server}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        kept = json.loads(await read_all(case, handles_in(sent)[0]))

    assert sent["isError"] is True
    assert kept["details"]["rpcData"] == {"trace": LOG}
    assert tokens_sent(sent) <= 400


async def test_a_result_that_asks_and_sends_as_well_is_no_way_past_the_screen(tmp_path: Path) -> None:
    result = {"content": LARGE["log"], "resultType": "input_required"}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)

    assert tokens_sent(sent) <= 400
