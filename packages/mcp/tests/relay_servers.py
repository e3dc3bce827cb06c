"""Real servers of the SDK with everything that can be passed on, made to speak one era only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import mcp.types as t
from mcp import MCPError
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.server.subscriptions import ToolsListChanged as ToolsChanged

from toolcrib_mcp.rpc import RpcError, Unreadable, Wire, WireNoise
from toolcrib_mcp.rpc.messages import error_message
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire

EVERY_BLOCK: dict[str, Any] = {
    "content": [
        {"type": "text", "text": "plain", "annotations": {"audience": ["user"], "priority": 0.5, "novel": 1}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav", "_meta": {"io.example/x": [1]}},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "icons": [{"src": "data:,"}]},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside", "novel": None}},
        {"type": "hologram", "shape": {"deep": [1, None, {"é": "\u2028"}]}},
    ],
    "structuredContent": {"rows": [1, 2.5, None], "big": 12345678901234567890123},
    "isError": False,
    "novel": {"kept": True},
    "_meta": {"io.example/kept": {"a": 1}, "plain": "x"},
}
"""A result with every kind of block, and with what no version of the protocol knows."""

SCHEMA = {"type": "object", "properties": {"colour": {"type": "string"}}}
QUESTION = {"mode": "form", "message": "Which colour?", "requestedSchema": SCHEMA}
SAMPLING = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5}
TOOLS = (
    "echo every fail progress hang log ask sample roots ask_twice state_only ask_for_ever broken change touch".split()
)
_ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "ask": ("elicitation/create", QUESTION),
    "sample": ("sampling/createMessage", SAMPLING),
    "roots": ("roots/list", {}),
}


class RelayServer:
    """One server and what it saw."""

    def __init__(self, name: str = "fixture", *, era: Era | None = None, tools: tuple[str, ...] = tuple(TOOLS)) -> None:
        self.name = name
        self.era = era
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.levels: list[str] = []
        self.refuses_levels = False
        self.hanging = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.aside = asyncio.Event()
        self.asked_aside = asyncio.Event()
        self.lists_fail = False
        self.on_resources: Callable[[], None] = lambda: None
        self.read_error: MCPError | None = None
        self.connections = 0
        self.refuses: Exception | None = None
        self.result: dict[str, Any] = EVERY_BLOCK
        self.prompts = ["greet"]
        self.resources = ["file:///a", f"only:///{name}"]
        self.templates = [f"{name}:///{{path}}"]
        self.bus = InMemorySubscriptionBus()
        self._tools = tools
        self._further = dict.fromkeys(("ask_twice", "state_only", "ask_for_ever"), self._ask_again)
        self._further |= dict.fromkeys(("ask_loudly", "ask_crowd", "ask_aside"), self._ask_more)
        self.server: Server[Any] = Server(
            name,
            version="1",
            instructions=f"Use {name} well.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self.bus),
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._prompt,
            on_completion=self._complete,
        )
        self.server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, self._set_level)
        self.server.middleware.append(self._watch)  # type: ignore[arg-type]  # the SDK wants other names of arguments

    async def connect(self) -> Wire:
        """What an `Upstream` is given to reach it."""
        if self.refuses is not None:
            raise self.refuses
        self.connections += 1
        return OneEra(await open_in_process_wire(self.server), self.era)

    def params_of(self, method: str) -> dict[str, Any]:
        """Those of the last request with this method, as they came."""
        return next(params for each, params in reversed(self.heard) if each == method)

    async def _watch(self, context: Any, call_next: Any) -> Any:
        self.heard.append((context.method, dict(context.params or {})))
        if context.method == "tools/call" and context.params["name"] == "every":
            return dict(self.result)
        if context.method == "novel/method":
            return {"novel": context.params}
        return await call_next(context)

    async def _list_tools(self, context: Any, params: Any) -> t.ListToolsResult:
        cursor = getattr(params, "cursor", None)
        half = len(self._tools) // 2
        names, following = (self._tools[half:], None) if cursor == "more" else (self._tools[:half], "more")
        tools = [t.Tool(name=each, description=f"Does {each}.", input_schema={"type": "object"}) for each in names]
        return t.ListToolsResult(tools=tools, next_cursor=following)

    async def _call_tool(self, context: Any, params: t.CallToolRequestParams) -> Any:  # one for each tool
        match params.name:
            case "fail":
                raise MCPError(-32050, "No luck.", {"why": ["moon"]})
            case "broken":
                return t.CallToolResult(content=[t.TextContent(type="text", text="boom")], is_error=True)
            case "progress":
                for step in (1, 2, 3):
                    await context.session.report_progress(step, 3, f"step {step}")
            case "hang":
                await self._hang()
            case "log":
                for level in ("debug", "warning"):
                    await _log(context, level)
            case "touch":
                await self.touch(context)
            case "change":
                await self._change(context)
            case "ask" | "sample" | "roots":
                return await self._ask(context, params)
            case name if name in self._further:
                return await self._further[name](context, params)
        return _text(f"{self.name} {params.name} {(params.arguments or {}).get('nonce')}")

    async def _ask(self, context: Any, params: t.CallToolRequestParams) -> Any:
        method, asked = _ASKED[params.name]
        if _is_modern(context):
            if params.input_responses is None:
                return _asks(method, asked, state="s1")
            answer: Any = params.input_responses["q"]
        else:
            answer = await _send(context, method, asked)
        return _text(_said(answer))

    async def _ask_again(self, context: Any, params: t.CallToolRequestParams) -> Any:
        if not _is_modern(context):
            said = [_said(await _send(context, "elicitation/create", QUESTION)) for _ in (1, 2)]
            return _text(" and ".join(said))
        state = params.request_state or ""
        if params.name == "state_only" and len(state) < 2:
            return t.InputRequiredResult(request_state=f"{state}x")
        if params.name == "ask_for_ever" or (params.name == "ask_twice" and len(state) < 2):
            return _asks("elicitation/create", QUESTION, state=f"{state}x")
        return _text(f"done {state}")

    async def _ask_more(self, context: Any, params: t.CallToolRequestParams) -> Any:
        tool = params.name
        if tool == "ask_crowd":
            every = [_send(context, "elicitation/create", QUESTION) for _ in range(17)]
            answers = await asyncio.gather(*every, return_exceptions=True)
            refused = sum(isinstance(each, MCPError) for each in answers)
            return _text(f"{len(answers) - refused} answers, {refused} refusal")
        asking = asyncio.create_task(_send(context, "elicitation/create", QUESTION))
        await context.session.report_progress(1, 2)
        if tool == "ask_aside":
            await self.aside.wait()
            await context.session.report_progress(2, 2)
            await _log(context, "warning")
        await asking
        if tool == "ask_loudly":
            await context.session.report_progress(2, 2)
            await _log(context, "warning")
        self.asked_aside.set()
        return _text("done")

    async def _hang(self) -> None:
        self.hanging.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()

    async def touch(self, context: Any) -> None:
        await self.bus.publish(ResourceUpdated(uri="file:///a"))
        if not _is_modern(context):
            await context.session.send_resource_updated("file:///a")

    async def _change(self, context: Any) -> None:
        self._tools = (*self._tools, "novelty")
        await self.bus.publish(ToolsChanged())
        if not _is_modern(context):
            await context.session.send_tool_list_changed()

    async def _set_level(self, context: Any, params: t.SetLevelRequestParams) -> t.EmptyResult:
        if self.refuses_levels:
            raise MCPError(-32602, "It is as loud as it is.")
        self.levels.append(params.level)
        return t.EmptyResult()

    async def _list_resources(self, context: Any, params: Any) -> t.ListResourcesResult:
        self.on_resources()
        return t.ListResourcesResult(resources=[t.Resource(uri=each, name=each) for each in self.resources])

    async def _list_templates(self, context: Any, params: Any) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(
            resource_templates=[t.ResourceTemplate(uri_template=each, name=each) for each in self.templates]
        )

    async def _read(self, context: Any, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        uri = str(params.uri)
        if self.read_error is not None:
            raise self.read_error
        hidden = f"hidden:///{self.name}"
        if uri not in (*self.resources, hidden) and not uri.startswith(f"{self.name}:///"):
            raise MCPError(-32002, f"{self.name} has no such resource.", {"uri": uri})
        return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, text=f"{self.name} has {uri}")])

    async def _subscribe(self, context: Any, params: t.SubscribeRequestParams) -> t.EmptyResult:
        if self.read_error is not None:
            raise self.read_error
        return t.EmptyResult()

    async def _unsubscribe(self, context: Any, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        return t.EmptyResult()

    async def _list_prompts(self, context: Any, params: Any) -> t.ListPromptsResult:
        if self.lists_fail:
            raise MCPError(-32603, "The list is lost.")
        return t.ListPromptsResult(prompts=[t.Prompt(name=each, title=self.name) for each in self.prompts])

    async def _prompt(self, context: Any, params: t.GetPromptRequestParams) -> t.GetPromptResult:
        if params.name not in self.prompts:
            raise MCPError(-32602, f"{self.name} has no such prompt.")
        said = t.TextContent(type="text", text=f"{self.name} {params.name} {params.arguments}")
        return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=said)])

    async def _complete(self, context: Any, params: t.CompleteRequestParams) -> t.CompleteResult:
        named = getattr(params.ref, "name", None) or getattr(params.ref, "uri", None)
        return t.CompleteResult(completion=t.Completion(values=[f"{self.name} {named} {params.argument.value}"]))


class OneEra:
    """A wire to a server that seems to know only one of the two eras."""

    def __init__(self, inner: Wire, era: Era | None) -> None:
        self._inner = inner
        self._unknown = {Era.HANDSHAKE: "server/discover", Era.MODERN: "initialize", None: ""}[era]
        self._refused: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._receiving: asyncio.Task[dict[str, Any] | Unreadable] | None = None
        self._refusing: asyncio.Task[dict[str, Any]] | None = None

    @property
    def noise(self) -> WireNoise:
        return self._inner.noise

    async def send(self, message: Mapping[str, Any]) -> None:
        if message.get("method") == self._unknown:
            self._refused.put_nowait(error_message(message["id"], RpcError(-32601, "Method not found")))
        else:
            await self._inner.send(message)

    async def receive(self) -> dict[str, Any] | Unreadable:
        self._receiving = self._receiving or asyncio.create_task(self._inner.receive())
        self._refusing = self._refusing or asyncio.create_task(self._refused.get())
        await asyncio.wait([self._receiving, self._refusing], return_when=asyncio.FIRST_COMPLETED)
        if self._refusing.done():
            done, self._refusing = self._refusing, None
            return done.result()
        received, self._receiving = self._receiving, None
        return received.result()

    async def aclose(self) -> None:
        await self._inner.aclose()
        for task in (self._receiving, self._refusing):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def _is_modern(context: Any) -> bool:
    return bool(context.protocol_version >= "2026")


def _asks(method: str, params: dict[str, Any], *, state: str) -> t.InputRequiredResult:
    asked = {"q": {"method": method, "params": params}}
    return t.InputRequiredResult.model_validate({"inputRequests": asked, "requestState": state})


async def _send(context: Any, method: str, params: dict[str, Any]) -> Any:
    kinds: dict[str, Any] = {
        "elicitation/create": (t.ElicitRequest, t.ElicitResult),
        "sampling/createMessage": (t.CreateMessageRequest, t.CreateMessageResult),
        "roots/list": (t.ListRootsRequest, t.ListRootsResult),
    }
    request, result = kinds[method]
    message = request.model_validate({"method": method, "params": params})
    return await context.session.send_request(message, result)


async def _log(context: Any, level: Any) -> None:
    logged = t.LoggingMessageNotificationParams(level=level, data={"said": level}, logger="fixture")
    if _is_modern(context):
        least = (context.meta or {}).get(t.LOG_LEVEL_META_KEY)
        if least is None or (least == "warning" and level == "debug"):
            return
    await context.session.send_notification(t.LoggingMessageNotification(params=logged), context.request_id)


def _said(answer: Any) -> str:
    match answer:
        case t.ElicitResult():
            return f"{answer.action} {answer.content}"
        case t.ListRootsResult():
            return f"roots {[str(each.uri) for each in answer.roots]}"
    return f"{answer.model} says {answer.content.text}"


def _text(text: str) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(type="text", text=text)])
