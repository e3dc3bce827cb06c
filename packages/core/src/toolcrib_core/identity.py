"""Tool ids: `namespace:name[@version][#hash8]`.

One grammar with two profiles. In the general one each component may hold any text and is percent-encoded as
JavaScript's `encodeURIComponent` does. The gateway's is the strict subset that needs no encoding, is at most 240
characters long and always says which version or shape it means. Every identity has exactly one text, so an id can be
compared as a string.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias
from urllib.parse import quote, unquote

from toolcrib_core.errors import InvalidToolId
from toolcrib_core.wording import quoted, shown

DEFAULT_NAMESPACE = "default"
MAX_ID_LENGTH = 2048
GATEWAY_MAX_ID_LENGTH = 240

ToolId: TypeAlias = str
"""The text of an id, as `format_tool_id` writes it: `namespace:name[@version][#hash8]`."""

IdProfile: TypeAlias = Literal["general", "gateway"]

# What encodeURIComponent leaves as it is, beside letters and digits.
_UNRESERVED = "-_.!~*'()"
_PLAIN = re.compile(r"[A-Za-z0-9\-_.!~*'()]+")
_ENCODED = r"(?:[A-Za-z0-9\-_.!~*'()]|%[0-9A-F]{2})+"
_GENERAL = re.compile(
    rf"(?P<namespace>{_ENCODED}):(?P<name>{_ENCODED})(?:@(?P<version>{_ENCODED}))?(?:#(?P<hash8>[0-9a-f]{{8}}))?"
)
_PARTS = ("namespace", "name", "version", "hash8")
_HASH8 = re.compile(r"[0-9a-f]{8}")
_GATEWAY_PARTS = {
    "namespace": re.compile(r"[a-z][a-z0-9_-]{0,63}"),
    "name": re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}"),
    "version": re.compile(r"[A-Za-z0-9._-]{1,32}"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolIdentity:
    """The address of one tool, taken apart.

    `hash8` names the input shape of a tool that comes from a server and has no version. A tool that is defined in a
    program has none.
    """

    namespace: str = DEFAULT_NAMESPACE
    name: str
    version: str | None = None
    hash8: str | None = None

    def __str__(self) -> str:
        return format_tool_id(self)


def parse_tool_id(text: ToolId, *, profile: IdProfile = "general") -> ToolIdentity:
    """Read an id from its one text form.

    Raises:
        InvalidToolId: The text is not an id in that profile; the hint names the first bad part.
    """
    if not isinstance(text, str):
        raise InvalidToolId(f"A tool id is text, not {type(text).__name__}.")
    if len(text) > MAX_ID_LENGTH:
        raise InvalidToolId(
            f"The tool id is {len(text)} characters long.", hint=f"At most {MAX_ID_LENGTH} are allowed."
        )
    match = _GENERAL.fullmatch(text)
    if match is None:
        raise _invalid(text, _first_fault(text))
    namespace, name, version, hash_ = match.groups()
    if "%" not in text:
        # Nothing is encoded, so every part stands for itself and this is its only text.
        identity = ToolIdentity(namespace=namespace, name=name, version=version, hash8=hash_)
        if profile == "gateway":
            _check_gateway_profile(identity, text)
        return identity
    identity = ToolIdentity(
        namespace=_decode(text, namespace),
        name=_decode(text, name),
        version=None if version is None else _decode(text, version),
        hash8=hash_,
    )
    # A needlessly encoded letter (`%61`) would give the same identity a second text.
    canonical = format_tool_id(identity, profile=profile)
    if canonical != text:
        raise _invalid(text, f"Write it as `{canonical}`.")
    return identity


def format_tool_id(identity: ToolIdentity, *, profile: IdProfile = "general") -> ToolId:
    """The one text of an identity: the inverse of `parse_tool_id`.

    Raises:
        InvalidToolId: A component is empty, holds a lone surrogate, or does not fit the profile.
    """
    _check_components(identity)
    text = f"{encode_component(identity.namespace)}:{encode_component(identity.name)}"
    if identity.version is not None:
        text += f"@{encode_component(identity.version)}"
    if identity.hash8 is not None:
        text += f"#{identity.hash8}"
    if len(text) > MAX_ID_LENGTH:
        raise _invalid(text, f"It is {len(text)} characters long; at most {MAX_ID_LENGTH} are allowed.")
    if profile == "gateway":
        _check_gateway_profile(identity, text)
    return text


def match_id(text: str, ids: Iterable[str]) -> str | None:
    """The one id that the text is, or is without its hash; none where it may be several."""
    fitting = [each for each in ids if each == text or each.startswith((f"{text}#", f"{text}@"))]
    if text in fitting:
        return text
    return fitting[0] if len(fitting) == 1 and fitting[0].startswith(f"{text}#") else None


def normalize_identity(value: str | ToolIdentity | Mapping[str, str | None]) -> ToolIdentity:
    """An identity from an id, a bare name, a mapping with `name`, or an identity.

    A missing or empty namespace becomes `default`; an empty version counts as none.

    Raises:
        InvalidToolId: There is no name, or a part is malformed.
    """
    if isinstance(value, str):
        return parse_tool_id(value if ":" in value else f"{DEFAULT_NAMESPACE}:{value}")
    if not isinstance(value, ToolIdentity | Mapping):
        raise InvalidToolId(f"A tool is named by its id or its parts, not by a value of type `{type(value).__name__}`.")
    parts = asdict(value) if isinstance(value, ToolIdentity) else dict(value)
    unknown = sorted(set(parts) - set(_PARTS))
    if unknown:
        raise InvalidToolId(
            f"An identity has no part `{unknown[0]}`.", hint="Its parts are `namespace`, `name`, `version` and `hash8`."
        )
    identity = ToolIdentity(
        namespace=parts.get("namespace") or DEFAULT_NAMESPACE,
        name=parts.get("name") or "",
        version=parts.get("version") or None,
        hash8=parts.get("hash8") or None,
    )
    _check_components(identity)
    return identity


def encode_component(text: str) -> str:
    """Percent-encode as JavaScript's encodeURIComponent does."""
    if _PLAIN.fullmatch(text):
        return text
    try:
        return quote(text, safe=_UNRESERVED)
    except UnicodeEncodeError:
        raise InvalidToolId("The text holds a lone surrogate and cannot stand in an id.") from None


