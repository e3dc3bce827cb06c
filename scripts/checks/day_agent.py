"""A scripted agent that works on tasks through the gateway, and counts what a model would have read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from checks.day_tasks import Step, Task
from checks.stdio_client import Message, StdioClient
from toolcrib_core import count_tokens

_BROWSE: Final = "tool_browse"
_EXECUTE: Final = "tool_execute"
_VIEW: Final = "tool_view"
_HANDLE: Final = re.compile(r"\bart_[a-z0-9]+")
_REFERENCE: Final = re.compile(r"\{ref:(.+)\}")
_TRUSTED: Final = ("playwright", "sqlite")
"""Servers of which the person says that all their tools may run."""

_SECONDS: Final = 300.0


@dataclass
class Person:
    """Answers every question with the widest sensible "always", and counts the questions."""

    asked: list[str] = field(default_factory=list)

    def answer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result of an `elicitation/create`."""
        message = str(params.get("message", ""))
        self.asked.append(message)
        properties = params.get("requestedSchema", {}).get("properties", {})
        return {"action": "accept", "content": {name: _choose(each, message) for name, each in properties.items()}}


@dataclass(frozen=True, kw_only=True)
class TaskOutcome:
    """What one task took."""

    name: str
    problem: str | None = None
    """Why it was not done."""
    browses: int = 0
    executes: int = 0
    views: int = 0
    wrong_turns: int = 0
    """Searches that did not show the tool, and calls that failed though they should not."""
    questions: int = 0
    prompt_tokens: int = 0
    """Of all turns together: each turn's prompt holds everything before it."""
    direct_tokens: int = 0
    """The same with the definition of every tool in the prompt, and without searching."""

    @property
    def calls(self) -> int:
        """Of the three tools."""
        return self.browses + self.executes + self.views


@dataclass(frozen=True, kw_only=True)
class Prompts:
    """What stands before every conversation, in tokens."""

    gateway: int
    direct: int


class Agent:
    """Works on tasks, each in a conversation of its own."""

    def __init__(self, client: StdioClient, person: Person, prompts: Prompts) -> None:
        self._client = client
        self._person = person
        self._prompts = prompts

    async def work_on(self, task: Task) -> TaskOutcome:
        """Search, call, read; end at the first thing that cannot be mended."""
        questions = len(self._person.asked)
        talk = _Conversation(self._client, task)
        problem = await talk.run()
        through = prompt_tokens(self._prompts.gateway, count_tokens(task.question), talk.turns)
        direct = prompt_tokens(self._prompts.direct, count_tokens(task.question), talk.direct_turns)
        return TaskOutcome(
            name=task.name,
            problem=problem,
            browses=talk.calls[_BROWSE],
            executes=talk.calls[_EXECUTE],
            views=talk.calls[_VIEW],
            wrong_turns=talk.wrong_turns,
            questions=len(self._person.asked) - questions,
            prompt_tokens=through,
            direct_tokens=direct,
        )


def prompt_tokens(before: int, question: int, turns: Sequence[int]) -> int:
    """The prompts of all turns together: one for each call, and one for the answer at the end.

    `turns` has for each call the tokens of its arguments and its result, which every later prompt holds.
    """
    total = prompt = before + question
    for tokens in turns:
        prompt += tokens
        total += prompt
    return total


class _Conversation:
    def __init__(self, client: StdioClient, task: Task) -> None:
        self._client = client
        self._task = task
        self._shown: list[str] = []
        self._last = ""
        self.calls = {_BROWSE: 0, _EXECUTE: 0, _VIEW: 0}
        self.turns: list[int] = []
        self.direct_turns: list[int] = []
        self.wrong_turns = 0

    async def run(self) -> str | None:
        """Why it was not done; nothing when it was."""
        missing = await self._find({step.tool for step in self._task.steps})
        if missing:
            return f"no search showed {', '.join(sorted(missing))}"
        for step in self._task.steps:
            problem = await self._take(step)
            if problem is not None:
                self.wrong_turns += 1
                return problem
        return None

    async def _find(self, tools: set[str]) -> set[str]:
        missing = tools
        for query in self._task.queries:
            self._shown.append(text_of(await self._call(_BROWSE, {"query": query})))
            missing = {tool for tool in tools if self._id_of(tool) is None}
            if not missing:
                break
            self.wrong_turns += 1
        return missing

    def _id_of(self, tool: str) -> str | None:
        return find_id(tool, self._shown)

    async def _take(self, step: Step) -> str | None:
        arguments = fill_references(step.arguments, self._last)
        result = await self._call(_EXECUTE, {"tool_id": self._id_of(step.tool), "args": arguments})
        answer = text_of(result)
        self.direct_turns.append(tokens_of(arguments) + count_tokens(step.whole or answer))
        if is_error(result) is not step.fails:
            return f"{step.tool} answered: {answer[:300]}"
        handle = _HANDLE.search(answer)
        if step.holds not in answer and step.view is not None and handle is not None:
            answer = text_of(await self._call(_VIEW, {"handle": handle[0], "selector": step.view}))
        self._last = answer
        return None if step.holds in answer else f"{step.tool}: `{step.holds}` is not in {answer[:300]}"

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> Message:
        self.calls[name] += 1
        result = await self._client.call_tool(name, arguments, seconds=_SECONDS)
        self.turns.append(tokens_of(arguments) + count_tokens(text_of(result)))
        return result


def find_id(tool: str, pages: Iterable[str]) -> str | None:
    """How a page of results names the tool: with or without a version or a hash behind."""
    pattern = re.compile(rf"(?<![\w:-]){re.escape(tool)}(?:[@#][\w.+-]+)?(?![\w-])")
    return next((found[0].rstrip(".") for page in pages if (found := pattern.search(page))), None)


def fill_references(arguments: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The arguments with each `{ref:PATTERN}` replaced by what the pattern finds in the text."""

    def fill(value: Any) -> Any:
        wanted = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
        if wanted is None:
            return value
        found = re.search(wanted[1], text)
        return found[1] if found else value

    return {name: fill(value) for name, value in arguments.items()}


def is_error(response: Message) -> bool:
    """Whether the call failed."""
    return "error" in response or response["result"].get("isError") is True


def text_of(response: Message) -> str:
    """What a model reads: the text of a result, its structure where it has no text, the message of an error."""
    if "error" in response:
        return str(response["error"].get("message", ""))
    result = response["result"]
    texts = [block["text"] for block in result.get("content", ()) if block.get("type") == "text"]
    return "\n".join(texts) if texts else json.dumps(result.get("structuredContent", ""))


def tokens_of(value: object) -> int:
    """What JSON costs a model, written without a space."""
    return count_tokens(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def tokens_of_tools(tools: Iterable[Message]) -> int:
    """What a model is given of each tool."""
    keys = ("name", "description", "inputSchema")
    return sum(tokens_of({key: tool[key] for key in keys if key in tool}) for tool in tools)


def _choose(field_schema: Mapping[str, Any], message: str) -> Any:
    """One of the values that a field offers: for a server that is trusted the widest, else for the tool, else yes."""
    offered = field_schema.get("enum") or [each["const"] for each in field_schema.get("oneOf", ())]
    wanted = "server" if any(name in message for name in _TRUSTED) else "tool"
    preferred = [each for each in offered if "always" in str(each) and wanted in str(each)]
    preferred += [each for each in offered if "always" in str(each)]
    return preferred[0] if preferred else offered[0] if offered else True
