"""What a server may ask of us: only what was granted to it, and announced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.rpc import OnRequest, RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import ClientFace

CAPABILITY_OF: Final = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""The requests of servers that the protocol has, with the capability that a client announces for each."""


def only_granted(face: ClientFace, on_request: OnRequest | None) -> OnRequest:
    """Hand a server's request on only if its capability was announced; refuse every other as unknown."""

    async def answer(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        if on_request is None or CAPABILITY_OF.get(method) not in face.capabilities:
            raise RpcError(METHOD_NOT_FOUND, "This client does not offer the method.")
        return await on_request(method, params)

    return answer
