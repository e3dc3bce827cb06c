"""The names that each adapter gives to tools: legal by the rules of its provider and its SDK, and leading back."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from google.genai import types
from mcp.shared.tool_name_validation import validate_tool_name

from tests.adapters.corpus import corpus
from toolcrib_anthropic import to_anthropic_tools
from toolcrib_claude_agent import to_claude_agent_tools
from toolcrib_core import ToolDefinition, ToolNames
from toolcrib_gemini import to_gemini_tools
from toolcrib_openai import to_openai_tools

_HARD: Final = tuple(
    ToolDefinition(namespace=namespace, name=name, version=version)
    for namespace, name in (
        ("7zip", "list"),
        ("default", "3d_print"),
        ("default", "-dash"),
        ("_7zip", "list"),
        ("-a", "b"),
        ("git.hub", "issues/create"),
        ("two words", "~!@#"),
        ("default", "..."),
        ("default", "x" * 200),
        ("9" * 80, "9" * 80),
        ("a__b", "__c"),
    )
    for version in ("1.0.0", "2.0.0")
) + tuple(ToolDefinition(namespace=each, name="only") for each in ("1st", "-", "_", "."))

# Of Gemini the SDK says the rule where it describes the field; it has no code for it.
_GEMINI: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_OPENAI: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANTHROPIC: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


def _functions(tools: list[Any]) -> list[Any]:
    return [inner for each in tools for inner in (each["tools"] if each.get("type") == "namespace" else [each])]


def _definitions() -> list[ToolDefinition]:
    return [*_HARD, *corpus()]


def _lead_back(names: ToolNames, written: list[str]) -> bool:
    return sorted(names.definition(each).id for each in written) == sorted(each.id for each in names)


@pytest.mark.req("CT-4", "AD-7")
def test_gemini_takes_every_name() -> None:
    rule = types.FunctionDeclaration.model_fields["name"].description or ""
    assert "Must start with a letter or an underscore" in rule

    # A request has room for 512.
    for only in (list(_HARD), *([each] for each in corpus())):
        made: Any = to_gemini_tools(only)
        names = [each["name"] for one in made.tools for each in one["function_declarations"]]
        assert [each for each in names if not _GEMINI.fullmatch(each)] == []
        assert _lead_back(made.names, names)


@pytest.mark.req("CT-4", "AD-7")
def test_openai_takes_every_name_alone_in_a_namespace_and_in_chat() -> None:
    every: tuple[dict[str, Any], ...] = ({}, {"namespaces": True}, {"api": "chat"})
    for options in every:
        made: Any = to_openai_tools(_definitions(), **options)
        functions = [each.get("function", each) for each in _functions(made.tools)]
        assert [each["name"] for each in functions if not _OPENAI.fullmatch(each["name"])] == []
        assert [each["name"] for each in made.tools if "name" in each and not _OPENAI.fullmatch(each["name"])] == []
        assert len(functions) == len(made.names)


@pytest.mark.req("CT-4", "AD-7")
def test_anthropic_takes_every_name() -> None:
    made: Any = to_anthropic_tools([each for each in _definitions() if not _has_odd_parameters(each)])

    names = [str(each["name"]) for each in made.tools]
    assert [each for each in names if not _ANTHROPIC.fullmatch(each)] == []
    assert _lead_back(made.names, names)


@pytest.mark.req("CT-4", "AD-7")
@pytest.mark.parametrize("server", ["toolcrib", "7zip", "a-server-with-a-long-name"])
def test_the_claude_agent_sdk_takes_every_name_and_the_model_sees_a_legal_one(server: str) -> None:
    made: Any = to_claude_agent_tools([each for each in _definitions() if not _has_odd_parameters(each)], server=server)

    listed = [str(each["name"]) for each in made.tools]
    assert [each for each in listed if not validate_tool_name(each).is_valid] == []
    assert [each for each in listed if not _OPENAI.fullmatch(f"mcp__{server}__{each}")] == []
    assert _lead_back(made.names, listed)


def _has_odd_parameters(definition: ToolDefinition) -> bool:
    return any(
        not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", each) for each in definition.input_schema.get("properties", {})
    )
