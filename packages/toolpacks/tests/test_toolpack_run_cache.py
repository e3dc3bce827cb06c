"""Deterministic packs are remembered by what they are and what they were given; all others run every time."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from running_packs import ask, load, needs_walls, running, write_pack, write_python

from toolcrib_runtime import ToolCall
from toolcrib_runtime.testing import FakeClock
from toolcrib_toolpacks.planning import RunSettings
from toolcrib_toolpacks.running import open_toolbox

pytestmark = [pytest.mark.req("TP-27"), needs_walls]

COUNTS = """
    import os, time
    def run(payload):
        with open("out/log", "a") as log:
            log.write("x")
        time.sleep(payload.get("seconds", 0))
        return {"runs": os.path.getsize("out/log"), "list": [1]}
"""


def write_counting(folder: Path, name: str = "counts", **fields: Any) -> None:
    # It says of itself that it only reads: what it writes is how these tests see it run.
    (folder / "out").mkdir(exist_ok=True)
    write_python(folder, name, COUNTS, **{"deterministic": True, **fields})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Only the log may be written; the definition of a pack that may write is never cached, so the wall is opened here.
    from toolcrib_toolpacks import planning
    from toolcrib_toolpacks.capabilities import sandbox_for

    def opened(pack: Any, command: Any, **options: Any) -> Any:
        wishes = sandbox_for(pack, command, **options)
        from dataclasses import replace

        return replace(wishes, writable=(str(tmp_path / "out"),))

    monkeypatch.setattr(planning, "sandbox_for", opened)
    return tmp_path


async def test_an_equal_call_is_answered_from_memory_and_a_caller_cannot_change_it(folder: Path) -> None:
    write_counting(folder)

    async with running(folder) as toolbox:
        first = await ask(toolbox, "counts", a=1, b=2.0)
        first.unwrap()["list"].append("spoilt")
        second = await ask(toolbox, "counts", b=2, a=1)
        other = await ask(toolbox, "counts", a=2)

    assert second.unwrap() == {"runs": 1, "list": [1]}
    assert (first.source, second.source) == ("run", "cache")
    assert other.unwrap()["runs"] == 2


@pytest.mark.parametrize(
    "fields",
    [{"deterministic": False}, {"risk": {"effects": "write"}}, {"risk": {"effects": "read", "destructive": True}}],
    ids=["not-deterministic", "writes", "destroys"],
)
async def test_what_is_not_deterministic_or_does_something_runs_every_time(fields: Any, folder: Path) -> None:
    write_counting(folder, **fields)

    from toolcrib_runtime import Policy

    async with running(folder, policy=Policy(by_risk=None)) as toolbox:
        runs = [(await ask(toolbox, "counts")).unwrap()["runs"] for _ in range(2)]

    assert runs == [1, 2]


async def test_equal_calls_at_once_run_once(folder: Path) -> None:
    write_counting(folder)

    async with running(folder, workers=4) as toolbox:
        calls = [ToolCall("test:counts", {"seconds": 0.2}) for _ in range(8)]
        results = await toolbox.execute(calls)

    assert [each.unwrap()["runs"] for each in results] == [1] * 8
    assert sorted(each.source for each in results) == ["cache"] * 7 + ["run"]


async def test_a_result_is_forgotten_after_its_time(folder: Path) -> None:
    write_counting(folder)
    clock = FakeClock()

    async with running(folder, cache_ttl=60.0, clock=clock) as toolbox:
        first = (await ask(toolbox, "counts")).unwrap()["runs"]
        await clock.advance(59)
        second = (await ask(toolbox, "counts")).unwrap()["runs"]
        await clock.advance(2)
        third = (await ask(toolbox, "counts")).unwrap()["runs"]

    assert (first, second, third) == (1, 1, 2)


async def test_only_so_many_results_are_kept(folder: Path) -> None:
    write_counting(folder)

    async with running(folder, cache_entries=2) as toolbox:
        for n in (1, 2, 3, 1):
            last = await ask(toolbox, "counts", n=n)

    assert (last.source, last.unwrap()["runs"]) == ("run", 4)


async def test_the_cache_key_of_a_pack_and_what_it_names_of_the_environment_count(folder: Path) -> None:
    write_counting(
        folder,
        env={"passthrough": ["SEASON"]},
        templating={"engine": "jinja2", "cacheKey": "{{ env.SEASON }}"},
    )
    packs = load(folder)
    runs = []
    for season in ("summer", "winter"):
        settings = RunSettings(environment={"SEASON": season}, granted_env=frozenset({"SEASON"}))
        async with open_toolbox(packs, settings=settings) as toolbox:
            executor: Any = toolbox.tools[0].executor
            runs.append(executor.depends_on("test:counts@1.0.0", {}))

    assert runs[0].endswith("\nsummer")
    assert runs[1].endswith("\nwinter")
    assert runs[0].split("\n")[0] == runs[1].split("\n")[0]


async def test_a_cache_key_can_only_divide_and_never_join(folder: Path) -> None:
    # The hazard of keys that name too little: two calls with different tokens would share a result.
    write_counting(folder, templating={"engine": "jinja2", "cacheKey": "{{ input.path }}"})

    async with running(folder) as toolbox:
        one = await ask(toolbox, "counts", path="a", token="x")
        other = await ask(toolbox, "counts", path="a", token="y")

    assert (one.unwrap()["runs"], other.unwrap()["runs"]) == (1, 2)


async def test_code_that_is_changed_is_run_and_not_remembered(folder: Path) -> None:
    write_python(folder, "code", "def run(payload):\n    return 'old'\n", deterministic=True)

    async with running(folder) as toolbox:
        old = [(await ask(toolbox, "code")).unwrap() for _ in range(2)]
        (folder / "code.py").write_text("def run(payload):\n    return 'newer'\n")
        os.utime(folder / "code.py", ns=(1, 1))
        new = await ask(toolbox, "code")

    assert old == ["old", "old"]
    assert (new.unwrap(), new.source) == ("newer", "run")


async def test_a_listed_file_that_changes_is_read_again(folder: Path) -> None:
    (folder / "data.txt").write_text("one")
    code = "def run(payload):\n    return open('data.txt').read()\n"
    write_python(folder, "reads", code, deterministic=True, caps={"filesystem": {"read": ["data.txt"]}})

    async with running(folder) as toolbox:
        one = (await ask(toolbox, "reads")).unwrap()
        (folder / "data.txt").write_text("other")
        other = (await ask(toolbox, "reads")).unwrap()
        (folder / "data.txt").unlink()
        missing = (await ask(toolbox, "reads")).error

    assert (one, other) == ("one", "other")
    assert missing is not None


async def test_packs_of_the_same_id_and_version_never_share_a_result(folder: Path) -> None:
    results = []
    for word in ("first", "second"):
        code = f"def run(payload):\n    return {word!r}\n"
        write_python(folder / word, "same", code, deterministic=True)
        async with running(folder / word) as toolbox:
            results.append((await ask(toolbox, "same")).unwrap())

    assert results == ["first", "second"]
    assert len({pack.content_hash for word in ("first", "second") for pack in load(folder / word)}) >= 1


async def test_a_failure_and_a_late_result_are_not_remembered(folder: Path) -> None:
    code = """
        import os, time
        def run(payload):
            with open("out/log", "a") as log:
                log.write("x")
            runs = os.path.getsize("out/log")
            if runs == 1:
                raise ValueError("the first fails")
            if runs == 2:
                time.sleep(60)
            return runs
    """
    (folder / "out").mkdir()
    write_python(folder, "odd", code, deterministic=True, timeoutMs=700)

    async with running(folder) as toolbox:
        failed, late = await ask(toolbox, "odd"), await ask(toolbox, "odd")
        good, again = await ask(toolbox, "odd"), await ask(toolbox, "odd")

    assert failed.error is not None
    assert late.error is not None
    assert late.error.code == "toolbox.deadline-exceeded"
    assert (good.unwrap(), again.unwrap(), again.source) == (3, 3, "cache")


async def test_one_caller_that_goes_away_does_not_spoil_the_others(folder: Path) -> None:
    write_counting(folder)

    async with running(folder) as toolbox:
        await ask(toolbox, "counts", warm=True)
        leader = asyncio.create_task(ask(toolbox, "counts", seconds=0.3))
        await asyncio.sleep(0.05)
        follower = asyncio.create_task(ask(toolbox, "counts", seconds=0.3))
        await asyncio.sleep(0.05)
        leader.cancel()
        result = await follower

    assert result.unwrap()["list"] == [1]


async def test_scripts_and_programs_are_remembered_too(folder: Path) -> None:
    write_pack(folder, "cat", {"kind": "cli", "cmd": ["cat"]}, deterministic=True)

    async with running(folder) as toolbox:
        sources = [(await ask(toolbox, "cat", x=1)).source for _ in range(2)]

    assert sources == ["run", "cache"]
