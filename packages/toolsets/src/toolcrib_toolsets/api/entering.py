"""Who is asking: a bearer token at every request, and nothing in an address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import JsonValue

from toolcrib_core import ToolDefinition
from toolcrib_toolsets.contract import Role, Toolset, ToolsetExecutionResponse
from toolcrib_toolsets.errors import NotAllowed, Unauthenticated
from toolcrib_toolsets.scopes import Scopes

_bearer = HTTPBearer(auto_error=False, description="An access token, as `toolcrib token create` makes one.")


@dataclass(frozen=True, kw_only=True)
class Principal:
    """Whoever is asking, once that is known."""

    name: str
    role: Role
    scopes: Scopes = None


Authenticate: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Who a bearer token belongs to, if it is known and still good."""

PRINCIPAL: Final = "toolcrib.principal"
"""Where the scope of a request says who is asking, if that was found before its body was read."""


@dataclass(frozen=True, kw_only=True)
class InstanceCall:
    """A call of a method of an instance, before it is made."""

    principal: Principal
    instance: Toolset
    tool: ToolDefinition
    params: Mapping[str, JsonValue]


Guard: TypeAlias = Callable[
    [InstanceCall, Callable[[], Awaitable[ToolsetExecutionResponse]]], Awaitable[ToolsetExecutionResponse]
]
"""Decides whether a call is made, makes it by its second argument, and gives what may be answered."""


async def known(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Principal:
    """The caller.

    Raises:
        Unauthenticated: They do not say, or nobody is known who would say so.
    """
    found: Principal | None = request.scope.get(PRINCIPAL)
    if found is None and credentials is not None:
        authenticate: Authenticate = request.app.state.authenticate
        found = await authenticate(credentials.credentials)
    if found is None:
        raise Unauthenticated.of()
    return found


async def administrator(principal: Annotated[Principal, Depends(known)]) -> Principal:
    """The caller, who is an administrator.

    Raises:
        NotAllowed: They are not.
    """
    if principal.role is not Role.ADMIN:
        raise NotAllowed.of()
    return principal


Caller = Annotated[Principal, Depends(known)]
Administrator = Annotated[Principal, Depends(administrator)]
