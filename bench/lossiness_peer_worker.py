"""Runs in a peer's environment: schemas by name come in as JSON, and what the peer makes of them goes out."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

Schema = dict[str, Any]
Converter = Callable[[Schema], Any]


def _langchain() -> dict[str, Converter]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    def convert(schema: Schema) -> Any:
        tool = convert_to_openai_tool({"title": "t", "description": "d", **schema}, strict=True)
        return tool["function"]["parameters"]

    return {f"langchain-core {version('langchain-core')} strict": convert}


def _pydantic_ai() -> dict[str, Converter]:
    from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    known = version("pydantic-ai-slim")
    return {
        f"pydantic-ai {known} OpenAI strict": lambda schema: OpenAIJsonSchemaTransformer(schema, strict=True).walk(),
        f"pydantic-ai {known} Gemini": lambda schema: GoogleJsonSchemaTransformer(schema, strict=None).walk(),
    }


def _openai_agents() -> dict[str, Converter]:
    from agents.strict_schema import ensure_strict_json_schema

    return {f"openai-agents {version('openai-agents')} strict": ensure_strict_json_schema}


def _openai() -> dict[str, Converter]:
    from openai.lib._pydantic import _ensure_strict_json_schema

    def convert(schema: Schema) -> Any:
        return _ensure_strict_json_schema(schema, path=(), root=schema)

    return {f"openai {version('openai')} strict helper": convert}


def _anthropic() -> dict[str, Converter]:
    from anthropic import transform_schema

    return {f"anthropic {version('anthropic')} transform_schema": transform_schema}


def _google() -> dict[str, Converter]:
    from google.genai import types

    def convert(schema: Schema) -> Any:
        made = types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(schema))
        return _as_json_schema(made.model_dump(exclude_none=True, by_alias=True, mode="json"))

    return {f"google-genai {version('google-genai')} Schema.from_json_schema": convert}


def _toolregistry() -> dict[str, Converter]:
    from toolregistry import Tool

    known = version("toolregistry")

    def convert(schema: Schema) -> Any:
        tool = Tool(name="t", description="d", parameters=schema, callable=print, is_async=False)
        made = tool.get_json_schema("openai-chatcompletion")
        return made["function"]["parameters"]

    return {f"toolregistry {known} OpenAI": convert}


def _as_json_schema(value: Any) -> Any:
    """An OpenAPI schema in the words of JSON Schema: types in small letters, `nullable` as a type."""
    if isinstance(value, list):
        return [_as_json_schema(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: _as_json_schema(each) for key, each in value.items()}
    if isinstance(made.get("type"), str):
        made["type"] = made["type"].lower()
    if made.pop("nullable", False) and "type" in made:
        made["type"] = [made["type"], "null"]
    return made


PEERS = {
    "anthropic": _anthropic,
    "google-genai": _google,
    "langchain-core": _langchain,
    "openai": _openai,
    "openai-agents": _openai_agents,
    "pydantic-ai": _pydantic_ai,
    "toolregistry": _toolregistry,
}


def _tried(convert: Converter, schema: Schema) -> Any:
    try:
        made = convert(copy.deepcopy(schema))
        return {"schema": json.loads(json.dumps(made))}
    except Exception as failure:  # noqa: BLE001  # what a peer raises is what is recorded
        return {"error": type(failure).__name__}


def main() -> None:
    """Convert every schema that comes in by every way of the peer."""
    cases = json.load(sys.stdin)
    made = {
        label: {name: _tried(convert, schema) for name, schema in cases.items()}
        for label, convert in PEERS[sys.argv[1]]().items()
    }
    print(json.dumps(made))


if __name__ == "__main__":
    main()
