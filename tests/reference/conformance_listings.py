"""The resources, prompts and completions of the conformance server."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import mcp.types as t
from mcp import MCPError

from tests.reference import conformance_content as content
from tests.reference.conformance_rounds import prompt_with_question

_TEMPLATE: Final = re.compile(r"test://template/([^/]+)/data")
_TEXTS: Final = {
    "test://static-text": "This is the content of the static text resource.",
    "test://watched-resource": "This is the content of the watched resource.",
}
_SUGGESTIONS: Final = ("paris", "park", "party")


def _resource(uri: str, mime_type: str) -> t.Resource:
    name = uri.removeprefix("test://")
    return t.Resource(uri=uri, name=name, description=f"The fixture's {name}.", mime_type=mime_type)


RESOURCES: Final = (
    _resource("test://static-text", "text/plain"),
    _resource("test://static-binary", "image/png"),
    _resource("test://watched-resource", "text/plain"),
)
TEMPLATES: Final = (
    t.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="The data of an id.",
        mime_type="application/json",
    ),
)


def read_resource(uri: str) -> t.ReadResourceResult:
    """The contents of a resource.

    Raises:
        MCPError: There is none under this URI.
    """
    if uri == "test://static-binary":
        return t.ReadResourceResult(contents=[t.BlobResourceContents(uri=uri, mime_type="image/png", blob=content.PNG)])
    if words := _TEXTS.get(uri):
        return _text_resource(uri, "text/plain", words)
    if match := _TEMPLATE.fullmatch(uri):
        data = {"id": match[1], "templateTest": True, "data": f"Data for ID: {match[1]}"}
        return _text_resource(uri, "application/json", json.dumps(data))
    raise MCPError(t.INVALID_PARAMS, "Resource not found", {"uri": uri})


def _text_resource(uri: str, mime_type: str, words: str) -> t.ReadResourceResult:
    return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, mime_type=mime_type, text=words)])


def _prompt(name: str, *arguments: str) -> t.Prompt:
    given = [t.PromptArgument(name=argument, description=f"The {argument}.", required=True) for argument in arguments]
    return t.Prompt(name=name, description=f"Fixture {name}.", arguments=given or None)


PROMPTS: Final = (
    _prompt("test_simple_prompt"),
    _prompt("test_prompt_with_arguments", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "resourceUri"),
    _prompt("test_prompt_with_image"),
    _prompt("test_input_required_result_prompt"),
)
ADDED_PROMPT: Final = _prompt("test_added_prompt")


def get_prompt(params: t.GetPromptRequestParams) -> t.GetPromptResult | t.InputRequiredResult:
    """The messages of a prompt.

    Raises:
        MCPError: There is no such prompt.
    """
    arguments: dict[str, Any] = params.arguments or {}
    match params.name:
        case "test_simple_prompt" | "test_added_prompt":
            return _messages(content.text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            first, second = arguments.get("arg1"), arguments.get("arg2")
            return _messages(content.text(f"Prompt with arguments: arg1='{first}', arg2='{second}'"))
        case "test_prompt_with_embedded_resource":
            resource = content.embedded(arguments.get("resourceUri", ""), "Embedded resource content for testing.")
            return _messages(resource, content.text("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return _messages(content.image(), content.text("Please analyze the image above."))
        case "test_input_required_result_prompt":
            return prompt_with_question(params)
    raise MCPError(t.INVALID_PARAMS, f"Unknown prompt: {params.name}")


def _messages(*blocks: t.ContentBlock) -> t.GetPromptResult:
    return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=block) for block in blocks])


def complete(typed: str) -> t.CompleteResult:
    """What may be meant by the first letters of an argument."""
    fitting = [word for word in _SUGGESTIONS if word.startswith(typed)]
    return t.CompleteResult(completion=t.Completion(values=fitting, total=len(fitting), has_more=False))
