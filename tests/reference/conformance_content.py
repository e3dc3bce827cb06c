"""Content blocks and schemas that the conformance suite asks a server for by name."""

from __future__ import annotations

from typing import Any, Final

import mcp.types as t

PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="  # one pixel
)
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="  # no sample

NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}}

# Over HTTP the argument travels in a header as well, where intermediaries can see it.
MIRRORED_ARGUMENT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}

SCHEMA_2020_12: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

USER_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}

DEFAULTS_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "required": [],
}


def _titled(noun: str) -> list[dict[str, str]]:
    return [
        {"const": f"value{number}", "title": f"{word} {noun}"}
        for number, word in enumerate(("First", "Second", "Third"), start=1)
    ]


_OPTIONS: Final = ["option1", "option2", "option3"]
ENUMS_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _OPTIONS},
        "titledSingle": {"type": "string", "oneOf": _titled("Option")},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": _titled("Choice")}},
    },
}


def strings(*names: str) -> dict[str, Any]:
    """The schema of an object of strings, each of which is required."""
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def text(words: str) -> t.TextContent:
    """A block of text."""
    return t.TextContent(type="text", text=words)


def image() -> t.ImageContent:
    """A block with a picture."""
    return t.ImageContent(type="image", data=PNG, mime_type="image/png")


def audio() -> t.AudioContent:
    """A block with sound."""
    return t.AudioContent(type="audio", data=WAV, mime_type="audio/wav")


def embedded(uri: str, words: str, *, mime_type: str = "text/plain") -> t.EmbeddedResource:
    """A block with a resource in it."""
    contents = t.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return t.EmbeddedResource(type="resource", resource=contents)
