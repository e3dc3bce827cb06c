"""The application itself: its routes, and how errors are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import JsonValue

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_core.wording import shown
from toolcrib_runtime.errors import PolicyError
from toolcrib_toolsets.api.bodies import (
    ChangedToolset,
    ErrorBody,
    NewToolset,
    SwitchList,
    ToolBody,
    ToolsetBody,
    ToolsetList,
    TypeBody,
    TypeList,
)
from toolcrib_toolsets.api.bounding import Bounded
from toolcrib_toolsets.api.entering import Administrator, Authenticate, Caller, Guard, InstanceCall
from toolcrib_toolsets.contract import (
    AppToolsetConfig,
    FunctionDefinition,
    Toolset,
    ToolsetExecutionRequest,
    ToolsetExecutionResponse,
)
from toolcrib_toolsets.errors import (
    ApiAddressNotFound,
    ApiMethodNotAllowed,
    ApiRequestInvalid,
    CallsNotServed,
    InstanceNotFound,
    InstanceNotOwned,
    InvalidApiKey,
    SealingError,
    ToolsetError,
    Unauthenticated,
)
from toolcrib_toolsets.service import ToolsetService

PREFIX: Final = "/api/v1"

_FORBIDDEN: Final = 403
_TOO_MANY: Final = 429
_INTERNAL: Final = 500
_RATE_LIMITED: Final = "toolbox.rate-limited"
_STATUS: Final = {
    ToolErrorCategory.VALIDATION: 400,
    ToolErrorCategory.PERMISSION: 400,
    ToolErrorCategory.APPROVAL_REQUIRED: 403,
    ToolErrorCategory.BUDGET: 429,
    ToolErrorCategory.UNAVAILABLE: 502,
    ToolErrorCategory.TIMEOUT: 502,
    ToolErrorCategory.TRANSIENT: 502,
}
"""Of errors that are not about toolsets: what is behind an instance failed, or its settings cannot be used."""
_UNROUTED: Final[Mapping[int, ToolsetError]] = {
    400: ApiRequestInvalid.because("it cannot be read"),
    404: ApiAddressNotFound.of(),
    405: ApiMethodNotAllowed.of(),
}
_SHOWN_FAULTS: Final = 20
_CHALLENGE: Final = {"www-authenticate": "Bearer"}

_ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorBody} for status in (400, 401, 403, 404, 405, 409, 429, 500, 502)
}


def management_api(
    service: ToolsetService,
    *,
    authenticate: Authenticate,
    version: str,
    guard: Guard | None = None,
    hide_foreign: bool = True,
) -> FastAPI:
    """The API as an ASGI application, with its OpenAPI document at `/api/v1/openapi.json`.

    Every call of a method passes the `guard`; without one no method can be called. An instance of another user is not
    found; without `hide_foreign` the answer is `instance_not_owned`.
    """
    api = FastAPI(
        title="toolcrib toolsets",
        version=version,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=_ERRORS,
    )
    api.state.authenticate = authenticate
    api.state.hide_foreign = hide_foreign
    api.add_middleware(Bounded, authenticate=authenticate)
    api.add_exception_handler(ToolError, _told)
    api.add_exception_handler(RequestValidationError, _invalid)
    for status in _UNROUTED:
        api.add_exception_handler(status, _unrouted)
    api.add_exception_handler(Exception, _told)
    _instances(api, service, guard)
    _types(api, service)
    return api


def _instances(api: FastAPI, service: ToolsetService, guard: Guard | None) -> None:
    async def body(principal: str, toolset: Toolset) -> ToolsetBody:
        return _body(toolset, has_api_key=await service.has_api_key(principal, toolset.id))

    @api.get(f"{PREFIX}/toolsets")
    async def list_toolsets(caller: Caller) -> ToolsetList:
        """The instances of the caller, by name."""
        found = await service.list_states(caller.name, scopes=caller.scopes)
        return ToolsetList(toolsets=[_body(each.toolset, has_api_key=each.has_api_key) for each in found])

    @api.post(f"{PREFIX}/toolsets", status_code=201)
    async def create_toolset(new: NewToolset, caller: Caller) -> ToolsetBody:
        """Make an instance."""
        made = await service.create_instance(
            caller.name,
            new.toolset_type,
            new.name,
            description=new.description,
            enabled=new.enabled,
            api_key=new.api_key,
            settings=new.settings,
            scopes=caller.scopes,
        )
        return await body(caller.name, made)

    @api.get(f"{PREFIX}/toolsets/{{instance_id}}")
    async def get_toolset(instance_id: str, caller: Caller) -> ToolsetBody:
        """One instance of the caller."""
        return await body(caller.name, await service.get_instance(caller.name, instance_id, scopes=caller.scopes))

    @api.put(f"{PREFIX}/toolsets/{{instance_id}}")
    async def update_toolset(instance_id: str, changed: ChangedToolset, caller: Caller) -> ToolsetBody:
        """Write all of an instance anew; the key stays unless it is set."""
        written = await service.update_instance(
            caller.name,
            instance_id,
            name=changed.name,
            description=changed.description,
            enabled=changed.enabled,
            api_key=changed.api_key,
            settings=changed.settings,
            scopes=caller.scopes,
        )
        return await body(caller.name, written)

    @api.delete(f"{PREFIX}/toolsets/{{instance_id}}", status_code=204, response_class=Response)
    async def delete_toolset(instance_id: str, caller: Caller) -> None:
        """Delete an instance with its key."""
        await service.delete_instance(caller.name, instance_id, scopes=caller.scopes)

    @api.post(f"{PREFIX}/toolsets/{{instance_id}}/tools/{{method}}/execute")
    async def execute(
        instance_id: str, method: str, request: ToolsetExecutionRequest, caller: Caller
    ) -> ToolsetExecutionResponse:
        """Call a method of an instance; what the service behind it answers badly is in the `error` of the answer."""
        if guard is None:
            raise CallsNotServed.of()
        instance, tool = await service.instance_tool(caller.name, instance_id, method, scopes=caller.scopes)

        async def proceed() -> ToolsetExecutionResponse:
            return await service.execute_instance_tool(caller.name, instance_id, method, request, scopes=caller.scopes)

        call = InstanceCall(principal=caller, instance=instance, tool=tool, params=request.params)
        return await guard(call, proceed)


def _body(toolset: Toolset, *, has_api_key: bool) -> ToolsetBody:
    return ToolsetBody(**toolset.model_dump(), has_api_key=has_api_key)


def _types(api: FastAPI, service: ToolsetService) -> None:
    @api.get(f"{PREFIX}/toolset_types")
    async def list_types(caller: Caller) -> TypeList:
        """All types, with their switches and what is known of their methods."""
        del caller  # whoever is known may see them
        return TypeList(
            types=[
                TypeBody(
                    toolset_id=each.toolset_id,
                    name=each.name,
                    description=each.description,
                    requires_api_key=service.kinds.known(each.toolset_id).definition.requires_api_key,
                    app_enabled=each.app_enabled,
                    tools=[ToolBody(function=FunctionDefinition.of(tool)) for tool in each.tools],
                )
                for each in await service.list_types_with_tools()
            ]
        )

    @api.get(f"{PREFIX}/toolset_types/app-configs")
    async def list_switches(caller: Administrator) -> SwitchList:
        """The switches of types, and who moved them last."""
        del caller
        return SwitchList(configs=await service.list_app_toolset_configs())

    @api.put(f"{PREFIX}/toolset_types/{{toolset_type}}/app-config")
    async def enable_type(toolset_type: str, caller: Administrator) -> AppToolsetConfig:
        """Switch a type on for everybody."""
        return await service.set_app_toolset_enabled(
            toolset_type, enabled=True, updated_by=caller.name, scopes=caller.scopes
        )

    @api.delete(f"{PREFIX}/toolset_types/{{toolset_type}}/app-config")
    async def disable_type(toolset_type: str, caller: Administrator) -> AppToolsetConfig:
        """Switch a type off for everybody."""
        return await service.set_app_toolset_enabled(
            toolset_type, enabled=False, updated_by=caller.name, scopes=caller.scopes
        )


async def _told(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, InstanceNotOwned) and request.app.state.hide_foreign:
        error = InstanceNotFound.of(id=shown(request.path_params.get("instance_id", "")))
    if isinstance(error, ToolsetError):
        return _refusal(error, headers=_CHALLENGE if isinstance(error, Unauthenticated) else None)
    told = error if isinstance(error, ToolError) else ToolError("Something went wrong that was not foreseen.")
    # The master key is the operator's: no service behind an instance has failed.
    status = _INTERNAL if isinstance(told, SealingError) else _STATUS.get(told.category, _INTERNAL)
    if isinstance(told, PolicyError):
        status = _FORBIDDEN
    elif told.code == _RATE_LIMITED:
        status = _TOO_MANY
    body = ErrorBody(error=told.category.value, code=told.code, message=told.message, hint=told.hint)
    return _answer(body, status)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """What does not fit its schema; never what was sent, which may be a key."""
    faults = error.errors() if isinstance(error, RequestValidationError) else []
    if faults and faults[0]["loc"][:2] == ("body", "apiKey"):
        return await _told(request, InvalidApiKey.because("it is no text that can be sent, or no update of a key"))
    places = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults[:_SHOWN_FAULTS]]
    declared = "json" in request.headers.get("content-type", "")
    reason = "it does not fit its schema" if declared else "it is not declared as JSON"
    return _refusal(ApiRequestInvalid.because(reason), details={"faults": list(places)})


async def _unrouted(request: Request, error: Exception) -> JSONResponse:
    """An address or a method that is not there, in the shape of all other errors."""
    refusal = _UNROUTED[getattr(error, "status_code", 400)]
    allowed = isinstance(refusal, ApiMethodNotAllowed)
    return _refusal(refusal, headers={"allow": ", ".join(_methods_at(request))} if allowed else None)


def _methods_at(request: Request) -> list[str]:
    """The methods of an address; the framework names those of its first route only."""
    matching = [each for each in request.app.routes if each.matches(request.scope)[0].value]
    return sorted({method for each in matching for method in getattr(each, "methods", None) or ()})


def _refusal(
    error: ToolsetError, *, headers: Mapping[str, str] | None = None, details: dict[str, JsonValue] | None = None
) -> JSONResponse:
    body = ErrorBody(error=error.key, code=error.code, message=error.message, hint=error.hint, details=details or {})
    return _answer(body, error.status, headers)


def _answer(body: ErrorBody, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body.model_dump(mode="json", by_alias=True, exclude_none=True), status, headers)
