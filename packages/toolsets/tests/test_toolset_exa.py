"""The built-in web search against a service on this machine that behaves like the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from toolset_kit import CANARY, KEY
from toolset_services import Service, web_service

from toolcrib_runtime import Toolbox
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types import Credentials, ExaWebSearch

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("TS-9")]

PAGES = {
    "results": [
        {"title": "One", "url": "https://one.example", "score": 0.9, "text": "long", "highlights": ["a", "b"]},
        {"title": "Two", "url": "https://two.example", "publishedDate": "2026-01-01", "extra": 1},
    ]
}


@pytest.fixture
def exa() -> Iterator[Service]:
    with web_service() as service:
        yield service


@pytest.fixture
async def tools(exa: Service) -> AsyncIterator[Toolbox]:
    kind = ExaWebSearch(base_url=exa.url, grant=NetGrant(allow_loopback=True))
    credentials = Credentials(namespace="web", settings={}, api_key=KEY)
    async with kind.open(credentials) as toolbox:
        yield toolbox


async def _error(tools: Toolbox, **arguments: Any) -> dict[str, Any]:
    result = await tools.call("web:search", {"query": "sheep", **arguments}, timeout=5)
    assert result.error is not None
    return {"category": result.error.category.value, "text": str(result.error), "retryable": result.error.retryable}


async def test_a_search_sends_the_key_in_its_header_and_gives_pages(tools: Toolbox, exa: Service) -> None:
    exa.answer = PAGES

    result = await tools.call("web:search", {"query": "sheep"})

    assert result.value == {
        "results": [
            {"title": "One", "url": "https://one.example", "score": 0.9, "snippet": "a … b"},
            {"title": "Two", "url": "https://two.example", "publishedDate": "2026-01-01"},
        ]
    }
    [asked] = exa.asked
    assert (asked.method, asked.path, asked.headers["x-api-key"]) == ("POST", "/search", CANARY)
    assert asked.body["numResults"] == 5


async def test_the_other_methods_ask_their_own_places(tools: Toolbox, exa: Service) -> None:
    exa.answer = PAGES
    similar = await tools.call("web:find_similar", {"url": "https://one.example", "num_results": 10})
    read = await tools.call("web:contents", {"urls": ["https://one.example"]})
    exa.answer = {"answer": "42", "citations": [{"title": "One", "url": "https://one.example", "text": "x"}]}
    said = await tools.call("web:answer", {"query": "what?"})

    assert len(similar.value["results"]) == 2
    assert read.value["results"][0] == {"url": "https://one.example", "title": "One", "text": "long"}
    assert said.value == {"answer": "42", "sources": [{"title": "One", "url": "https://one.example"}]}
    assert [each.path for each in exa.asked] == ["/findSimilar", "/contents", "/answer"]


async def test_arguments_that_do_not_fit_are_not_sent(tools: Toolbox, exa: Service) -> None:
    for arguments in ({"query": ""}, {"query": "x", "num_results": 11}, {"q": "x"}):
        result = await tools.call("web:search", arguments)
        assert result.error is not None
        assert result.error.category.value == "validation"
    assert exa.asked == []


@pytest.mark.parametrize(
    ("status", "category", "retryable"),
    [(401, "permission", False), (403, "permission", False), (429, "transient", True), (500, "unavailable", True),
     (400, "validation", False), (302, "validation", False)],
)  # fmt: skip
async def test_each_refusal_of_the_service_is_told_apart(
    tools: Toolbox, exa: Service, status: int, category: str, *, retryable: bool
) -> None:
    exa.status, exa.answer = status, {"error": f"no: {CANARY}"}
    exa.headers = {"location": "http://127.0.0.1:1/elsewhere"} if status == 302 else {}

    told = await _error(tools)

    assert (told["category"], told["retryable"]) == (category, retryable)
    assert CANARY not in told["text"]


@pytest.mark.parametrize("answer", [b"<html>", b"{", b"\xff", [], {"results": "none"}, {"results": [1]}])
async def test_an_answer_of_another_form_is_a_failure_of_the_service(
    tools: Toolbox, exa: Service, answer: object
) -> None:
    exa.answer = answer

    assert (await _error(tools))["category"] == "unavailable"


async def test_a_service_that_hangs_is_given_up(tools: Toolbox, exa: Service) -> None:
    exa.held.clear()

    result = await tools.call("web:search", {"query": "sheep"}, timeout=0.2)
    exa.held.set()

    assert result.error is not None
    assert result.error.category.value == "timeout"


@pytest.mark.req("TS-11")
@pytest.mark.fault("H5")
async def test_a_service_that_echoes_the_key_does_not_get_it_into_a_result(tools: Toolbox, exa: Service) -> None:
    exa.answer = {"results": [{"title": f"you sent {CANARY}", "url": "https://x.example"}]}

    result = await tools.call("web:search", {"query": "sheep"})

    assert result.value["results"][0]["title"] == "you sent ••••"
    assert CANARY not in repr(result)


async def test_the_type_shows_its_methods_without_an_instance_and_takes_no_settings() -> None:
    kind = ExaWebSearch()

    assert [each.name for each in kind.definition.tools] == ["search", "find_similar", "contents", "answer"]
    assert all(each.risk.effects == "read" for each in kind.definition.tools)
    assert kind.check_settings({}) == {}
    with pytest.raises(InvalidSettings):
        kind.check_settings({"x": 1})
