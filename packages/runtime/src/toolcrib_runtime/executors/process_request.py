"""What a worker process is sent for one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from toolcrib_core import ArgumentsTooLarge, Principal
from toolcrib_core.wording import count, quoted
from toolcrib_runtime.executors.process_frames import MAX_FRAME, FrameTooLarge, frame_of
from toolcrib_runtime.executors.process_target import Target
from toolcrib_runtime.executors.protocol import Work


def request_of(work: Work, target: Target) -> bytes:
    """The frame that asks for one run of the tool.

    Raises:
        ArgumentsTooLarge: It would not fit.
    """
    request: dict[str, Any] = {"target": target, "arguments": work.arguments}
    if work.tool.binding.context_parameters:
        request["context"] = _context(work)
    try:
        return frame_of(request)
    except FrameTooLarge:
        raise ArgumentsTooLarge(
            f"The arguments of {quoted(work.tool.id)} take more than {count(MAX_FRAME, 'byte')}.",
            hint="Pass the name of a file instead of its contents.",
        ) from None


def _context(work: Work) -> dict[str, Any]:
    context = work.context()
    call = context.tool_call
    return {
        "run_id": context.run_id,
        "request_id": context.request_id,
        "user": _principal(context.user),
        "tenant": _principal(context.tenant),
        # A span of time, because the clocks of two processes need not agree.
        "remaining": context.remaining,
        "tool": call.tool,
        "call_id": call.id,
        "idempotency_key": call.idempotency_key,
        "attempt": context.attempt,
        "values": _json_values(context.values),
    }


def _principal(principal: Principal | None) -> dict[str, Any] | None:
    if principal is None:
        return None
    return {
        "id": principal.id,
        "name": principal.name,
        "roles": sorted(principal.roles),
        "attributes": dict(principal.attributes),
    }


def _json_values(values: Mapping[str, object]) -> dict[str, Any]:
    """The context values that JSON can carry; connections and the like stay in their process."""
    return {name: value for name, value in values.items() if _is_json(value)}


def _is_json(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True
