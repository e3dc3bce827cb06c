"""What is kept: read in parts by its owner alone, and there after a restart."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from gateway_cases import gatewayed, modern, text_block
from gateway_samples import LARGE, LOG, ROWS, box, handles_in, made, received, text_in
from hub_cases import caller
from proxy_cases import error_of
from scripted_servers import ScriptedServer

from toolcrib_core import count_tokens
from toolcrib_mcp.gateway.shelf import owner_of
from toolcrib_store import ArtifactLimits, Artifacts, Owner, open_store


@pytest.mark.req("GW-4.6", "D4-4.2f")
@pytest.mark.parametrize(
    ("kind", "selector", "seen"),
    [
        ("log", {"type": "lines", "start": 2, "end": 3}, "request 2 done"),
        ("log", {"type": "head", "lines": 1}, "request 0 done"),
        ("log", {"type": "tail", "lines": 1}, "request 2999 done"),
        ("log", {"type": "search", "text": "request 1234 ", "context": 1}, "request 1235 done"),
        ("json", {"type": "path", "path": "$.items[3].name"}, "row 3"),
        ("json", {"type": "pointer", "pointer": "/items/4/name"}, "row 4"),
        ("json", {"type": "keys"}, "items"),
        ("json", {"type": "shape"}, "price"),
        ("records", {"type": "rows", "where": [{"column": "id", "op": "=", "value": 7}]}, "row 7"),
        (
            "table",
            {"type": "rows", "columns": ["name"], "sort": [{"column": "id", "desc": True}], "count": 1},
            "name 4999",
        ),
        ("binary", {"type": "bytes", "start": 0, "end": 3}, "AAEC"),
    ],
)
async def test_any_part_of_a_large_result_can_be_read(tmp_path: Path, kind: str, selector: Any, seen: str) -> None:
    async with gatewayed({"box": box({"content": LARGE[kind]})}, file=tmp_path / "a.db") as case:
        shown = text_in(await case.call("tool_view", {"handle": await made(case), "selector": selector}))

    assert seen in shown
    assert count_tokens(shown) <= 1_500


@pytest.mark.req("GW-4.6")
@pytest.mark.parametrize("selector", [{"type": "all"}, {"type": "head", "chars": 10**9}, {"type": "lines", "start": 1}])
async def test_following_the_cursor_shows_everything_once_in_bounded_answers(tmp_path: Path, selector: Any) -> None:
    # The reference gives all at once, however large it is.
    pages: list[str] = []
    async with gatewayed({"box": box({"content": [text_block(LOG)]})}, file=tmp_path / "a.db") as case:
        arguments = {"handle": await made(case), "selector": selector}
        cursor: list[str] = []
        while not pages or cursor:
            page = text_in(await case.call("tool_view", arguments | ({"cursor": cursor[0]} if cursor else {})))
            assert count_tokens(page) <= 1_500
            cursor = re.findall(r'\[more: cursor "(.*)"\]$', page)
            pages.append(page)

    numbers = [int(each) for page in pages for each in re.findall(r"request (\d+) done", page)]
    assert numbers == list(range(3_000))


@pytest.mark.req("GW-4.6", "GW-6.8")
@pytest.mark.parametrize(
    "arguments",
    [
        {"selector": {"type": "rowz"}},
        {"selector": {"type": "head", "lines": "many"}},
        {"selector": {"type": "head", "chars": -1}},
        {"selector": {"type": "raw"}},
        {"selector": {"type": "head"}, "cursor": "12-0.aaaaaaaaaa"},
        {"selector": {"type": "head"}, "handle": "art_aaaaaaaaaaaaaaaa"},
        {"selector": {"type": "head"}, "handle": "../etc/passwd"},
    ],
)
async def test_what_cannot_be_viewed_is_told_with_what_can(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with gatewayed({"box": box({"content": LARGE["log"]})}, file=tmp_path / "a.db") as case:
        error = error_of(await case.call("tool_view", {"handle": await made(case), **arguments}))

    assert error["error"] == "VIEW_FAILED"
    assert error["hint"]


@pytest.mark.parametrize(
    "arguments", [{}, {"handle": "art_x"}, {"handle": 3, "selector": {}}, {"handle": "x", "selector": "head"}]
)
async def test_what_is_no_call_of_tool_view_is_told_so(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with gatewayed({"box": box({})}, file=tmp_path / "a.db") as case:
        error = error_of(await case.call("tool_view", arguments))

    assert error["error"] == "ARGS_INVALID"


@pytest.mark.req("GW-7.4", "GW-8.5")
@pytest.mark.fault("G1")
async def test_a_handle_of_somebody_else_is_like_one_that_never_was(tmp_path: Path) -> None:
    # In the reference any session reads what any other has, and can guess the handles.
    async with gatewayed({"box": box({"content": LARGE["log"]})}, file=tmp_path / "a.db") as case:
        by = modern(principal="anna")
        sent = await case.call("tool_execute", {"tool_id": "box__source"}, by=by)
        (handle,) = handles_in(sent)
        own = await case.view(handle, by=modern(principal="anna", conversation="another"), type="head")
        foreign = error_of(await case.view(handle, by=modern(principal="bert"), type="head"))
        never = error_of(await case.view("art_aaaaaaaaaaaaaaaa", by=by, type="head"))

    assert "request 0 done" in text_in(own)
    assert {**foreign, "message": foreign["message"].replace(handle, "X")} == {
        **never,
        "message": never["message"].replace("art_aaaaaaaaaaaaaaaa", "X"),
    }


@pytest.mark.req("GW-7.4")
@pytest.mark.fault("G1", "G6")
async def test_a_handle_expires_and_the_hint_says_how_long_it_lived(tmp_path: Path) -> None:
    time = [1_000.0]
    limits = ArtifactLimits(seconds=7_200)
    async with gatewayed(
        {"box": box({"content": LARGE["log"]})}, file=tmp_path / "a.db", limits=limits, now=lambda: time[0]
    ) as case:
        handle = await made(case)
        time[0] += 7_201
        error = error_of(await case.view(handle, type="head"))

    assert error["error"] == "VIEW_FAILED"
    assert "2 h" in error["hint"]


@pytest.mark.req("GW-7.4", "GW-4.6")
async def test_after_a_restart_handles_work_for_their_owner_and_for_nobody_else(tmp_path: Path) -> None:
    server = {"box": box({"content": LARGE["records"]})}
    async with gatewayed(server, file=tmp_path / "a.db") as case:
        by_anna = await case.call("tool_execute", {"tool_id": "box__source"}, by=modern(principal="anna"))
        mine = await made(case)
        first = text_in(await case.view(mine, type="all"))
        (cursor,) = re.findall(r'\[more: cursor "(.*)"\]$', first)
    async with gatewayed(server, file=tmp_path / "a.db") as case:
        again = text_in(await case.view(mine, type="all"))
        second = await case.call("tool_view", {"handle": mine, "selector": {"type": "all"}, "cursor": cursor})
        annas = await case.view(*handles_in(by_anna), by=modern(principal="anna"), type="head")
        stolen = error_of(await case.view(*handles_in(by_anna), by=modern(principal="bert"), type="head"))
        passed_on = await case.execute("box__sink", rows={"$artifact": mine})
        given = received(case)

    assert again == first
    assert "isError" not in second
    assert "row 0" in text_in(annas)
    assert stolen["error"] == "VIEW_FAILED"
    assert text_in(passed_on) == "taken"
    assert given == {"rows": ROWS}


@pytest.mark.fault("G9")
async def test_a_damaged_store_is_told_as_such_and_never_as_content(tmp_path: Path) -> None:
    async with gatewayed({"box": box({"content": LARGE["log"]})}, file=tmp_path / "a.db") as case:
        handle = await made(case)
        with sqlite3.connect(tmp_path / "a.db") as raw:
            raw.execute("UPDATE chunks SET content = zeroblob(length(content))")
        raw.close()
        error = error_of(await case.view(handle, type="head"))

    assert error["error"] == "VIEW_FAILED"
    assert error["retryable"] is False


@pytest.mark.req("GW-7.4")
async def test_a_kind_that_nobody_knows_any_more_can_be_read_as_bytes(tmp_path: Path) -> None:
    async with gatewayed({"box": box({"content": LARGE["log"]})}, file=tmp_path / "a.db") as case:
        with open_store(tmp_path / "a.db") as store:
            kept = Artifacts(store).put(
                b"2026-11-18",
                owner=Owner(principal="local"),
                media_type="application/octet-stream",
                kind="hologram",
                source="box:it",
            )
        seen = text_in(await case.view(kept.handle, type="bytes", start=0, end=4))

    assert "2026" in seen


def test_whoever_nobody_asked_is_the_local_user() -> None:
    assert owner_of(caller()).key == owner_of(modern()).key == "p:local"
    assert owner_of(modern(principal="anna")).key == "p:anna"


@pytest.mark.req("GW-8.5")
async def test_many_large_results_at_once_are_each_kept_for_whoever_asked(tmp_path: Path) -> None:
    server = ScriptedServer(
        **{"tools/call": lambda params: {"content": [text_block(f"{params['arguments']['nonce']} says: {LOG}")]}}
    )
    async with gatewayed({"box": server}, file=tmp_path / "a.db") as case:
        await case.browse(path="/")

        async def one(number: int) -> str:
            by = modern(principal=f"user{number}")
            arguments = {"tool_id": "box__echo", "args": {"nonce": f"n{number}"}}
            sent = await case.call("tool_execute", arguments, by=by)
            return text_in(await case.view(*handles_in(sent), by=by, type="head", lines=1))

        texts = await asyncio.gather(*map(one, range(20)))

    assert all(f"n{number} says" in text for number, text in enumerate(texts))
