"""A real server asks a real client behind the proxy, whatever the era of the client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp.types as t
import pytest
from pydantic import FileUrl

from tests.reference.clients import ERAS, TRANSPORTS, Era, connected, through_proxy
from tests.reference.parts import node_package

pytestmark = [
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.xdist_group("pass-through"),
    pytest.mark.req("GW-6.6", "GW-6.2"),
]

CALLS: dict[str, dict[str, Any]] = {
    "trigger-sampling-request": {"prompt": "Which bird?", "maxTokens": 20},
    "trigger-elicitation-request": {},
    "get-roots-list": {},
}


class Answering:
    """A client's answers, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def sample(self, _: Any, params: t.CreateMessageRequestParams) -> t.CreateMessageResult:
        self._note(params)
        return t.CreateMessageResult(role="assistant", content=t.TextContent(type="text", text="a heron"), model="m")

    async def elicit(self, _: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        self._note(params)
        return t.ElicitResult(action="accept", content={"name": "Ada"})

    async def list_roots(self, _: Any) -> t.ListRootsResult:
        # Not noted: the server also asks for roots by itself, some time after it has started.
        return t.ListRootsResult(roots=[t.Root(uri=FileUrl("file:///pond"), name="pond")])

    @property
    def callbacks(self) -> dict[str, Any]:
        return {
            "sampling_callback": self.sample,
            "elicitation_callback": self.elicit,
            "list_roots_callback": self.list_roots,
        }

    def _note(self, params: t.RequestParams) -> None:
        self.asked.append(params.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"}))


async def called(client: Any) -> list[str]:
    """The texts of every answer; the SDK itself answers what a tool asks before."""
    found = []
    for name, arguments in CALLS.items():
        result = await client.client.call_tool(name, arguments)
        found += [block.text for block in result.content]
    return found


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
async def test_what_a_server_asks_reaches_the_client_and_its_answer_the_server(
    era: Era, transport: str, tmp_path: Path
) -> None:
    server = node_package("everything", "stdio")
    directly, behind = Answering(), Answering()

    async with connected(server, "legacy", **directly.callbacks) as client:
        direct = await called(client)
    async with through_proxy(
        server,
        mode="transparent",
        transport=transport,
        era=era,
        folder=tmp_path,
        grants=("sampling", "elicitation", "roots"),
        **behind.callbacks,
    ) as client:
        proxied = await called(client)

    assert "a heron" in direct[0]
    assert proxied == direct
    assert len(behind.asked) == 2
    assert behind.asked == directly.asked


async def test_what_was_not_granted_is_not_offered_to_the_server(tmp_path: Path) -> None:
    answering = Answering()

    async with through_proxy(
        node_package("everything", "stdio"),
        mode="transparent",
        transport="stdio",
        era="legacy",
        folder=tmp_path,
        grants=("roots",),
        **answering.callbacks,
    ) as client:
        roots = await client.client.call_tool("get-roots-list", {})
        listed = {each["name"] for each in await client.every("tools/list", "tools")}
        refused = await client.outcome("tools/call", {"name": "trigger-sampling-request", "arguments": {"prompt": "?"}})

    assert "file:///pond" in str(roots.content)
    assert "trigger-sampling-request" not in listed
    assert "error" in refused or refused["isError"]
    assert answering.asked == []
