"""What clients are answered before the servers are known, and how it is kept for the next process."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace

import pytest

from toolcrib_mcp.front.feed import Feed, Notice
from toolcrib_mcp.front.service import ServerFace
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.serving.deferred import DeferredService
from toolcrib_mcp.serving.greeting import Greeting, GreetingFile, first_greeting, greeting_key

pytestmark = pytest.mark.req("CL-12")

GREETING = Greeting(
    mode="gateway",
    capabilities={"tools": {}, "prompts": {"listChanged": True}},
    instructions="Begin with `tool_browse`.",
    tools=[{"name": "tool_browse"}],
    max_message=1_000,
)


class _Service:
    """A composed service that notes what it is asked for."""

    def __init__(self):
        self.feed = Feed()
        self.info = {"name": "toolcrib"}
        self.asked = []

    async def face(self):
        return ServerFace(capabilities={"tools": {}}, instructions="composed")

    async def answer(self, request):
        self.asked.append(request.method)
        return {"answered": request.method}

    async def subscribe(self, listener, uri):
        self.asked.append(("subscribe", listener, uri))

    async def unsubscribe(self, listener, uri):
        self.asked.append(("unsubscribe", listener, uri))

    async def end(self, conversation):
        self.asked.append(("end", conversation))


class _Channel:
    def __init__(self):
        self.told = []

    async def notify(self, method, params):
        self.told.append((method, params))


def _request(method, **fields):
    return replace(lone_request(), method=method, **fields)


async def test_the_greeting_is_answered_before_anything_is_composed():
    deferred = DeferredService(GREETING)

    face = await deferred.face()
    listed = await deferred.answer(_request("tools/list"))

    assert (face.capabilities, face.instructions) == (GREETING.capabilities, GREETING.instructions)
    assert listed == {"tools": [{"name": "tool_browse"}]}
    assert deferred.info["name"] == "toolcrib"
    await deferred.wanted.wait()


async def test_everything_else_waits_for_the_composed_service_which_then_answers_all():
    deferred, service, channel = DeferredService(GREETING), _Service(), _Channel()
    request = _request("prompts/list", params={"_meta": {"progressToken": 7}}, channel=channel)
    waiting = asyncio.create_task(deferred.answer(request))
    await deferred.wanted.wait()
    await deferred.end("somebody else")

    deferred.become(service)

    assert await waiting == {"answered": "prompts/list"}
    assert channel.told == [
        ("notifications/progress", {"progress": 0, "message": "toolcrib is starting.", "progressToken": 7})
    ]
    assert await deferred.answer(_request("tools/list")) == {"answered": "tools/list"}
    assert (await deferred.face()).instructions == "composed"
    await deferred.subscribe("one", "file:///a")
    await deferred.unsubscribe("one", "file:///a")
    await deferred.end("one")
    assert service.asked[2:] == [("subscribe", "one", "file:///a"), ("unsubscribe", "one", "file:///a"), ("end", "one")]


async def test_what_the_composed_service_announces_reaches_clients():
    deferred, service, heard = DeferredService(GREETING), _Service(), []
    deferred.feed.subscribe(heard.append)
    deferred.become(service)

    service.feed.publish(Notice(method="notifications/tools/list_changed"))

    assert [notice.method for notice in heard] == ["notifications/tools/list_changed"]


async def test_clients_are_notified_once_if_they_were_answered_another_list_than_the_composed_one():
    deferred, heard = DeferredService(GREETING), []
    deferred.feed.subscribe(heard.append)
    deferred.revise([{"name": "other"}])  # nobody has been answered yet
    await deferred.answer(_request("tools/list"))

    deferred.revise([{"name": "tool_browse"}])
    deferred.revise([{"name": "other"}])
    deferred.revise([{"name": "third"}])

    assert [notice.method for notice in heard] == ["notifications/tools/list_changed"]


async def test_without_a_greeting_every_request_waits_and_hears_nothing_of_toolcrib():
    deferred, channel = DeferredService(None), _Channel()
    request = _request("tools/list", params={"_meta": {"progressToken": 7}}, channel=channel)
    face, answer = asyncio.create_task(deferred.face()), asyncio.create_task(deferred.answer(request))
    await asyncio.sleep(0)
    deferred.become(_Service())

    assert (await face).instructions == "composed"
    assert await answer == {"answered": "tools/list"}
    assert channel.told == []


async def test_a_request_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.serving.deferred.COMPOSED_WITHIN", 0.0)

    with pytest.raises(RpcError, match="not ready within 0 s"):
        await DeferredService(GREETING).answer(_request("prompts/list"))


async def test_what_cannot_be_composed_for_an_unforeseen_reason_says_no_more_than_that():
    deferred = DeferredService(GREETING)
    deferred.fail(RuntimeError("a secret"))

    with pytest.raises(RpcError, match="could not be started") as caught:
        await deferred.answer(_request("prompts/list"))

    assert "secret" not in str(caught.value)


def test_a_greeting_that_was_kept_is_read_again_under_the_same_key_only(tmp_path):
    kept = GreetingFile(path=tmp_path / "greeting.json", key=greeting_key([b"a", b"b"]))

    kept.write(GREETING)

    assert kept.read() == GREETING
    assert replace(kept, key=greeting_key([b"ab", b""])).read() is None
    assert [file.name for file in tmp_path.iterdir()] == ["greeting.json"]


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[]",
        json.dumps({"key": "k", "greeting": {"mode": "transparent"}}),
        json.dumps({"key": "k", "greeting": {"mode": "gateway", "capabilities": {}, "tools": [1]}}),
    ],
)
def test_a_file_that_is_no_greeting_counts_for_nothing(tmp_path, data):
    kept = GreetingFile(path=tmp_path / "greeting.json", key="k")
    kept.path.write_text(data)

    assert kept.read() is None


def test_that_a_greeting_cannot_be_kept_is_logged(tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="toolcrib.mcp"):
        GreetingFile(path=tmp_path / "missing" / "greeting.json", key="k").write(GREETING)

    assert "cannot be kept" in caplog.text


def test_a_first_greeting_names_the_servers_unless_they_are_many():
    few = first_greeting("gateway", execute="one", max_message=1, servers=["time", "git"])
    many = first_greeting("gateway", execute="one", max_message=1, servers=[f"server{number}" for number in range(99)])

    assert few is not None
    assert str(few.instructions).endswith("Servers: git; time")
    assert many is not None
    assert "Servers:" not in str(many.instructions)


def test_for_servers_that_were_never_seen_everything_is_announced_but_in_transparent_mode_nothing():
    by_risk = first_greeting("gateway", execute="by-risk", max_message=1)
    proxy = first_greeting("proxy", execute="one", max_message=1)

    assert by_risk is not None
    assert [tool["name"] for tool in by_risk.tools or ()][1] == "tool_execute_read"
    assert {"resources", "prompts", "completions"} <= by_risk.capabilities.keys()
    assert proxy is not None
    assert proxy.tools is None
    assert first_greeting("transparent", execute="one", max_message=1) is None
