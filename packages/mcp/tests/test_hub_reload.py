"""A change of the configuration is served without a restart, and only what differs is touched."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hub_cases import Heard, caller, config_file, eventually, listing, plain, who
from process_children import needs_proc, nothing_left, open_descriptors
from toolbox_cases import RecordingChannel

from toolcrib_core import ToolError
from toolcrib_mcp.config import GatewayConfig, load_config
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.hub.config_watcher import LOOK_EVERY, ConfigWatcher
from toolcrib_mcp.hub.servers import ConfigChange
from toolcrib_mcp.proxy import ProxyRuntime
from toolcrib_mcp.relay import Relay, TransparentService
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import Connect, UpstreamState
from toolcrib_runtime.clock import SYSTEM_CLOCK
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("CL-13")

EDITS = 200
TOOLS_CHANGED = "notifications/tools/list_changed"


def text_of(entries: dict[str, Any], **ours: Any) -> str:
    return json.dumps({"mcpServers": entries, "toolcrib": ours}, indent=1)


class Served:
    """A hub over a file, with who watches it."""

    def __init__(self, hub: Hub, watcher: ConfigWatcher, file: Path) -> None:
        self.hub = hub
        self.watcher = watcher
        self.file = file

    async def edit(self, entries: dict[str, Any], **ours: Any) -> None:
        """Another version of the file, which is looked at until it is settled."""
        self.file.write_text(text_of(entries, **ours), "utf-8")
        await self.look()

    async def look(self) -> None:
        await self.watcher.look()
        await self.watcher.look()

    async def until_running(self, *names: str) -> None:
        await eventually(lambda: all(self.tools(name) for name in names), seconds=30)

    def tools(self, name: str) -> list[str]:
        snapshot = self.hub.catalog.snapshot()
        return [each for each in snapshot.ids if snapshot.hydrate(each).upstream == name]

    def pid(self, name: str) -> int | None:
        return self.hub.status().servers[name].health.pid


@asynccontextmanager
async def serving(
    folder: Path, entries: dict[str, Any], *, upstreams: dict[str, Connect] | None = None, **ours: Any
) -> AsyncIterator[Served]:
    config = config_file(folder, entries, **ours)
    assert config.path is not None
    file = config.path
    async with Hub(config, manifest=folder / "state" / "catalog.json", upstreams=upstreams) as hub:
        await hub.start(timeout=30)
        watcher = ConfigWatcher(hub, lambda: load_config(file), served=config, clock=SYSTEM_CLOCK)
        served = Served(hub, watcher, file)
        await served.look()
        yield served


async def test_a_server_that_is_added_is_served_and_one_that_is_removed_is_not(tmp_path: Path) -> None:
    async with nothing_left() as family:
        one, other, new = (plain(name, family) for name in ("one", "other", "new"))
        async with serving(tmp_path, {"one": one, "other": other}) as served:
            heard, pid = Heard(served.hub), served.pid("one")
            await served.edit({"new": new, "one": one})
            await served.until_running("new")
            await eventually(lambda: not served.tools("other"))
            said = await who(served.hub, "new", nonce="n1")
            await heard.until(lambda notices: TOOLS_CHANGED in [each.method for each in notices])
            with pytest.raises(UpstreamUnavailable, match="`other` is not in the configuration"):
                await who(served.hub, "other")
            unchanged = served.pid("one")

            assert list(served.hub.servers) == ["new", "one"]
            assert list(served.hub.status().servers) == ["new", "one"]
            assert (said["name"], said["nonce"]) == ("new", "n1")
            assert unchanged == pid
            assert 1 <= heard.methods.count(TOOLS_CHANGED) <= 2  # one went at once, and one came when it had started


async def test_calls_in_flight_to_a_server_that_is_changed_finish_on_the_old_one(tmp_path: Path) -> None:
    release = tmp_path / "release"
    async with nothing_left() as family, serving(tmp_path, {"one": plain("before", family)}) as served:
        hub = served.hub
        async with asyncio.TaskGroup() as group:
            old = group.create_task(who(hub, "one", until=str(release)))
            await eventually(lambda: served.hub.shared("one").state is UpstreamState.IN_USE)
            await served.edit({"one": plain("after", family)})
            new = await who(served.hub, "one")
            was_waiting = not old.done()
            release.touch()

    assert was_waiting
    assert (old.result()["name"], new["name"]) == ("before", "after")


async def test_a_call_that_never_ends_is_not_waited_for_longer_than_a_call_may_take(tmp_path: Path) -> None:
    ours = {"servers": {"one": {"timeout": 0.05}}}
    async with nothing_left() as family, serving(tmp_path, {"one": plain("before", family)}, **ours) as served:

        async def hold() -> dict[str, Any]:
            async with served.hub.lease("one", caller()) as upstream:
                params = {"name": "who", "arguments": {"until": str(tmp_path / "never")}}
                return await upstream.call("tools/call", params, timeout=600)

        call = asyncio.create_task(hold())
        await eventually(lambda: served.hub.shared("one").state is UpstreamState.IN_USE)
        await served.edit({"one": plain("after", family)}, **ours)
        with pytest.raises(UpstreamUnavailable):
            await call
        said = await who(served.hub, "one")

    assert said["name"] == "after"


async def test_a_request_that_waits_for_a_place_goes_to_the_new_server(tmp_path: Path) -> None:
    release, ours = tmp_path / "release", {"servers": {"one": {"concurrency": 1}}}
    async with nothing_left() as family, serving(tmp_path, {"one": plain("before", family)}, **ours) as served:
        hub = served.hub
        async with asyncio.TaskGroup() as group:
            first = group.create_task(who(hub, "one", until=str(release)))
            await eventually(lambda: served.hub.shared("one").state is UpstreamState.IN_USE)
            second = group.create_task(who(served.hub, "one"))
            await eventually(lambda: served.hub.status().servers["one"].waiting == 1)
            await served.edit({"one": plain("after", family)}, **ours)
            release.touch()

    assert (first.result()["name"], second.result()["name"]) == ("before", "after")


async def test_other_settings_of_a_server_count_in_the_session_that_it_has(tmp_path: Path) -> None:
    async with nothing_left() as family:
        entries = {"one": plain("one", family)}
        async with serving(tmp_path, entries) as served:
            before = served.pid("one"), served.tools("one")
            own = {"namespace": "uno", "timeout": 7, "concurrency": 3, "idleStop": 60, "trusted": True}
            await served.edit(entries, servers={"one": own})
            await eventually(lambda: served.tools("one")[0].startswith("uno:"))
            about, pid = served.hub.server("one"), served.pid("one")
            waits = served.hub.shared("one")._settings
            await served.edit(entries, servers={"one": {"deny": ["who"]}})
            await eventually(lambda: not served.tools("one"))
            denied = served.hub.status().servers["one"].tools.denied
            await served.edit(entries)
            await eventually(lambda: served.tools("one") == before[1])

            assert (pid, served.pid("one")) == (before[0], before[0])
            assert (about.max_calls, waits.call_timeout, waits.idle_after) == (3, 7, 60)
            assert denied == 1


async def test_settings_of_the_gateway_itself_count_at_once_or_say_that_they_need_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with nothing_left() as family:
        entries = {"one": plain("one", family)}
        async with serving(tmp_path, entries, callTimeout=30) as served:
            with caplog.at_level(logging.INFO, "toolcrib.mcp"):
                await served.edit(entries, callTimeout=20, mode="proxy", http={"port": 9}, limits={"maxTools": 5})
            status, settings = served.hub.status().to_json(), served.hub.config.settings
            await served.edit(entries, callTimeout=20)
            afterwards = served.hub.status().restart_needed

    assert status["restartNeeded"] == ["mode", "http"]
    assert "count after a restart: mode, http" in caplog.text
    assert (settings.mode, settings.http, settings.call_timeout, settings.limits.max_tools) == ("gateway", None, 20, 5)
    assert afterwards == ()


async def test_a_file_that_cannot_be_used_is_refused_whole_and_a_later_good_one_is_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with nothing_left() as family:
        one, new = plain("one", family), plain("new", family)
        async with serving(tmp_path, {"one": one}) as served:
            pid = served.pid("one")
            with caplog.at_level(logging.INFO, "toolcrib.mcp"):
                await served.edit({"new": new, "one": one}, callTimeout="soon")
                refused, names = served.hub.status(), list(served.hub.servers)
                await served.look()
                said = caplog.text.count("the one before is served")
                await served.edit({"one": one, "new": new})
            await served.until_running("new")

            assert refused.config_problem is not None
            assert "callTimeout" in refused.config_problem
            assert names == ["one"]
            assert said == 1
            assert served.hub.status().config_problem is None
            assert list(served.hub.servers) == ["one", "new"]
            assert served.pid("one") == pid


async def test_a_server_that_did_not_change_keeps_its_namespace(tmp_path: Path) -> None:
    async with nothing_left() as family:
        one, other = plain("one", family), plain("other", family)
        async with serving(tmp_path, {"my one": one}) as served:
            before, pid = served.tools("my one"), served.pid("my one")
            await served.edit({"my-one": other, "my one": one})
            refused = served.hub.config_problem
            await served.edit({"my one": one, "my-one": other, "other": other})
            await served.until_running("other")

            assert refused is not None
            assert "`my one`, which did not change, would be left out" in refused
            assert list(served.hub.servers) == ["my one", "other"]
            assert (served.tools("my one"), served.pid("my one")) == (before, pid)


async def test_a_server_whose_new_entry_cannot_be_used_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with nothing_left() as family:
        one, other = plain("one", family), plain("other", family)
        async with serving(tmp_path, {"one": one, "other": other}) as served:
            with caplog.at_level(logging.WARNING, "toolcrib.mcp"):
                await served.edit({"one": one, "other": {"command": ["no", "text"]}})

            assert list(served.hub.servers) == ["one"]
            assert "`other`" in caplog.text


async def test_the_version_that_is_served_can_come_back_after_a_bad_one(tmp_path: Path) -> None:
    async with nothing_left() as family:
        entries = {"one": plain("one", family)}
        async with serving(tmp_path, entries) as served:
            served.file.write_text("{", "utf-8")
            await served.look()
            bad = served.hub.config_problem
            await served.edit(entries)

            assert bad is not None
            assert "not JSON" in bad
            assert served.hub.config_problem is None


async def test_half_a_file_is_no_problem_while_it_is_being_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with nothing_left() as family:
        entries = {name: plain(name, family) for name in ("one", "new")}
        async with serving(tmp_path, {"one": entries["one"]}) as served:
            whole = text_of(entries)
            with caplog.at_level(logging.WARNING, "toolcrib.mcp"):
                for end in (0, 10, len(whole) // 2, len(whole)):
                    served.file.write_text(whole[:end], "utf-8")
                    await served.watcher.look()
            await served.until_running("new")

            assert caplog.messages == []
            assert served.hub.config_problem is None


def _renamed(file: Path, text: str) -> None:
    draft = file.with_name("draft")
    draft.write_text(text, "utf-8")
    draft.replace(file)


def _swapped(file: Path, text: str) -> None:
    target = file.with_name(f"version-{len(text)}")
    target.write_text(text, "utf-8")
    link = file.with_name("link")
    link.symlink_to(target)
    link.replace(file)


def _made_again(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text, "utf-8")


@pytest.mark.parametrize("write", [_renamed, _swapped, _made_again])
async def test_a_file_that_is_exchanged_is_seen(tmp_path: Path, write: Any) -> None:
    async with nothing_left() as family:
        entries = {name: plain(name, family) for name in ("one", "new")}
        async with serving(tmp_path, {"one": entries["one"]}) as served:
            write(served.file, text_of(entries))
            await served.look()
            await served.until_running("new")
            write(served.file, text_of({"one": entries["one"]}))
            await served.look()

            assert list(served.hub.servers) == ["one"]


async def test_a_file_that_is_gone_changes_nothing_until_it_is_back(tmp_path: Path) -> None:
    async with nothing_left() as family:
        one, new = plain("one", family), plain("new", family)
        async with serving(tmp_path, {"one": one}) as served:
            served.file.unlink()
            await served.look()
            gone, names = served.hub.config_problem, list(served.hub.servers)
            await served.edit({"new": new})
            await served.until_running("new")

            assert gone is not None
            assert names == ["one"]
            assert served.hub.config_problem is None


async def test_the_settings_file_beside_it_is_watched_too(tmp_path: Path) -> None:
    async with nothing_left() as family, serving(tmp_path, {"one": plain("one", family)}) as served:
        served.file.with_name("toolcrib.toml").write_text('[servers.one]\nnamespace = "uno"\n', "utf-8")
        await served.look()
        await eventually(lambda: served.tools("one")[0].startswith("uno:"))


async def test_servers_of_the_process_itself_stay_as_they_are_and_keep_their_names(tmp_path: Path) -> None:
    own = listing("echo")
    async with nothing_left() as family:
        one = plain("one", family)
        async with serving(tmp_path, {"one": one}, upstreams={"own": own.connect}) as served:
            await served.edit({"new": plain("new", family)})
            await served.until_running("new")
            lives, names = own.lives, list(served.hub.servers)
            await served.edit({"own": one})

            assert (lives, names) == (1, ["new", "own"])
            assert served.hub.config_problem is not None
            assert "another server called 'own'" in served.hub.config_problem
            assert served.tools("own")


async def test_what_clients_listen_for_is_listened_for_at_the_server_that_comes_instead(tmp_path: Path) -> None:
    async with nothing_left() as family, serving(tmp_path, {"one": plain("before", family)}) as served:
        await served.hub.subscribe("client", "one", "note://1")
        await served.edit({"one": plain("after", family)})
        await eventually(lambda: served.hub._served.of("one").watch.is_told)
        watched = served.hub.status().totals.watched
        await served.edit({"other": plain("other", family)})
        await served.hub.unsubscribe("client", "one", "note://1")

        assert watched == 1
        assert served.hub.status().totals.watched == 0


async def test_a_changed_server_that_does_not_start_is_not_offered_and_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with nothing_left() as family, serving(tmp_path, {"one": plain("one", family)}) as served:
        with caplog.at_level(logging.WARNING, "toolcrib.mcp"):
            await served.edit({"one": {"command": "/no/such/program"}})
            await eventually(lambda: not served.tools("one"))
        await served.edit({"one": plain("again", family)})
        await served.until_running("one")
        said = await who(served.hub, "one")

    assert "the server `one` is not ready" in caplog.text
    assert said["name"] == "again"


async def test_a_client_with_a_line_of_its_own_gets_one_to_the_new_server(tmp_path: Path) -> None:
    ours = {"servers": {"one": {"grants": ["sampling"]}}}
    client = caller(capabilities={"sampling": {}})
    async with nothing_left() as family, serving(tmp_path, {"one": plain("before", family)}, **ours) as served:
        before = await _private(served.hub, client)
        await served.edit({"one": plain("after", family)}, **ours)
        after = await _private(served.hub, client)
        await eventually(lambda: served.hub.status().totals.private == 1)

    assert (before, after) == ("before", "after")


async def _private(hub: Hub, client: Caller) -> str:
    async with hub.lease("one", client) as upstream:
        assert upstream is not hub.shared("one")
        result = await upstream.call("tools/call", {"name": "who", "arguments": {}}, timeout=20)
    name: str = result["structuredContent"]["name"]
    return name


async def test_prompts_are_named_by_the_servers_of_now(tmp_path: Path) -> None:
    async with nothing_left() as family:
        one, other = plain("one", family), plain("other", family)
        async with serving(tmp_path, {"one": one, "other": other}) as served:
            relay = Relay(served.hub)
            await served.edit({"one": one, "new": plain("new", family)})
            found = [relay._prompts.inward(name) for name in ("one__p", "other__p", "new__p")]
            await relay.aclose()

    assert found == [("one", "p"), None, ("new", "p")]


async def test_a_transparent_server_keeps_its_names_when_others_come(tmp_path: Path) -> None:
    async with nothing_left() as family:
        one, other = plain("one", family), plain("other", family)
        async with serving(tmp_path, {"one": one}, mode="transparent") as served:
            service = TransparentService(served.hub)

            async def ask(method: str, **params: Any) -> Any:
                request = Request(method=method, params=params, caller=caller(), channel=RecordingChannel())
                return await service.answer(request)

            before = [each["name"] for each in (await ask("tools/list"))["tools"]]
            await served.edit({"other": other, "one": one})
            await served.until_running("other")
            both = [each["name"] for each in (await ask("tools/list"))["tools"]]
            said = [
                (await ask("tools/call", name=name, arguments={}))["structuredContent"]["name"]
                for name in ("who", "other__who")
            ]
            prompts = [service.relay._prompts.inward(name) for name in ("note", "other__note")]
            await served.edit({"one": one})
            await eventually(lambda: not served.tools("other"))
            after = [each["name"] for each in (await ask("tools/list"))["tools"]]
            await service.aclose()

    assert before == after == ["who"]
    assert both == ["other__who", "who"]
    assert said == ["one", "other"]
    assert prompts == [("one", "note"), ("other", "note")]


async def test_the_file_is_looked_at_again_and_again_until_the_end(tmp_path: Path) -> None:
    clock, reads = FakeClock(), []
    async with nothing_left() as family:
        config = config_file(tmp_path, {"one": plain("one", family)})
        async with Hub(config) as hub:
            prepared: list[GatewayConfig] = []

            def load() -> GatewayConfig:
                reads.append(None)
                assert config.path is not None
                return load_config(config.path)

            watcher = ConfigWatcher(hub, load, served=config, prepare=prepared.append, clock=clock)
            task = asyncio.create_task(watcher.run())
            await _tick(clock, lambda: len(reads) == 2)
            for _ in range(5):
                await clock.advance(LOOK_EVERY)
            unchanged = len(reads)
            config_file(tmp_path, {"new": plain("new", family)})
            await _tick(clock, lambda: list(hub.servers) == ["new"])
            task.cancel()

    assert LOOK_EVERY <= 1
    assert unchanged == 2
    assert [list(each.servers) for each in prepared] == [["new"]]


async def _tick(clock: FakeClock, condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await clock.advance(LOOK_EVERY)
            await asyncio.sleep(0.005)


def test_a_change_is_told_in_words() -> None:
    change = ConfigChange(added=("a", "b"), replaced=("c",))

    assert str(change) == "added `a`, `b`; replaced `c`"
    assert str(ConfigChange()) == "no server changed"


class Edits:
    """Random versions of a file with two servers that never change and some that do."""

    def __init__(self, file: Path, family: str, random: Random) -> None:
        self.file = file
        self.servers: dict[str, Any] = {name: plain(name, family) for name in ("steady-a", "steady-b")}
        self.settings: dict[str, Any] = {}
        self.kinds: Counter[str] = Counter()
        self._family = family
        self._random = random
        self._label = 0

    def make(self) -> None:
        """One more."""
        kind = self._random.choice(("add", "remove", "args", "env", "reorder", "settings", "break", "restore", "gone"))
        self.kinds[kind] += 1
        getattr(self, f"_{kind}")()

    def restore(self) -> None:
        self._restore()

    def label_of(self, name: str) -> str:
        """What the server says that it is."""
        label: str = self.servers[name]["args"][3]
        return label

    @property
    def _volatile(self) -> list[str]:
        return [name for name in self.servers if name.startswith("v")]

    def _add(self) -> None:
        if len(self._volatile) < 4:
            self._label += 1
            items = list(self.servers.items())
            items.insert(self._random.randrange(len(items) + 1), (f"v{self._label}", self._entry()))
            self.servers = dict(items)
        self._restore()

    def _remove(self) -> None:
        if self._volatile:
            del self.servers[self._random.choice(self._volatile)]
        self._restore()

    def _args(self) -> None:
        if self._volatile:
            self.servers[self._random.choice(self._volatile)] = self._entry()
        self._restore()

    def _env(self) -> None:
        if self._volatile:
            name = self._random.choice(self._volatile)
            entry = self.servers[name]
            self.servers[name] = {**entry, "env": {**entry["env"], "SOME": str(self._random.random())}}
        self._restore()

    def _reorder(self) -> None:
        names = list(self.servers)
        self._random.shuffle(names)
        self.servers = {name: self.servers[name] for name in names}
        self._restore()

    def _settings(self) -> None:
        self.settings = {
            "callTimeout": self._random.randrange(20, 40),
            "servers": {name: {"timeout": self._random.randrange(20, 40)} for name in self.servers},
        }
        self._restore()

    def _break(self) -> None:
        text = text_of(self.servers)
        self.file.write_text(text[: self._random.randrange(len(text))], "utf-8")

    def _gone(self) -> None:
        self.file.unlink(missing_ok=True)

    def _restore(self) -> None:
        own = {name: each for name, each in self.settings.get("servers", {}).items() if name in self.servers}
        text = text_of(self.servers, **{**self.settings, "servers": own})
        (_renamed if self._random.random() < 0.5 else _rewritten)(self.file, text)

    def _entry(self) -> dict[str, Any]:
        self._label += 1
        return plain(f"label-{self._label}", self._family)


def _rewritten(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")


async def _call_until(stop: asyncio.Event, runtime: ProxyRuntime, tool: str, said: list[dict[str, Any]]) -> None:
    for nonce in _nonces():
        if stop.is_set():
            return
        result = await runtime.execute(tool, {"nonce": nonce})
        assert result["structuredContent"]["nonce"] == nonce
        said.append(result["structuredContent"])


async def _bother_until(stop: asyncio.Event, hub: Hub, outcomes: Counter[str]) -> None:
    """Call whatever else is there; it may go away at any moment, and then it says so."""
    while not stop.is_set():
        for name in [each for each in hub.servers if each.startswith("v")]:
            try:
                await who(hub, name)
            except (ToolError, RpcError) as failure:
                outcomes[type(failure).__name__] += 1
            else:
                outcomes["answered"] += 1
        await asyncio.sleep(0)


def _nonces() -> Iterator[str]:
    yield from map(str, iter(range(10**9)))


@needs_proc
@pytest.mark.fault("F15")
async def test_no_call_of_an_unchanged_server_fails_while_the_file_is_edited_200_times(tmp_path: Path) -> None:
    random, stop = Random(13), asyncio.Event()
    said: dict[str, list[dict[str, Any]]] = {"steady-a": [], "steady-b": []}
    outcomes: Counter[str] = Counter()
    async with asyncio.timeout(300), nothing_left() as family:
        descriptors = open_descriptors()
        edits = Edits(tmp_path / "mcp.json", family, random)
        async with serving(tmp_path, edits.servers) as served:
            runtime = ProxyRuntime(served.hub)
            async with asyncio.TaskGroup() as group:
                for name, heard in said.items():
                    for _ in range(3):
                        group.create_task(_call_until(stop, runtime, served.tools(name)[0], heard))
                group.create_task(_bother_until(stop, served.hub, outcomes))
                for _ in range(EDITS):
                    before = sum(map(len, said.values()))
                    edits.make()
                    for _ in range(random.randrange(3)):
                        await served.watcher.look()
                    await eventually(lambda at=before + 2: sum(map(len, said.values())) >= at, seconds=60)
                edits.restore()
                await served.look()
                await served.until_running(*edits.servers)
                stop.set()
            final = {name: (await who(served.hub, name))["name"] for name in served.hub.servers}
            names = list(served.hub.servers)
        # The pipes of the last processes are closed by the event loop in its next round.
        await eventually(lambda: open_descriptors() == descriptors)

    assert names == list(edits.servers)
    assert final == {name: edits.label_of(name) for name in names}
    assert {name: len({each["pid"] for each in heard}) for name, heard in said.items()} == {
        "steady-a": 1,
        "steady-b": 1,
    }
    assert all(each["name"] == name for name, heard in said.items() for each in heard)
    assert set(outcomes) <= {"answered", "UpstreamUnavailable"}
    assert len(edits.kinds) == 9
    print(f"{EDITS} edits: {dict(edits.kinds)}; {sum(map(len, said.values()))} calls; others {dict(outcomes)}")  # noqa: T201