def hash8(upstream_name: str, input_schema: Mapping[str, object]) -> str:
    """Eight hex digits that name the input shape of a tool, as a server lists it.

    Only the names of the top-level properties and which are required count, so prose edits keep the id. It is a name,
    not a proof: trust rests on the full digests.
    """
    properties = input_schema.get("properties")
    required = input_schema.get("required")
    shape = json.dumps(
        {
            "properties": sorted(properties) if isinstance(properties, Mapping) else [],
            "required": sorted(map(str, required)) if isinstance(required, list | tuple) else [],
        },
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(f"{upstream_name}\n{shape}".encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _check_components(identity: ToolIdentity) -> None:
    for part in _PARTS:
        value = getattr(identity, part)
        if not isinstance(value, str) and (value is not None or part in {"namespace", "name"}):
            raise InvalidToolId(f"The {part} of a tool id must be text.", details={"part": part})
        if value == "":
            raise InvalidToolId(f"The {part} of a tool id is empty.", details={"part": part})
    if identity.hash8 is not None and _HASH8.fullmatch(identity.hash8) is None:
        raise InvalidToolId("The hash of a tool id must be 8 lower-case hex digits.", details={"part": "hash8"})


def _check_gateway_profile(identity: ToolIdentity, text: str) -> None:
    for part, pattern in _GATEWAY_PARTS.items():
        value = getattr(identity, part)
        if value is not None and pattern.fullmatch(value) is None:
            raise _invalid(text, f"The {part} must match `{pattern.pattern}`.", part=part)
    if identity.version is None and identity.hash8 is None:
        raise _invalid(text, "It needs `@version` or `#hash8`.", part="hash8")
    if len(text) > GATEWAY_MAX_ID_LENGTH:
        raise _invalid(text, f"It is {len(text)} characters long; at most {GATEWAY_MAX_ID_LENGTH} are allowed.")


def _decode(text: str, encoded: str) -> str:
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        raise _invalid(text, f"{quoted(encoded)} does not decode to text.") from None


def _first_fault(text: str) -> str:
    if text == "":
        return "It is empty."
    namespace, colon, rest = text.partition(":")
    if not colon:
        return "There is no `:` after the namespace."
    name, _, version = rest.partition("#")[0].partition("@")
    for part, value in (("namespace", namespace), ("name", name), ("version", version)):
        if value == "" and (part != "version" or "@" in rest):
            return f"The {part} is empty."
        if value and re.fullmatch(_ENCODED, value) is None:
            return f"The {part} holds a character that must be percent-encoded."
    return "The part behind `#` must be 8 lower-case hex digits."


def _invalid(text: str, hint: str, part: str | None = None) -> InvalidToolId:
    return InvalidToolId(
        f"{quoted(text)} is not a tool id.", hint=hint, details={"text": shown(text), "part": part} if part else {}
    )
