"""Asking the person behind a client whether a call may run: the question, the answer, and how it travels in between."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import orjson

from toolcrib_core.wording import count, quoted
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.rpc import RpcError
from toolcrib_runtime.errors import ApprovalRefused, NotPermitted
from toolcrib_runtime.policy.approval_tokens import MAX_BY_LENGTH
from toolcrib_runtime.policy.approvals import PendingApproval

ELICIT: Final = "elicitation/create"

META_APPROVAL: Final = "io.toolcrib/approval"
"""In a result the question that somebody must decide, and in a request the approval that was granted."""

MAX_STATE: Final = 8_192
"""How long a `requestState` may be: a question is far shorter."""

MAX_SHOWN_ARGUMENTS: Final = 2_000
"""How many characters of the arguments the person who decides is shown."""

Decision: TypeAlias = Literal["once", "session", "tool", "server", "no", "never", "none"]
"""What a person answers; `none` is no answer."""

LABELS: Final[Mapping[Decision, str]] = {
    "once": "once",
    "session": "this session",
    "tool": "always for this tool",
    "server": "always for this server",
    "no": "no",
    "never": "never",
}
"""The answers as people read them. They are the values of the form, too, since not every client shows titles."""

ONLY_THIS_CALL: Final[tuple[Decision, ...]] = ("once", "no")
"""The answers where none can be remembered."""

ANSWER: Final = "answer"
"""The one field of the form."""

_QUESTION = "approval"
_DECISIONS: Final = {label: decision for decision, label in LABELS.items()}


def can_be_asked(caller: Caller) -> bool:
    """Whether the client shows forms to a person; one that names no mode of elicitation means forms."""
    offered = caller.capabilities.get("elicitation")
    return isinstance(offered, Mapping) and (not offered or "form" in offered)


def question(
    pending: PendingApproval,
    arguments: Mapping[str, Any],
    *,
    beside: Mapping[str, Any] | None = None,
    choices: Sequence[Decision] = ONLY_THIS_CALL,
) -> dict[str, Any]:
    """The params of the elicitation. The client sent the arguments, and what is `beside` them: both are shown."""
    lines = [pending.summary, f"Why you are asked: {pending.reason}."]
    if arguments:
        lines.append(f"Arguments: {_shown(arguments)}")
    if beside:
        lines.append(f"Sent with them: {_shown(beside)}")
    return {"message": "\n".join(lines), "requestedSchema": _form(choices)}


def decision_in(answer: object) -> Decision:
    """What the person decided. To accept the form without a choice is to accept what it preselects: once."""
    if not isinstance(answer, Mapping):
        return "none"
    match answer.get("action"):
        case "accept":
            content = answer.get("content")
            if not content:
                return "once"
            chosen = content.get(ANSWER) if isinstance(content, Mapping) else None
            return _DECISIONS.get(chosen, "none") if isinstance(chosen, str) else "none"
        case "decline":
            return "no"
    return "none"


def who_answers(caller: Caller) -> str:
    """Whose decision it is, for those who ask later."""
    name = caller.principal or caller.info.get("name")
    return f"the user of {name}"[:MAX_BY_LENGTH] if isinstance(name, str) else "the user of the client"


def input_required(
    pending: PendingApproval,
    arguments: Mapping[str, Any],
    *,
    beside: Mapping[str, Any] | None = None,
    choices: Sequence[Decision] = ONLY_THIS_CALL,
    prefix: str = "",
) -> dict[str, Any]:
    """The answer to a modern client: to ask, and to make the same call again with what was decided.

    The state is the question itself. It is sealed, so that nobody can change it, and gives no right by itself. Where
    states of others come back on the same way, `prefix` tells it apart.
    """
    asked = {
        "method": ELICIT,
        "params": {"mode": "form", **question(pending, arguments, beside=beside, choices=choices)},
    }
    return {
        "resultType": "input_required",
        "inputRequests": {_QUESTION: asked},
        "requestState": prefix + urlsafe_b64encode(orjson.dumps(pending.to_dict())).decode(),
    }


def answered(params: Mapping[str, Any], *, prefix: str = "") -> tuple[PendingApproval, Decision] | None:
    """The question that a modern client was asked, and what was decided; `None` if it was asked nothing.

    With a `prefix`, a state that does not begin with it is somebody else's, and asked nothing either.

    Raises:
        RpcError: The state is not one that was given here.
    """
    state = params.get("requestState")
    if state is None:
        return None
    if prefix:
        if not isinstance(state, str) or not state.startswith(prefix):
            return None
        state = state.removeprefix(prefix)
    responses = params.get("inputResponses")
    return _read(state), decision_in(responses.get(_QUESTION) if isinstance(responses, Mapping) else None)


def declined(tool_id: str) -> NotPermitted:
    """The error for a call that the user refused."""
    return NotPermitted(
        f"The user refused this call of {quoted(tool_id)}.",
        hint="Nothing was run. Do not make the call again unless the user asks for it.",
        details={"reason": "declined"},
    )


def visible(text: str) -> str:
    """Text with an escape for whatever is not drawn: what cannot be seen could hide half of a call from who decides."""
    if text.isascii() and text.isprintable():
        return text
    # Only now: hardly any text needs it.
    from toolcrib_mcp.scan.hidden import is_hidden

    return "".join(_escaped(each) if is_hidden(each) or not each.isprintable() else each for each in text)


def _form(choices: Sequence[Decision]) -> dict[str, Any]:
    # Nothing is required: a client that lets its user accept without a choice sends no value, or the default.
    field = {
        "type": "string",
        "title": "May it run?",
        "enum": [LABELS[each] for each in choices],
        "default": LABELS[choices[0]],
    }
    return {"type": "object", "properties": {ANSWER: field}}


def _read(state: object) -> PendingApproval:
    text = state if isinstance(state, str) and len(state) <= MAX_STATE else ""
    try:
        return PendingApproval.from_dict(orjson.loads(urlsafe_b64decode(text.encode("ascii"))))
    except (ValueError, ApprovalRefused):
        raise RpcError(INVALID_PARAMS, "The `requestState` is not one that was given here.") from None


def _shown(arguments: Mapping[str, Any]) -> str:
    text = orjson.dumps(arguments).decode()
    cut = text[:MAX_SHOWN_ARGUMENTS]
    hidden = len(text) - len(cut)
    return f"{visible(cut)}… ({count(hidden, 'more character')})" if hidden else visible(cut)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
