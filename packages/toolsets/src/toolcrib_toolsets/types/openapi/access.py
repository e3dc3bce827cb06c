"""Where an API is, and how the key goes into the requests of an operation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from openapi_pydantic import SecurityScheme, Server

from toolcrib_core.wording import listed, quoted
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types.openapi.documents import Document, checked
from toolcrib_toolsets.types.openapi.operations import KeyPlace, OperationRefused
from toolcrib_toolsets.types.openapi.swagger import security_schemes_of, servers_of

_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_WORDS: Final = {"bearer": "Bearer ", "token": "Token ", "apikey": "ApiKey "}
_NO_SERVER: Final = "the document names no server that can be asked, so `baseUrl` is needed"


class Servers:
    """The base of every operation: the one that was given, else the first server of the nearest list of them."""

    def __init__(self, document: Document, base_url: str | None, variables: Mapping[str, str]) -> None:
        self._base_url = base_url
        self._variables = variables
        self._known: set[str] = set()
        self._listed = servers_of(document.root) if document.version == "2.0" else document.root.get("servers")

    def base_of(self, item: Mapping[str, Any], operation: Mapping[str, Any], *, schemes: object = None) -> str:
        """The base of an operation, without a slash at its end.

        Raises:
            OperationRefused: No server can be asked.
        """
        base = self._base_url or self._written(item, operation)
        if (
            self._base_url is None
            and isinstance(schemes, list)
            and base.startswith("https://")
            and "https" not in schemes
        ):
            base = f"http{base.removeprefix('https')}"
        if not urljoin(base, "/").startswith(("http://", "https://")):
            raise OperationRefused(_NO_SERVER)
        if urlsplit(base).query or urlsplit(base).fragment:
            raise OperationRefused(f"its server {quoted(base)} has a query or a fragment")
        return base.rstrip("/")

    def refuse_unknown_variables(self) -> None:
        """Refuse values of variables that no server has.

        Raises:
            InvalidSettings: There is one.
        """
        unknown = sorted(set(self._variables) - self._known)
        if unknown and self._base_url is None:
            known = f"known are {listed(sorted(self._known))}" if self._known else "they have none"
            raise InvalidSettings.because(f"the servers have no variable {listed(unknown)}; {known}")

    def _written(self, item: Mapping[str, Any], operation: Mapping[str, Any]) -> str:
        base = ""
        for given in (self._listed, item.get("servers"), operation.get("servers")):
            if isinstance(given, list) and given:
                # One that is relative stands for the same host: that of the list around it.
                base = urljoin(base, self._filled(given[0])) if base else self._filled(given[0])
        return base

    def _filled(self, given: object) -> str:
        if not isinstance(given, Mapping):
            raise OperationRefused("its server is not an object")
        server = checked(Server, given, "its server")
        declared = server.variables or {}

        def value_of(found: re.Match[str]) -> str:
            name = found[1]
            self._known.add(name)
            value = self._variables.get(name, declared[name].default if name in declared else None)
            if value is None:
                raise OperationRefused(
                    f"its server has the variable {quoted(name)} without a value; give one in `variables`, or `baseUrl`"
                )
            allowed = declared[name].enum if name in declared else None
            if allowed and value not in allowed:
                raise OperationRefused(f"the variable {quoted(name)} of its server is one of {listed(allowed)}")
            return value

        return _VARIABLE.sub(value_of, server.url)


class Keys:
    """Where the key of an instance goes: where it was said, else where the security schemes of a document say."""

    def __init__(self, document: Document, key: KeyPlace | None) -> None:
        self._document = document
        self._key = key
        root = document.root
        given = root.get("components")
        if document.version == "2.0":
            self._schemes: Mapping[str, Any] = security_schemes_of(root)
        else:
            schemes = given.get("securitySchemes") if isinstance(given, Mapping) else None
            self._schemes = schemes if isinstance(schemes, Mapping) else {}
        self._is_declared = "security" in root or _has_security(root.get("paths"))

    def place_for(self, operation: Mapping[str, Any]) -> KeyPlace | None:
        """Where the key goes for an operation; nowhere if it needs none.

        Raises:
            OperationRefused: It needs more than one key, or one of a kind that cannot be sent.
        """
        if self._key is not None:
            return self._key
        if not self._is_declared:
            # Nothing says which of them counts: the only one there is, else what most services take.
            return self._scheme(next(iter(self._schemes))) if len(self._schemes) == 1 else KeyPlace()
        given = operation.get("security", self._document.root.get("security", []))
        if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
            raise OperationRefused("its `security` is not a list of objects")
        if not given:
            return None
        reasons: list[str] = []
        for each in sorted(given, key=lambda each: not each):  # without a key only if there is no other way
            try:
                return self._requirement(each)
            except OperationRefused as refused:
                reasons.append(refused.reason)
        raise OperationRefused(reasons[0])

    def _requirement(self, given: Mapping[str, Any]) -> KeyPlace | None:
        if not given:
            return None
        if len(given) > 1:
            raise OperationRefused(f"it needs {listed(given)} at once, and an instance has one key")
        return self._scheme(next(iter(given)))

    def _scheme(self, name: str) -> KeyPlace:
        if name not in self._schemes:
            raise OperationRefused(f"its security scheme {quoted(name)} is not in the document")
        what = f"the security scheme {quoted(name)}"
        given = {
            key: value for key, value in self._document.follow(self._schemes[name], what).items() if key != "flows"
        }
        scheme = checked(SecurityScheme, given, what)
        match scheme.type:
            case "oauth2" | "openIdConnect":
                return KeyPlace()
            case "http" if (scheme.scheme or "").lower() == "basic":
                return KeyPlace(basic=True)
            case "http" if (scheme.scheme or "").lower() in _WORDS:
                return KeyPlace(header="Authorization", prefix=_WORDS[(scheme.scheme or "").lower()])  # type: ignore[arg-type]  # one of its words
            case "apiKey" if scheme.security_scheme_in in ("header", "query", "cookie") and scheme.name:
                try:
                    return KeyPlace.model_validate(
                        {scheme.security_scheme_in: scheme.name}
                        | ({"prefix": ""} if scheme.security_scheme_in == "header" else {})
                    )
                except ValueError:
                    raise OperationRefused(f"{what} has a name that cannot be sent") from None
        said = f"http {scheme.scheme}" if scheme.type == "http" else scheme.type
        raise OperationRefused(f"{what} is {quoted(said)}, for which a key is not enough")


def _has_security(paths: object) -> bool:
    items = paths.values() if isinstance(paths, Mapping) else ()
    return any(
        isinstance(each, Mapping) and "security" in each
        for item in items
        if isinstance(item, Mapping)
        for each in item.values()
    )
