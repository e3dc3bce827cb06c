"""`builtin-exa-web-search`: searching the web by meaning, with each user's own key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue

from toolcrib_core import ToolRisk
from toolcrib_runtime import Toolbox, create_tool, create_toolbox
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.runnable import RunnableTool
from toolcrib_toolsets.contract import ToolsetDefinition
from toolcrib_toolsets.errors import ServiceFailed
from toolcrib_toolsets.types.calling import WebService, grant_for
from toolcrib_toolsets.types.kinds import Credentials, NoSettings

TYPE: Final = "builtin-exa-web-search"
BASE_URL: Final = "https://api.exa.ai"

_READS: Final = ToolRisk(effects="read", external_network=True, idempotent=True)
_BETWEEN_HIGHLIGHTS: Final = " … "

Results = Annotated[int, Field(ge=1, le=10)]
Url = Annotated[str, Field(min_length=1, max_length=2048)]
Query = Annotated[str, Field(min_length=1, max_length=2000)]
Ask = Callable[[str, dict[str, Any]], Any]


class ExaWebSearch(NoSettings):
    """The type; `base_url` and `grant` are the operator's, for a service of one's own that speaks the same."""

    def __init__(self, *, base_url: str = BASE_URL, grant: NetGrant | None = None) -> None:
        self._base_url = base_url.rstrip("/")
        self._grant = grant or NetGrant()

    @cached_property
    def definition(self) -> ToolsetDefinition:
        """What it is, without an instance."""
        tools = _tools(_nobody, namespace=TYPE)
        return ToolsetDefinition(
            toolset_id=TYPE,
            name="Exa Web Search",
            description="Searches the web by meaning, reads pages and answers questions with their sources.",
            tools=tuple(each.definition for each in tools),
        )

    @asynccontextmanager
    async def open(self, credentials: Credentials) -> AsyncIterator[Toolbox]:
        """The tools of an instance.

        Raises:
            ToolError: The base cannot be asked.
        """
        headers = {} if credentials.api_key is None else {"x-api-key": credentials.api_key}
        grant = grant_for(self._base_url, self._grant)
        async with WebService.opened(credentials.namespace, grant=grant, headers=headers) as service:

            async def ask(path: str, body: dict[str, Any]) -> JsonValue:
                return await service.ask("POST", f"{self._base_url}/{path}", body=body)

            yield create_toolbox(_tools(ask, namespace=credentials.namespace))


def _tools(ask: Ask, *, namespace: str) -> list[RunnableTool]:
    async def search(query: Query, num_results: Results = 5) -> dict[str, Any]:
        """Search the web by meaning and give pages with the passages that fit.

        Args:
            query: What to look for, as a sentence.
            num_results: How many pages.
        """
        body = {"query": query, "numResults": num_results, "contents": {"text": True, "highlights": True}}
        return {"results": [_page(each) for each in _results(await ask("search", body), namespace)]}

    async def find_similar(url: Url, num_results: Results = 5) -> dict[str, Any]:
        """Find pages that are about the same as a page.

        Args:
            url: The page to start from.
            num_results: How many pages.
        """
        body = {"url": url, "numResults": num_results, "contents": {"highlights": True}}
        return {"results": [_page(each) for each in _results(await ask("findSimilar", body), namespace)]}

    async def contents(urls: Annotated[list[Url], Field(min_length=1, max_length=10)]) -> dict[str, Any]:
        """Read the text of pages.

        Args:
            urls: The pages to read.
        """
        found = _results(await ask("contents", {"urls": urls, "text": True}), namespace)
        return {"results": [_picked(each, ("url", "title", "text")) for each in found]}

    async def answer(query: Query) -> dict[str, Any]:
        """Answer a question from the web, with the pages that the answer rests on.

        Args:
            query: The question.
        """
        said = await ask("answer", {"query": query, "text": False})
        if not isinstance(said, dict) or not isinstance(said.get("answer"), str):
            raise _unreadable(namespace)
        sources = said.get("citations") or []
        return {
            "answer": said["answer"],
            "sources": [_picked(each, ("title", "url")) for each in sources if isinstance(each, dict)],
        }

    methods = (search, find_similar, contents, answer)
    return [
        create_tool(each, namespace=namespace, risk=_READS, tags=["web", "search"], output=False) for each in methods
    ]


def _results(said: object, name: str) -> list[dict[str, Any]]:
    found = said.get("results") if isinstance(said, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise _unreadable(name)
    return found


def _page(found: Mapping[str, Any]) -> dict[str, Any]:
    page = _picked(found, ("title", "url", "publishedDate", "score"))
    highlights = found.get("highlights")
    if isinstance(highlights, list) and highlights:
        page["snippet"] = _BETWEEN_HIGHLIGHTS.join(map(str, highlights))
    return page


def _picked(found: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: found[name] for name in names if found.get(name) is not None}


def _unreadable(name: str) -> ServiceFailed:
    return ServiceFailed.of(subject=f"`{name}`", reason="its answer has another form than this version reads")


async def _nobody(path: str, body: dict[str, Any]) -> JsonValue:
    raise NotImplementedError(path, body)  # a type has definitions only; an instance asks
