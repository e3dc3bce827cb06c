"""The tools and the prompt that answer a modern client with questions, and go on when it calls again."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import mcp.types as t
from mcp import MCPError

from tests.reference import conformance_content as content
from tests.reference.conformance_tools import Call, FixtureTool, Result, said, tool

_NAME: Final = "user_name"
_CONTEXT: Final = "user_context"
# New in every process, so that a retry which meets another process is found out.
_KEY: Final = secrets.token_bytes(32)


def _elicitation(message: str, *fields: str, kind: str = "string") -> t.ElicitRequest:
    schema = content.strings(*fields)
    for field in fields:
        schema["properties"][field]["type"] = kind
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def _sampling(question: str, *, max_tokens: int = 100) -> t.CreateMessageRequest:
    message = t.SamplingMessage(role="user", content=content.text(question))
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens))


_NAME_FORM: Final = _elicitation("What is your name?", "name")
_CONFIRMATION: Final = _elicitation("Please confirm", "ok", kind="boolean")


def _seal(state: str) -> str:
    return f"{state}.{hmac.new(_KEY, state.encode(), hashlib.sha256).hexdigest()}"


def _opened(sealed: str | None) -> str | None:
    """The state that this process gave out, `None` at the first call.

    Raises:
        MCPError: Somebody else wrote it.
    """
    if sealed is None:
        return None
    state = sealed.partition(".")[0]
    if not hmac.compare_digest(sealed, _seal(state)):
        raise MCPError(t.INVALID_PARAMS, "The request state was not given out by this server.")
    return state


def _required(state: str | None = None, **questions: t.InputRequest) -> t.InputRequiredResult:
    return t.InputRequiredResult(input_requests=questions, request_state=None if state is None else _seal(state))


def _asking(state: str | None = None, **questions: t.InputRequest) -> Callable[[Call], Awaitable[Result]]:
    """Ask until every question is answered, under a state that has to come back if one is given."""

    async def run(call: Call) -> Result:
        echoed = _opened(call.params.request_state)
        answers: Mapping[str, t.InputResponse] = call.params.input_responses or {}
        if not questions.keys() <= answers.keys() or echoed != state:
            return _required(state, **questions)
        heard = ", ".join(f"{key}: {_words(answers[key])}" for key in questions)
        return said(content.text(f"{'state-ok' if state else 'heard'}; {heard}"))

    return run


def _words(answer: t.InputResponse) -> str:
    match answer:
        case t.ElicitResult():
            return f"{answer.action} {answer.content}"
        case t.ListRootsResult():
            return " ".join(str(root.uri) for root in answer.roots)
        case _:
            return str(answer.content)


async def _two_rounds(call: Call) -> Result:
    match _opened(call.params.request_state):
        case "one" if call.params.input_responses:
            return _required("two", step2=_elicitation("Step 2: What is your favorite color?", "color"))
        case "two" if call.params.input_responses:
            return said(content.text("Both steps are done."))
        case _:
            return _required("one", step1=_elicitation("Step 1: What is your name?", "name"))


async def _what_is_offered(call: Call) -> Result:
    """Ask only what the client said that it can answer."""
    offered = call.context.session.client_capabilities or t.ClientCapabilities()
    questions: dict[str, t.InputRequest] = {}
    if offered.sampling is not None:
        questions["question"] = _sampling("What is the capital of France?")
    if offered.elicitation is not None:
        questions[_NAME] = _NAME_FORM
    return _required("offered", **questions)


ROUND_TOOLS: Final[tuple[FixtureTool, ...]] = (
    tool("test_input_required_result_elicitation", _asking(user_name=_NAME_FORM)),
    tool("test_input_required_result_sampling", _asking(capital_question=_sampling("What is the capital of France?"))),
    tool("test_input_required_result_list_roots", _asking(client_roots=t.ListRootsRequest())),
    tool("test_input_required_result_request_state", _asking("confirm", confirm=_CONFIRMATION)),
    tool(
        "test_input_required_result_multiple_inputs",
        _asking(
            "several",
            user_name=_NAME_FORM,
            greeting=_sampling("Generate a greeting", max_tokens=50),
            client_roots=t.ListRootsRequest(),
        ),
    ),
    tool("test_input_required_result_multi_round", _two_rounds),
    tool("test_input_required_result_tampered_state", _asking("untampered", confirm=_CONFIRMATION)),
    tool("test_input_required_result_capabilities", _what_is_offered),
    tool("test_streaming_elicitation", _asking(user_name=_NAME_FORM)),
)


def prompt_with_question(params: t.GetPromptRequestParams) -> t.GetPromptResult | t.InputRequiredResult:
    """The prompt that needs to know something first."""
    answer = (params.input_responses or {}).get(_CONTEXT)
    if answer is None:
        return _required(None, user_context=_elicitation("What context should the prompt use?", "context"))
    message = t.PromptMessage(role="user", content=content.text(f"The context is {_words(answer)}."))
    return t.GetPromptResult(messages=[message])
