"""A secret of the configuration is taken out of everything that a server says, whatever it is said in."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hub_cases import caller, config_file
from relay_cases import until
from safeguard_cases import ALLOW, MODES, Guarded, service_of

from toolcrib_mcp.hub import Hub
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards import open_safeguards

pytestmark = pytest.mark.fault("K11")

# Assembled here, so that nothing in the repository looks like a secret.
SECRET = "Zx8Kq2Lm9" + "Rt4Wv7Yb3Nc6Hd1"
LEAKY = Path(__file__).with_name("leaky_server.py")
BY = caller(log_level="debug")


@asynccontextmanager
async def leaking(folder: Path, mode: str, *, servers: int = 1) -> AsyncIterator[Guarded]:
    """A gateway in front of servers whose every word has the secret in it."""
    state = folder / "state"
    state.mkdir(exist_ok=True, mode=0o700)
    (folder / "toolcrib.policy.toml").write_text(ALLOW, encoding="utf-8")
    entry = {"command": sys.executable, "args": ["-I", "-S", str(LEAKY)], "env": {"API_TOKEN": SECRET}}
    names = ["notes", "other"][:servers]
    grants = {"servers": {name: {"grants": ["logging"]} for name in names}}
    config = config_file(folder, dict.fromkeys(names, entry), mode=mode, **grants)
    async with open_safeguards(config, state_dir=state) as safeguards:
        manifest = state / "servers.json"
        async with Hub(config, pins=safeguards.pins, manifest=manifest, solo=servers == 1) as hub:
            await hub.start(timeout=30)
            async with aclosing(await service_of(mode, hub, state, safeguards)) as service:
                yield Guarded(mode=mode, service=service, hub=hub, safeguards=safeguards, servers={})


ASKED: dict[str, dict[str, Any]] = {
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "note://one"},
    "prompts/list": {},
    "prompts/get": {"name": "ask"},
    "completion/complete": {
        "ref": {"type": "ref/resource", "uri": "note://one"},
        "argument": {"name": "a", "value": ""},
    },
    "tools/list": {},
}


def _has_secret(value: Any) -> bool:
    text = json.dumps(value)
    return SECRET in text or "VXNlcyBaeDh" in text


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("mode", MODES)
async def test_no_answer_log_or_progress_has_the_secret(tmp_path: Path, mode: str, servers: int) -> None:
    async with leaking(tmp_path, mode, servers=servers) as case:
        for method, params in ASKED.items():
            named = {"name": "notes__ask"} if method == "prompts/get" and servers == 2 else {}
            result = await case.ask(method, by=BY, **{**params, **named}, _meta={"progressToken": 1})
            assert result
            assert not _has_secret(result), method
        told = list(case.channel.told)
        face = await case.service.face()

    assert any("[" in json.dumps(each) for each in told)
    assert not _has_secret(told)
    assert not _has_secret([face.instructions, dict(face.capabilities)])


@pytest.mark.parametrize("servers", [1, 2])
async def test_a_log_message_that_belongs_to_no_request_has_no_secret(tmp_path: Path, servers: int) -> None:
    by, heard = replace(BY, conversation="stdio-1"), list[Any]()
    async with leaking(tmp_path, "gateway", servers=servers) as case:
        case.service.feed.subscribe(lambda notice: heard.append(dict(notice.params)))
        await case.ask("completion/complete", by=by, **ASKED["completion/complete"])
        # It comes after the answer: by then the request may have ended, or not.
        await until(lambda: "Afterwards" in json.dumps([heard, case.channel.told]))

    assert not _has_secret([heard, case.channel.told])


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_its_log_and_its_progress_have_no_secret(tmp_path: Path, mode: str) -> None:
    async with leaking(tmp_path, mode) as case:
        result = await case.run("look", by=BY, meta={"progressToken": 1})

    assert "isError" not in result
    assert case.channel.told
    assert not _has_secret([result, case.channel.told])


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("mode", MODES)
async def test_an_error_has_no_secret(tmp_path: Path, mode: str, servers: int) -> None:
    async with leaking(tmp_path, mode, servers=servers) as case:
        with pytest.raises(RpcError) as refused:
            await case.ask("resources/read", by=BY, uri="note://none")

    assert not _has_secret([refused.value.message, refused.value.data, str(refused.value)])


async def test_pages_of_the_catalogue_and_definitions_have_no_secret(tmp_path: Path) -> None:
    async with leaking(tmp_path, "gateway") as case:
        pages = [
            await case.ask("tools/call", name="tool_browse", arguments=arguments)
            for arguments in ({"query": "look"}, {"path": "notes__look", "detail": "full"}, {"query": SECRET})
        ]

    assert not _has_secret(pages[:2])
    assert "look" in json.dumps(pages[1])
    assert "Uses" not in json.dumps(pages[2])


async def test_what_is_kept_of_the_catalogue_and_of_pins_has_no_secret(tmp_path: Path) -> None:
    async with leaking(tmp_path, "gateway"):
        pass

    files = [each for each in (tmp_path / "state").rglob("*") if each.is_file()]
    assert (tmp_path / "state" / "servers.json") in files
    assert [each.name for each in files if SECRET.encode() in each.read_bytes()] == []
