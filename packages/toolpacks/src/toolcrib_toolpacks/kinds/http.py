"""HTTP: one request through the guarded client, and what its answer means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolcrib_core import JsonValue, ToolErrorCategory
from toolcrib_runtime.guards.net import FetchResponse, GuardedClient, NetGrant
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_toolpacks.capabilities import may_use_http
from toolcrib_toolpacks.errors import HttpStatusError
from toolcrib_toolpacks.model import HttpExecution, Toolpack
from toolcrib_toolpacks.rendering import Rendering
from toolcrib_toolpacks.shaping import ACCEPTED, CONTENT_TYPES, WITH_BODY, Shaped, read_output, shape_input, with_query

_MAX_EXCERPT: Final = 500
_NO_CONTENT: Final = 204
_FIRST_FAILURE: Final = 300
_OWN_FAULT: Final = 500
_CATEGORIES: Final = {
    401: ToolErrorCategory.PERMISSION,
    403: ToolErrorCategory.PERMISSION,
    404: ToolErrorCategory.NOT_FOUND,
    408: ToolErrorCategory.TIMEOUT,
    409: ToolErrorCategory.CONFLICT,
    410: ToolErrorCategory.NOT_FOUND,
    429: ToolErrorCategory.TRANSIENT,
    501: ToolErrorCategory.INTERNAL,
}
_HINTS: Final = {
    ToolErrorCategory.PERMISSION: "See whether the pack sends the credentials that the server wants.",
    ToolErrorCategory.NOT_FOUND: "Look for another name or id; the server does not have this one.",
    ToolErrorCategory.TRANSIENT: "Try again later, and not so often.",
    ToolErrorCategory.UNAVAILABLE: "Try again later; the fault is on the side of the server.",
}


def grant_for(pack: Toolpack, granted: NetGrant) -> NetGrant:
    """What the request of a pack may reach: what is granted to all, and plain http only where the pack says so."""
    return granted.model_copy(update={"allow_http": granted.allow_http or may_use_http(pack)})


async def fetch(
    pack: Toolpack,
    execution: HttpExecution,
    rendering: Rendering,
    arguments: Mapping[str, object],
    *,
    client: GuardedClient,
    body: bytes,
    seconds: float,
    scrubber: Scrubber,
) -> JsonValue:
    """Send the request of one call; gives what is read of its answer, nothing for an answer without content.

    The pack declares one host, and an operator reads that; so no redirect leads to another one.

    Raises:
        TemplateError: A value is missing or may not stand where it would.
        HttpStatusError: The server says that it did not do it.
        NetworkError: The request was not made, or not answered; see `GuardedClient.fetch`.
        DeadlineExceeded: Time ran out.
        OutputTooLarge: The answer has more bytes than the pack takes.
        MalformedOutput: The answer is not in the form that the pack says.
    """
    headers = {name: rendering.text(("execution", "headers", name), arguments) for name in execution.headers}
    sends = execution.method in WITH_BODY
    # JSON as it was measured, unless the pack asks for something else.
    is_whole = execution.input == "json" and execution.body is None
    shaped = Shaped(content=body) if is_whole else shape_input(pack, execution, rendering, arguments)
    content = shaped.content if sends else b""
    kind = CONTENT_TYPES.get(execution.input) if sends else None
    defaults = {"Accept": ACCEPTED.get(execution.output, "*/*"), **({} if kind is None else {"Content-Type": kind})}
    given = {name.lower() for name in headers}
    response = await client.fetch(
        execution.method,
        with_query(rendering.text(("execution", "url"), arguments), shaped.query),
        headers={**{name: value for name, value in defaults.items() if name.lower() not in given}, **headers},
        content=content,
        seconds=seconds,
        same_origin=True,
        max_bytes=pack.limits.max_output_bytes,
    )
    if response.status >= _FIRST_FAILURE:
        raise _refused(pack, response, scrubber)
    if response.status == _NO_CONTENT or execution.method == "HEAD":
        return None
    return read_output(response.body, execution, what=f"answer to `{pack.tool}`", scrubber=scrubber)


def _refused(pack: Toolpack, response: FetchResponse, scrubber: Scrubber) -> HttpStatusError:
    status = response.status
    default = ToolErrorCategory.UNAVAILABLE if status >= _OWN_FAULT else ToolErrorCategory.VALIDATION
    category = _CATEGORIES.get(status, default)
    details: dict[str, object] = {
        "status": status,
        "excerpt": scrubber.scrub_line(response.body.decode(errors="replace"), max_length=_MAX_EXCERPT),
    }
    if response.retry_after is not None:
        details["retryAfter"] = response.retry_after
    if status < _OWN_FAULT:
        details["sent"] = False  # by these, a server says that it did nothing
    return HttpStatusError(
        f"The server that `{pack.tool}` asks answered with status {status}.",
        category=category,
        hint=_HINTS.get(category, "Read what the server says, and correct the arguments."),
        details=details,
    )
