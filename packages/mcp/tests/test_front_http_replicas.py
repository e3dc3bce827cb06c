"""Sessions of the handshake era at several replicas: opened at one, gone on with at another, ended at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from front_http_cases import (
    FakeService,
    Raw,
    SlowToOpen,
    call,
    data_of,
    initialize,
    message_of,
    notices_of,
    raw,
    serving,
    session_headers,
)
from process_children import until
from sqlalchemy import text, update

from toolcrib_mcp.approvals import StateKey
from toolcrib_mcp.front import Identity, Notice
from toolcrib_mcp.front.http import HttpFrontSettings, shared_sessions
from toolcrib_mcp.front.http.replies import Refusal
from toolcrib_mcp.front.http.sessions import Session
from toolcrib_mcp.front.http.shared_sessions import SharedSessions
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.shared import SHARED_LINE
from toolcrib_mcp.shared.session_book import MAX_MESSAGES, SessionBook
from toolcrib_mcp.shared.tables import NOTES
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import Store, TurnableClock, open_store

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-9.2")]

KEY = StateKey(bytes(range(32)))
ALICE = Identity(name="alice", scopes=frozenset({"b", "a"}))
BOB = Identity(name="bob")
BEARERS = {"alice-token": ALICE, "bob-token": BOB}


@pytest.fixture
def clock() -> TurnableClock:
    return TurnableClock()


@pytest.fixture
def store(store_url: str, clock: TurnableClock) -> Iterator[Store]:
    with open_store(store_url, lines=[SHARED_LINE], clock=clock) as opened:
        yield opened


class Replicas:
    """Two fronts on one database, each with a service and a client of its own."""

    def __init__(self, store: Store, one: tuple[FakeService, Raw], other: tuple[FakeService, Raw]) -> None:
        self.store = store
        self.one, self.a = one
        self.other, self.b = other

    async def opened(self, **headers: Any) -> None:
        """Open a session at the first, which both clients are of."""
        await self.a.initialize(**headers)
        self.b.session = self.a.session


@asynccontextmanager
async def _replicas(store: Store, **settings: Any) -> AsyncIterator[Replicas]:
    one, other = FakeService(), FakeService()
    async with (
        serving(one, book=SessionBook(store, KEY), **settings) as url,
        serving(other, book=SessionBook(store, KEY), **settings) as other_url,
        raw(url) as a,
        raw(other_url) as b,
    ):
        yield Replicas(store, (one, a), (other, b))


@pytest.fixture
async def replicas(store: Store, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Replicas]:
    monkeypatch.setattr(shared_sessions, "HEAR_EVERY", 0.01)
    async with _replicas(store, ping_interval=0.05) as made:
        yield made


async def test_a_session_goes_on_at_another_replica_as_the_same_client(replicas: Replicas) -> None:
    opened = await replicas.a.post(initialize(sampling={}, roots={"listChanged": True}))
    replicas.a.session = replicas.b.session = opened.headers["mcp-session-id"]

    answers = [await each.handshake("tools/call", call("echo", nonce="n")) for each in (replicas.a, replicas.b)]

    assert [message_of(each) for each in answers] == [message_of(answers[0])] * 2
    assert replicas.one.requests[0].caller == replicas.other.requests[0].caller
    assert replicas.other.requests[0].caller.capabilities == {"sampling": {}, "roots": {"listChanged": True}}


async def test_a_session_outlives_the_replica_that_opened_it(store: Store) -> None:
    async with _replicas(store) as before:
        await before.opened()
    async with _replicas(store) as after:
        after.b.session = before.a.session
        answer = await after.b.handshake("tools/list")

    assert answer.status_code == 200
    assert "tools" in message_of(answer)["result"]


async def test_what_ends_a_session_ends_it_at_every_replica(replicas: Replicas) -> None:
    await replicas.opened()
    await replicas.b.handshake("tools/list")

    ended = await replicas.b.client.delete(replicas.b.url, headers=session_headers(replicas.b))
    after = [await each.handshake("tools/list") for each in (replicas.a, replicas.b)]

    assert ended.status_code == 200
    assert [each.status_code for each in after] == [404, 404]
    assert [message_of(each) for each in after] == [message_of(after[0])] * 2


async def test_a_request_under_way_ends_with_the_session_that_another_replica_ended(replicas: Replicas) -> None:
    await replicas.opened()
    hanging = asyncio.create_task(replicas.a.handshake("tools/call", call("hang")))
    await replicas.one.hanging.wait()

    await replicas.b.client.delete(replicas.b.url, headers=session_headers(replicas.b))

    assert message_of(await hanging)["error"]["message"] == "The server ended the request."


async def test_a_session_that_no_replica_was_asked_about_for_too_long_is_over_at_all(
    store: Store, clock: TurnableClock
) -> None:
    async with _replicas(store, session_idle=1000) as replicas:
        await replicas.opened()
        clock.turn(900)
        used = await replicas.b.handshake("tools/list")
        clock.turn(900)
        still = await replicas.a.handshake("tools/list")
        clock.turn(1001)
        over = [await each.handshake("tools/list") for each in (replicas.a, replicas.b)]

    assert [each.status_code for each in (used, still, *over)] == [200, 200, 404, 404]


@pytest.mark.parametrize("edit", [lambda name: name[:-1], lambda name: "A" + name[1:] + "A", lambda _: "x" * 500])
async def test_a_forged_or_edited_name_is_refused_alike_everywhere(replicas: Replicas, edit: Any) -> None:
    await replicas.opened()
    replicas.a.session = replicas.b.session = edit(replicas.a.session)

    refused = [await each.handshake("tools/list") for each in (replicas.a, replicas.b)]

    assert [(each.status_code, each.text) for each in refused] == [(404, refused[0].text)] * 2


async def test_a_request_that_names_no_session_is_refused_alike_everywhere(replicas: Replicas) -> None:
    refused = [await each.handshake("tools/list") for each in (replicas.a, replicas.b)]

    assert [(each.status_code, each.text) for each in refused] == [(400, refused[0].text)] * 2


async def test_a_session_is_known_only_to_whom_it_belongs_at_every_replica(store: Store) -> None:
    async def authenticate(token: str) -> Identity | None:
        return BEARERS.get(token)

    hers, his = ({"authorization": f"Bearer {who}-token"} for who in ("alice", "bob"))
    async with _replicas(store, authenticate=authenticate) as replicas:
        await replicas.opened(**hers)
        foreign = [await each.handshake("tools/list", **his) for each in (replicas.b, replicas.a)]
        own = [await each.handshake("tools/list", **hers) for each in (replicas.b, replicas.a)]
        again = await replicas.b.handshake("tools/list", **his)

    assert [each.status_code for each in (*foreign, *own, again)] == [404, 404, 200, 200, 404]
    assert replicas.other.requests[0].caller.principal == "alice"
    assert replicas.other.requests[0].caller.scopes == ALICE.scopes


async def test_the_database_has_neither_the_name_of_a_session_nor_what_its_client_said(
    replicas: Replicas,
) -> None:
    opened = await replicas.a.post(initialize(experimental={"canary": {}}))

    with replicas.store.reading() as connection:
        rows = connection.execute(text("SELECT * FROM shared_notes")).all()

    written = " ".join(str(bytes(each) if isinstance(each, memoryview) else each) for row in rows for each in row)
    assert rows
    assert opened.headers["mcp-session-id"] not in written
    assert "canary" not in written


async def test_who_can_write_the_database_but_has_not_the_key_makes_no_session(replicas: Replicas) -> None:
    await replicas.opened()
    with replicas.store.writing() as connection:
        connection.execute(update(NOTES).values(content=b"\x01" + bytes(60), version=2))

    assert [(await each.handshake("tools/list")).status_code for each in (replicas.a, replicas.b)] == [404, 404]


async def test_a_level_that_was_set_at_one_replica_counts_at_the_other(replicas: Replicas) -> None:
    await replicas.opened()
    await replicas.b.handshake("tools/call", call("echo"))
    await replicas.a.handshake("logging/setLevel", {"level": "error"})

    await replicas.b.handshake("tools/call", call("echo"))

    assert [each.caller.log_level for each in replicas.other.requests] == [None, "error"]


async def test_an_answer_reaches_the_replica_that_asked(replicas: Replicas) -> None:
    opened = await replicas.a.post(initialize(elicitation={}))
    replicas.a.session = replicas.b.session = opened.headers["mcp-session-id"]
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call("ask")}

    async with replicas.a.client.stream(
        "POST", replicas.a.url, json=message, headers=session_headers(replicas.a)
    ) as response:
        events = data_of(response)
        asked = httpx2.Response(200, text=await anext(events)).json()
        given = {"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"colour": "red"}}}
        taken = await replicas.b.post(given, mcp_session_id=replicas.b.session)
        answer = httpx2.Response(200, text=await anext(events)).json()

    assert taken.status_code == 202
    assert "red" in answer["result"]["content"][0]["text"]


async def test_a_request_is_taken_back_at_the_replica_that_works_on_it(replicas: Replicas) -> None:
    await replicas.opened()
    hanging = asyncio.create_task(replicas.a.handshake("tools/call", call("hang")))
    await replicas.one.hanging.wait()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}

    taken = await replicas.b.post(cancel, mcp_session_id=replicas.b.session)

    assert taken.status_code == 202
    assert message_of(await hanging)["error"]["message"] == "Request cancelled"


async def test_messages_that_nobody_waits_for_are_bounded(replicas: Replicas) -> None:
    await replicas.opened()
    late = {"jsonrpc": "2.0", "id": 1, "result": {}}

    large = await replicas.b.post({**late, "result": {"x": "y" * 2_000_000}}, mcp_session_id=replicas.b.session)
    statuses = [
        (await replicas.b.post(late, mcp_session_id=replicas.b.session)).status_code for _ in range(MAX_MESSAGES + 1)
    ]

    assert large.status_code == 413
    assert statuses == [202] * MAX_MESSAGES + [413]


async def test_a_stream_tells_of_what_was_subscribed_to_at_another_replica(replicas: Replicas) -> None:
    await replicas.opened()
    await replicas.b.handshake("resources/subscribe", {"uri": "x://1"})

    async with notices_of(replicas.a) as notices:
        await until(lambda: bool(replicas.one.subscribed))
        listener = replicas.one.subscribed[0][0]
        replicas.one.feed.publish(Notice(method="notifications/resources/updated", params={}, to=frozenset({listener})))
        told = await anext(notices)
        await replicas.b.handshake("resources/unsubscribe", {"uri": "x://1"})
        await until(lambda: not replicas.one.subscribed)

    assert "resources/updated" in told


async def test_a_client_that_says_too_much_of_itself_is_refused(replicas: Replicas) -> None:
    refused = await replicas.a.post(initialize(experimental={"x": {"y": "z" * 70_000}}))

    assert message_of(refused)["error"]["message"] == "The client says too much of itself to be kept."


async def test_no_more_sessions_are_taken_up_than_there_is_room_for(store: Store) -> None:
    async with _replicas(store, max_sessions=1) as replicas:
        await replicas.opened()
        await replicas.b.initialize()
        replicas.b.session = replicas.a.session

        assert (await replicas.b.handshake("tools/list")).status_code == 503


@pytest.mark.fault("K12")
async def test_a_session_that_gives_way_ends_at_every_replica(store: Store) -> None:
    tokens = {"ann": Secret("token-of-ann")}
    async with _replicas(store, tokens=tokens, max_principal_sessions=1) as replicas:
        await replicas.a.initialize(authorization="Bearer token-of-ann")
        first = replicas.b.session = replicas.a.session
        taken_up = await replicas.b.handshake("ping", authorization="Bearer token-of-ann")
        await replicas.a.initialize(authorization="Bearer token-of-ann")
        after = await replicas.b.handshake("ping", authorization="Bearer token-of-ann")

    assert first is not None
    assert (taken_up.status_code, after.status_code) == (200, 404)


@pytest.mark.fault("K12")
async def test_sessions_that_are_taken_up_count_for_their_principal_and_can_be_taken_up_again(store: Store) -> None:
    ann = {"authorization": "Bearer token-of-ann"}
    tokens = {"ann": Secret("token-of-ann"), "bob": Secret("token-of-bob")}
    async with _replicas(store, tokens=tokens, max_principal_sessions=2, max_sessions=3) as replicas:
        opened = []
        for each in (replicas.a, replicas.a, replicas.b, replicas.b):
            await each.initialize(**ann)
            opened.append(each.session)
        taken_up = [await replicas.b.handshake("ping", mcp_session_id=each, **ann) for each in opened * 2]
        other = await replicas.b.initialize(authorization="Bearer token-of-bob")

    assert {each.status_code for each in taken_up} == {200}
    assert other.status_code == 200


async def test_without_the_database_sessions_are_refused_for_now(replicas: Replicas) -> None:
    await replicas.opened()
    late = {"jsonrpc": "2.0", "id": 1, "result": {}}
    with replicas.store.writing() as connection:
        connection.execute(text("ALTER TABLE shared_notes RENAME TO elsewhere"))
    try:
        listed = await replicas.b.handshake("tools/list")
        given = await replicas.b.post(late, mcp_session_id=replicas.b.session)
        opened = await replicas.a.post(initialize())
    finally:
        with replicas.store.writing() as connection:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO shared_notes"))
    after = await replicas.b.handshake("tools/list")

    assert [listed.status_code, given.status_code, after.status_code] == [503, 503, 200]
    assert message_of(opened)["error"]["message"].startswith("The session cannot be kept")


async def test_a_session_that_cannot_be_ended_everywhere_goes_on(store: Store) -> None:
    sessions = SharedSessions(FakeService(), settings=HttpFrontSettings(), book=SessionBook(store, KEY))
    session = sessions.open(None)
    with store.writing() as connection:
        connection.execute(text("DROP TABLE shared_notes"))

    with pytest.raises(Refusal) as refused:
        await sessions.end(session)
    with pytest.raises(Refusal) as not_passed_on:
        await sessions.pass_on(session, {"jsonrpc": "2.0", "id": 1, "result": {}})

    assert (refused.value.status, not_passed_on.value.status, len(sessions)) == (503, 503, 1)
    await sessions.aclose()


async def test_a_request_under_way_outlives_a_failure_of_the_database(
    replicas: Replicas, caplog: pytest.LogCaptureFixture
) -> None:
    await replicas.opened()
    hanging = asyncio.create_task(replicas.a.handshake("tools/call", call("wait")))
    await replicas.one.hanging.wait()
    with replicas.store.writing() as connection:
        connection.execute(text("ALTER TABLE shared_notes RENAME TO elsewhere"))
    await until(lambda: "cannot be looked after" in caplog.text)
    with replicas.store.writing() as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO shared_notes"))
    replicas.one.release.set()

    assert "result" in message_of(await hanging)


async def test_a_resource_that_cannot_be_watched_here_is_tried_again(replicas: Replicas) -> None:
    refusals = iter([RpcError(-32602, "not yet")])
    subscribe = replicas.one.subscribe

    async def at_second_try(listener: str, uri: str) -> None:
        for refusal in refusals:
            raise refusal
        await subscribe(listener, uri)

    replicas.one.subscribe = at_second_try  # type: ignore[method-assign]  # a service that is not ready
    await replicas.opened()
    await replicas.b.handshake("resources/subscribe", {"uri": "x://1"})

    async with notices_of(replicas.a):
        await until(lambda: bool(replicas.one.subscribed))


async def test_a_handshake_that_takes_its_time_is_not_taken_for_a_session_that_was_ended(
    store: Store, monkeypatch: Any
) -> None:
    looks: list[Session] = []
    look = SharedSessions._look  # nothing else shows that it has looked and found nothing

    async def looked(sessions: SharedSessions, session: Session) -> None:
        await look(sessions, session)
        looks.append(session)

    monkeypatch.setattr(shared_sessions, "HEAR_EVERY", 0.001)
    monkeypatch.setattr(SharedSessions, "_look", looked)
    service = SlowToOpen()
    async with serving(service, book=SessionBook(store, KEY)) as url, raw(url) as client:
        opening = asyncio.create_task(client.initialize())
        await service.hanging.wait()
        await until(lambda: bool(looks))
        service.release.set()

        assert (await opening).status_code == 200
        assert (await client.handshake("tools/list")).status_code == 200
