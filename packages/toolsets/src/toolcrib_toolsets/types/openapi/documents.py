"""An OpenAPI document within bounds: its version, and what its references lead to. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError

from toolcrib_core.wording import either, quoted
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types.openapi.operations import OperationRefused

MAX_VALUES: Final = 500_000
MAX_DEPTH: Final = 100
MAX_REFERENCES: Final = 20
"""How many references may lead from one to the next."""

VERSIONS: Final = ("2.0", "3.0", "3.1", "3.2")
_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1
_PLACE_DEPTH: Final = 8  # keys of a place that an error names
_Model = TypeVar("_Model", bound=BaseModel)
_VERSION: Final = re.compile(r"(\d\.\d)(?:\.\d+)?(?:[-+].*)?")


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document of a version that is read."""

    root: Mapping[str, Any]
    version: str

    @property
    def is_old(self) -> bool:
        """Whether its schemas are of the form before 3.1."""
        return self.version in ("2.0", "3.0")

    def find(self, reference: str) -> object:
        """What a reference within the document leads to.

        Raises:
            OperationRefused: It leads out of the document, or nowhere.
        """
        if not reference.startswith("#"):
            raise OperationRefused(f"it refers to {quoted(reference)}, outside of the document; nothing is fetched")
        if reference not in ("#", "#/") and not reference.startswith("#/"):
            raise OperationRefused(
                f"it refers to {quoted(reference)} by an anchor; only paths of the form `#/…` are read"
            )
        here: object = self.root
        for part in pointer_parts(reference):
            if isinstance(here, Mapping) and part in here:
                here = here[part]
            elif isinstance(here, Sequence) and not isinstance(here, str) and part.isdigit() and int(part) < len(here):
                here = here[int(part)]
            else:
                raise OperationRefused(f"it refers to {quoted(reference)}, which is not in the document")
        return here

    def follow(self, given: object, what: str) -> Mapping[str, Any]:
        """An object, or the one that its reference leads to.

        Raises:
            OperationRefused: The reference leads out of the document, nowhere, or back to itself, or it is no object.
        """
        passed: set[str] = set()
        while isinstance(given, Mapping) and isinstance(given.get("$ref"), str):
            reference = given["$ref"]
            if reference in passed:
                raise OperationRefused(f"the reference {quoted(reference)} leads back to itself")
            if len(passed) == MAX_REFERENCES:
                raise OperationRefused(f"more than {MAX_REFERENCES} references lead from {quoted(min(passed))} on")
            passed.add(reference)
            given = self.find(reference)
        if not isinstance(given, Mapping):
            raise OperationRefused(f"{what} is not an object")
        return given


def open_document(given: object) -> Document:
    """A document within bounds.

    Raises:
        InvalidSettings: It has no version that is read, or it is too large or too deep.
    """
    if not isinstance(given, Mapping):
        raise InvalidSettings.because("the document is not a JSON object")
    written = given.get("swagger", given.get("openapi"))
    found = _VERSION.fullmatch(str(written))
    if written is None or found is None or found[1] not in VERSIONS or (found[1] == "2.0") != ("swagger" in given):
        said = f"says `{'swagger' if 'swagger' in given else 'openapi'}: {str(written)[:20]}`"
        raise InvalidSettings.because(
            f"the document {said if written is not None else 'names no version'}; "
            f"OpenAPI {either(VERSIONS)} can be read (`openapi: 3.1.0`, or `swagger: '2.0'`)"
        )
    _check_bounds(given)
    if not isinstance(given.get("paths", {}), Mapping):
        raise InvalidSettings.because("in the document, `paths` is not an object")
    return Document(root=given, version=found[1])


def pointer_parts(reference: str) -> list[str]:
    """The keys of a reference of the form `#/a/b`."""
    pointer = unquote(reference.removeprefix("#"))
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]] if pointer != "/" else []


def checked(model: type[_Model], given: Mapping[str, Any], what: str) -> _Model:
    """A part of the document as the model of it.

    Raises:
        OperationRefused: It breaks the model; the reason names the place.
    """
    try:
        return model.model_validate(given)
    except ValidationError as failure:
        first = failure.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise OperationRefused(
            f"{what} is wrong at {quoted(place)}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        ) from None


def _check_bounds(given: Mapping[str, Any]) -> None:
    waiting: list[tuple[object, int, str]] = [(given, 0, "#")]
    values = 0
    while waiting:
        each, depth, place = waiting.pop()
        values += 1
        if values > MAX_VALUES:
            raise InvalidSettings.because(f"the document has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise InvalidSettings.because(f"the document is nested more than {MAX_DEPTH} deep at {quoted(place)}")
        if isinstance(each, Mapping):
            if not all(isinstance(name, str) for name in each):
                raise InvalidSettings.because(f"the document has a key that is not text at {quoted(place)}")
            named = depth < _PLACE_DEPTH
            waiting += [(value, depth + 1, f"{place}/{name}" if named else place) for name, value in each.items()]
        elif isinstance(each, int) and not _LEAST <= each <= _MOST:
            raise InvalidSettings.because(f"the document has a number of more than 64 bits at {quoted(place)}")
        elif isinstance(each, list):
            waiting += [(value, depth + 1, place) for value in each]
