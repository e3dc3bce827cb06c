"""Asking a web service with the key of an instance: bounded, guarded, and honest about what went wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Self

import orjson
from pydantic import JsonValue

from toolcrib_core import ToolErrorCategory
from toolcrib_core.excerpts import EXCERPT, MAX_EXCERPT
from toolcrib_core.wording import quoted
from toolcrib_runtime.guards.net import FetchLimits, FetchResponse, GuardedClient, NetGrant
from toolcrib_runtime.guards.net.urls import parse_url
from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_toolsets.errors import ServiceFailed

LIMITS: Final = FetchLimits(seconds=30.0, max_bytes=4 * 1024 * 1024, max_redirects=0)
_UNAUTHORIZED: Final = (401, 403)
_TOO_MANY: Final = 429
_SUCCESS: Final = 2
_REDIRECT: Final = 3
_FIRST_SERVER_ERROR: Final = 500


@dataclass(frozen=True, kw_only=True)
class WebService:
    """A service that is open for one instance."""

    name: str
    client: GuardedClient
    headers: Mapping[str, Secret]
    scrubber: Scrubber

    @classmethod
    @asynccontextmanager
    async def opened(cls, name: str, *, grant: NetGrant, headers: Mapping[str, Secret]) -> AsyncIterator[Self]:
        """The service, for as long as the block lasts."""
        async with GuardedClient(grant, limits=LIMITS) as client:
            yield cls(name=name, client=client, headers=headers, scrubber=Scrubber(headers.values()))

    async def ask(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: JsonValue = None
    ) -> JsonValue:
        """What the service answers, as JSON; an answer without a body is nothing.

        Raises:
            ServiceFailed: As for `fetch`, or the answer is not JSON.
            ToolError: It cannot be reached; see `GuardedClient.fetch`.
        """
        sent = {"accept": "application/json", **(headers or {})}
        content = b""
        if body is not None:
            content = orjson.dumps(body)
            sent["content-type"] = "application/json"
        answer = await self.fetch(method, url, headers=sent, content=content)
        return self.value_of(answer) if answer.body else None

    async def fetch(self, method: str, url: str, *, headers: Mapping[str, str], content: bytes) -> FetchResponse:
        """The answer of the service, if it is one of success.

        Redirects are not followed: they would carry the key to another place.

        Raises:
            ServiceFailed: It refuses the key, is busy, or fails.
            ToolError: It cannot be reached; see `GuardedClient.fetch`.
        """
        # The key stands alone in its header, however an argument spells that.
        own = {name: text for name, text in headers.items() if name.lower() not in self.headers}
        answer = await self.client.fetch(
            method,
            url,
            headers=own | {name: secret.reveal() for name, secret in self.headers.items()},
            content=content,
            follow_redirects=False,
        )
        if answer.status // 100 != _SUCCESS:
            raise self._refused(answer)
        return answer

    def value_of(self, answer: FetchResponse) -> JsonValue:
        """The body of an answer as JSON, without the key, which a service may echo in any spelling that JSON has.

        Raises:
            ServiceFailed: It is not JSON.
        """
        try:
            plain = orjson.dumps(orjson.loads(answer.body)).decode()
            value: JsonValue = orjson.loads(self.scrubber.scrub_known(plain))
        except (ValueError, TypeError):
            raise self._failed("its answer is not JSON", ToolErrorCategory.UNAVAILABLE) from None
        return value

    def _refused(self, answer: FetchResponse) -> ServiceFailed:
        failure = self._failure_of(answer)
        said = self.scrubber.scrub_line(answer.body.decode(errors="replace"), max_length=MAX_EXCERPT)
        if said:
            failure.details[EXCERPT] = said
        return failure

    def _failure_of(self, answer: FetchResponse) -> ServiceFailed:
        status = answer.status
        if status in _UNAUTHORIZED:
            return self._failed(f"it refuses the key ({status})", ToolErrorCategory.PERMISSION)
        if status == _TOO_MANY:
            failure = self._failed("it was asked too often (429)", ToolErrorCategory.TRANSIENT)
            if answer.retry_after is not None:
                failure.details["retryAfter"] = answer.retry_after
            return failure
        if status >= _FIRST_SERVER_ERROR:
            return self._failed(f"it failed itself ({status})", ToolErrorCategory.UNAVAILABLE)
        if status // 100 == _REDIRECT:
            return self._failed(f"it redirects ({status}), which is not followed", ToolErrorCategory.VALIDATION)
        return self._failed(f"it does not take the request ({status})", ToolErrorCategory.VALIDATION)

    def _failed(self, reason: str, category: ToolErrorCategory) -> ServiceFailed:
        failure = ServiceFailed.of(subject=quoted(self.name), reason=reason)
        return ServiceFailed(failure.message, category=category, details=failure.details)


def grant_for(base_url: str, granted: NetGrant) -> NetGrant:
    """What may be reached for an instance: the host of its base, as far as the operator has granted that.

    Raises:
        InvalidUrl: The base is no URL that is requested.
        BlockedAddress: The operator has not granted it.
    """
    host = parse_url(base_url, granted).host
    return granted.model_copy(update={"hosts": (host,)})
