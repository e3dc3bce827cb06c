"""Taking a key out of what was answered: whatever stands behind an instance may say again what it was given."""

from __future__ import annotations

import orjson

from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_toolsets.contract import ToolsetExecutionResponse


def without_key(answer: ToolsetExecutionResponse, key: Secret | None) -> ToolsetExecutionResponse:
    """The answer with bullets where the key was, in any of its usual spellings."""
    if key is None:
        return answer
    scrubber, told = Scrubber([key]), answer.model_dump()
    try:
        plain = orjson.dumps(told).decode()
    except TypeError:  # a number or a depth that it does not write
        hidden = {name: scrubber.scrub(value) for name, value in told.items()}
        return ToolsetExecutionResponse.model_validate(hidden)
    scrubbed = scrubber.scrub_known(plain)
    return answer if scrubbed == plain else ToolsetExecutionResponse.model_validate(orjson.loads(scrubbed))
