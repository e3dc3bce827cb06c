"""What becomes of results: small ones pass untouched, large ones are kept and told of in a few hundred tokens."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from gateway_cases import SdkTools, envelope_of, gatewayed, text_block, tokens_sent
from gateway_samples import (
    CSV,
    ECHO,
    LARGE,
    LOG,
    PNG,
    PROSE,
    ROWS,
    answering,
    every_part,
    handles_in,
    image,
    read_all,
)
from relay_servers import EVERY_BLOCK

from toolcrib_mcp.gateway import GatewayBehaviour


@pytest.mark.req("GW-7.3", "GW-4.5", "D4-4.2e")
@pytest.mark.parametrize(
    "result",
    [
        EVERY_BLOCK,
        {"content": []},
        {"content": "odd"},
        {"echo": 1},
        {"content": [text_block("x " * 900)]},
        {"content": [text_block("No such repository.")], "isError": True},
        {"content": [image(PNG)] * 4},
        {"content": [text_block('{"a":1}')], "structuredContent": {"a": 1}},
    ],
)
async def test_a_small_result_comes_back_as_it_was_sent(tmp_path: Path, result: Any) -> None:
    # In the reference 18 tokens become 266.
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        assert await case.execute(ECHO) == result


@pytest.mark.req("GW-7.3", "CL-6")
@pytest.mark.parametrize("words", [3_960, 4_000])
async def test_up_to_the_threshold_nothing_is_added(tmp_path: Path, words: int) -> None:
    result = {"content": [text_block(" word" * words)]}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        assert await case.execute(ECHO) == result


@pytest.mark.req("GW-7.3")
async def test_one_token_above_the_threshold_is_kept(tmp_path: Path) -> None:
    result = {"content": [text_block(" word" * 4_001)]}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)

    assert len(handles_in(sent)) == 1


@pytest.mark.req("GW-4.5", "GW-7.3", "D4-4.2d")
@pytest.mark.parametrize("kind", LARGE)
async def test_a_large_result_is_told_in_400_tokens_with_a_call_that_shows_more(tmp_path: Path, kind: str) -> None:
    async with gatewayed({"box": answering({"content": LARGE[kind]})}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        (call,) = re.findall(r"^tool_view (\{.*?\}); also", sent["content"][0]["text"], re.MULTILINE)
        seen = await case.call("tool_view", json.loads(call))

    assert tokens_sent(sent) <= 400
    assert envelope_of(sent)["artifacts"][0]["kind"] == kind
    assert json.loads(call)["handle"] == handles_in(sent)[0]
    assert "isError" not in seen
    assert seen["content"][0]["text"]


@pytest.mark.req("GW-4.5")
async def test_the_failure_of_a_tool_stays_one_when_it_is_large(tmp_path: Path) -> None:
    async with gatewayed(
        {"box": answering({"content": LARGE["log"], "isError": True})}, file=tmp_path / "a.db"
    ) as case:
        sent = await case.execute(ECHO)
        executed = await case.gateway.execute(ECHO)

    assert sent["isError"] is True
    assert executed.is_error
    assert executed.envelope is not None
    assert executed.envelope.status == "error"


@pytest.mark.req("GW-4.5", "GW-9.3", "D4-4.2e")
async def test_a_program_gets_an_envelope_with_facts_and_handles(tmp_path: Path) -> None:
    async with gatewayed({"box": answering({"content": LARGE["records"]})}, file=tmp_path / "a.db") as case:
        executed = await case.gateway.execute(ECHO)
        assert executed.envelope is not None
        seen = await case.gateway.view(executed.envelope.artifacts[0].handle, {"type": "pointer", "pointer": "/7/name"})

    (part,) = executed.envelope.artifacts
    told = executed.envelope.to_json()
    assert (executed.envelope.status, executed.envelope.parts, executed.envelope.index) == ("ok", 1, None)
    assert (part.kind, part.size) == ("records", len(json.dumps(ROWS)))
    assert part.facts
    assert executed.envelope.summary == executed.text
    assert told["artifacts"][0]["mediaType"] == "text/plain"
    assert "row 7" in seen.text


@pytest.mark.req("CL-6")
@pytest.mark.parametrize(
    "structured",
    [{"result": " word" * 3_900}, {"content": " word" * 3_900}, {"content": [text_block(" word" * 3_900)]}],
)
async def test_what_a_server_sends_twice_counts_once(tmp_path: Path, structured: Any) -> None:
    result = {"content": [text_block(" word" * 3_900)], "structuredContent": structured}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        executed = await case.gateway.execute(ECHO)

    assert executed.envelope is None
    assert executed.result == result


@pytest.mark.req("GW-7.3", "CL-6")
@pytest.mark.parametrize(
    ("content", "structured", "kept"),
    [
        ([text_block(json.dumps({"items": ROWS}))], {"items": ROWS}, 1),
        ([text_block(json.dumps(ROWS))], {"result": ROWS}, 1),
        ([text_block(PROSE)], {"result": PROSE}, 1),
        ([text_block(json.dumps(each)) for each in ROWS], {"result": ROWS}, 1),
        ([text_block(f"line {n}") for n in range(2_000)], {"result": [f"line {n}" for n in range(2_000)]}, 1),
        ([text_block(PROSE)], {"content": PROSE}, 1),
        ([text_block(f"{PROSE}\n")], {"content": PROSE}, 1),
        ([text_block(json.dumps(ROWS, indent=2))], {"items": ROWS}, 1),
        ([text_block("x")], {"content": [text_block("x")] * 999}, 1),
        ([text_block(PROSE)] * 2, {"content": [text_block(PROSE)] * 2}, 2),
        ([text_block(PROSE)], {"content": PROSE, "size": 1}, 2),
        ([text_block(PROSE)], {"items": ROWS}, 2),
        ([text_block(PROSE), text_block(PROSE)], {"result": ROWS}, 3),
        ([], {"items": ROWS}, 1),
    ],
)
async def test_what_is_said_twice_is_kept_once(tmp_path: Path, content: Any, structured: Any, kept: int) -> None:
    result = {"content": content, "structuredContent": structured}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        executed = await case.gateway.execute(ECHO)

    assert executed.envelope is not None
    assert executed.envelope.parts == kept
    assert tokens_sent(executed.result) <= 400


@pytest.mark.req("GW-7.3")
async def test_what_an_sdk_server_sends_for_a_list_becomes_one_list_of_records(tmp_path: Path) -> None:
    box = SdkTools()

    @box.server.tool()
    def rows() -> list[dict[str, Any]]:
        """All rows."""
        return ROWS

    async with gatewayed({"box": box}, file=tmp_path / "a.db") as case:
        sent = await case.execute("box__rows")

    (artifact,) = envelope_of(sent)["artifacts"]
    assert artifact["kind"] == "records"
    assert len(sent["content"]) == 1


@pytest.mark.req("GW-4.5")
async def test_brief_blocks_pass_beside_a_large_one_and_small_ones_are_kept_together(tmp_path: Path) -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    small = [text_block(f"Paragraph {number}. " + "Some words. " * 20) for number in range(6)]
    result = {
        "content": [text_block("Found 500 rows."), link, text_block(json.dumps(ROWS)), *small],
        "_meta": {"a": 1},
        "novel": 2,
    }
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        rows, together = [await read_all(case, each) for each in handles_in(sent)]

    assert sent["content"][1:] == [text_block("Found 500 rows."), link]
    assert (sent["_meta"]["a"], sent["novel"]) == (1, 2)
    assert json.loads(rows) == ROWS
    assert json.loads(together) == [each["text"] for each in small]
    assert tokens_sent(sent) <= 400


@pytest.mark.req("GW-4.5")
async def test_many_links_odd_blocks_and_further_fields_are_kept_when_they_have_no_room(tmp_path: Path) -> None:
    links = [{"type": "resource_link", "uri": f"file:///{number}", "name": f"file {number}"} for number in range(300)]
    hologram = {"type": "hologram", "shape": list(range(2_000))}
    result = {"content": [*links, hologram, 7], "novel": ["x" * 50] * 100, "_meta": {"a": "x" * 5_000}}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        kept = list(map(json.loads, await every_part(case, sent)))

    passed = sent["content"][1:]
    everything = [*passed, *kept[1]]
    assert kept[0] == hologram
    assert [each for each in everything if each != 7] == links
    assert 7 in everything
    assert kept[2] == {"novel": result["novel"], "_meta": result["_meta"]}
    assert tokens_sent(sent) <= 400


@pytest.mark.req("GW-4.5", "GW-7.4")
async def test_pictures_beyond_the_first_four_are_kept_and_come_back_as_pictures(tmp_path: Path) -> None:
    # The reference never gives a picture back: neither at once nor later.
    pictures = [image(PNG + bytes([number])) for number in range(7)]
    heavy = image(b"\x89PNG\r\n\x1a\n" + bytes(1024 * 1024))
    sound = {"type": "audio", "data": base64.b64encode(b"RIFF1234WAVE" * 9).decode()}
    result = {"content": [heavy, *pictures, sound]}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        index = json.loads(await read_all(case, envelope_of(sent)["index"]))
        back = [await case.view(each["handle"], type="raw") for each in index]

    assert sent["content"][1:] == pictures[:3]
    assert [each["content"][1] for each in back] == [heavy, *pictures[3:], {**sound, "mimeType": "audio/wav"}]
    assert tokens_sent(sent) <= 400


async def test_a_picture_that_is_none_is_kept_as_it_came(tmp_path: Path) -> None:
    broken = {"type": "image", "data": "x" * 2_000_001, "mimeType": "image/png"}
    nothing = {"type": "image"}
    async with gatewayed({"box": answering({"content": [broken, nothing]})}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)
        kept = [json.loads(await read_all(case, each)) for each in handles_in(sent)]

    assert kept == [broken, nothing]


async def test_resources_are_kept_by_what_is_in_them(tmp_path: Path) -> None:
    blob = base64.b64encode(CSV.encode()).decode()
    resources = [
        {"uri": "file:///a.csv", "mimeType": "text/csv", "blob": blob},
        {"uri": "file:///a.txt", "text": PROSE},
        {"uri": "file:///odd", "blob": "no base64 " * 500},
    ]
    result = {"content": [{"type": "resource", "resource": each} for each in resources]}
    async with gatewayed(
        {"box": answering(result)}, file=tmp_path / "a.db", behaviour=GatewayBehaviour(summary_tokens=400)
    ) as case:
        executed = await case.gateway.execute(ECHO)

    assert executed.envelope is not None
    assert [each.kind for each in executed.envelope.artifacts] == ["table", "prose", "json"]
    assert executed.envelope.artifacts[0].label == "resource file:///a.csv"


@pytest.mark.req("GW-7.3")
async def test_the_threshold_and_the_size_of_summaries_are_settings(tmp_path: Path) -> None:
    behaviour = GatewayBehaviour(whole_tokens=200, summary_tokens=350)
    result = {"content": [text_block("Some words. " * 100)]}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db", behaviour=behaviour) as case:
        sent = await case.execute(ECHO)

    assert len(handles_in(sent)) == 1
    assert tokens_sent(sent) <= 350


@pytest.mark.req("GW-7.4")
async def test_a_second_result_has_another_handle_and_the_first_still_shows_the_first(tmp_path: Path) -> None:
    # In the reference the handle of a tool's picture shows the bytes of its first call for ever.
    server = answering({"content": [text_block(LOG)]})
    async with gatewayed({"box": server}, file=tmp_path / "a.db") as case:
        first = handles_in(await case.execute(ECHO))
        server.answers["tools/call"] = {"content": [text_block(LOG + "more\n")]}
        second = handles_in(await case.execute(ECHO))
        contents = [await read_all(case, each) for each in (*first, *second)]

    assert first != second
    assert contents == [LOG.encode(), (LOG + "more\n").encode()]


@pytest.mark.req("CL-1")
async def test_what_a_server_says_in_meta_stands_beside_the_envelope(tmp_path: Path) -> None:
    theirs = {"com.example/trace": "t1"}
    result = {"content": [text_block(PROSE)], "structuredContent": {"said": PROSE}, "_meta": theirs}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)

    assert sent.keys() == {"content", "_meta"}
    assert theirs.items() <= sent["_meta"].items()
    assert envelope_of(sent)["summary"] == sent["content"][0]["text"]
    assert all(each in sent["content"][0]["text"] for each in handles_in(sent))


@pytest.mark.req("CL-1")
async def test_a_large_error_of_a_server_is_told_in_text_alone(tmp_path: Path) -> None:
    result = {"content": [text_block(PROSE)], "structuredContent": {"said": PROSE}, "isError": True}
    async with gatewayed({"box": answering(result)}, file=tmp_path / "a.db") as case:
        sent = await case.execute(ECHO)

    assert sent["isError"] is True
    assert "structuredContent" not in sent
    assert envelope_of(sent)["status"] == "error"
