"""A card says what a tool does, and nothing of its schemas, examples, metadata, address or transport."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.card_text import card_text, one_line
from toolcrib_core.cards import make_card, render_card
from toolcrib_core.definition import ToolDefinition

SERVER = "https://user:hunter2@mcp.internal.example:8443/v1/mcp?key=abc"
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"card_number": {"type": "string", "pattern": "^[0-9]{16}$"}},
    "required": ["card_number"],
}


def define(description: str = "", **fields: Any) -> ToolDefinition:
    return ToolDefinition(identity="pay:take_payment@1", description=description, **fields)


def shown(description: str, *, withhold: tuple[str, ...] = (), **fields: Any) -> str:
    return card_text(define(description, **fields), withhold=withhold).description


@pytest.mark.req("GW-2.2", "D4-2.2a")
@pytest.mark.parametrize(
    "stuffing",
    [
        json.dumps(SCHEMA),
        json.dumps(SCHEMA, indent=2),
        json.dumps([SCHEMA, SCHEMA]),
        json.dumps(json.dumps(SCHEMA)),
        json.dumps(json.dumps(json.dumps(SCHEMA))),
        repr(SCHEMA),
        json.dumps(SCHEMA)[:-1],
        f"{{{json.dumps(SCHEMA)}}}",
        f"```json\n{json.dumps(SCHEMA)}\n```",
        "{type: 'object', properties: {card_number: {type: 'string'}}}",
        "inputSchema: properties: card_number: type: string",
        "Input schema = card_number (string)",
        "args_schema: card_number",
    ],
    ids=[
        "JSON", "indented", "list", "in a string", "in a string twice", "Python", "cut off", "wrapped", "fenced",
        "JavaScript", "YAML", "words", "args_schema",
    ],
)  # fmt: skip
def test_a_schema_in_the_description_is_not_on_the_card(stuffing: str) -> None:
    text = shown(f"Take a payment. {stuffing}")

    assert text.startswith("Take a payment.")
    for trace in ("card_number", "properties", "required", "$schema", "0-9"):
        assert trace not in text


@pytest.mark.req("GW-2.2", "D4-2.2c")
@pytest.mark.parametrize(
    "stuffing",
    [
        'Example: take_payment(card_number="4111")',
        "\nExamples:\n  take_payment 4111",
        "\n## Example usage:\n4111",
        "\n**Examples**: 4111",
        "```python\ntake_payment('4111')\n```",
        '{"card_number": "4111"}',
    ],
)
def test_an_example_in_the_description_is_not_on_the_card(stuffing: str) -> None:
    text = shown(f"Take a payment. {stuffing}")

    assert text.startswith("Take a payment.")
    assert "4111" not in text


@pytest.mark.req("GW-2.2", "D4-2.2a", "D4-2.2b", "D4-2.2c", "D4-2.2d", "D4-7a")
def test_neither_schemas_examples_nor_metadata_of_the_definition_reach_any_field_of_the_card() -> None:
    definition = define(
        "Take a payment.",
        input_schema={"type": "object", "properties": {"secret_parameter": {"description": "secret prose"}}},
        output_schema={"type": "object", "properties": {"secret_result": {}}},
        examples=("secret request",),
        input_examples=({"secret_parameter": 1},),
        metadata={"annotations": {"title": "secret title"}, "_meta": {"note": "secret note"}},
    )

    made = make_card(definition)

    assert "secret" not in made.model_dump_json()


@pytest.mark.req("GW-2.2", "D4-2.2e")
@pytest.mark.parametrize(
    "mention",
    [
        SERVER,
        "https://mcp.internal.example:8443/v1/mcp",
        "HTTP://MCP.Internal.Example/other",
        "mcp.internal.example:8443",
        "mcp.internal.example",
        "(mcp.internal.example)",
        "<https://mcp.internal.example/>",
        "[docs](https://mcp.internal.example/docs)",
        "https%3A%2F%2Fmcp.internal.example%3A8443",
        "eu.mcp.internal.example",
        "mcp.\u200binternal.example",
        "ssh://root@mcp.internal.example",
    ],
)
@pytest.mark.parametrize("known_from", ["withheld", "host withheld", "metadata"])
def test_the_server_s_address_is_not_on_the_card(mention: str, known_from: str) -> None:
    withhold = {"withheld": (SERVER,), "host withheld": ("mcp.internal.example:8443",)}.get(known_from, ())
    metadata = {"_meta": {"servers": [{"endpoint": f"see {SERVER}"}]}} if known_from == "metadata" else {}

    text = shown(f"Take a payment through {mention} today.", withhold=withhold, metadata=metadata)

    assert "internal" not in text.lower()
    assert "8443" not in text
    assert text.startswith("Take a payment through")
    assert text.endswith("today.")


@pytest.mark.req("GW-2.2")
def test_a_server_whose_host_is_an_ordinary_word_loses_its_addresses_not_the_word() -> None:
    text = shown(
        "Find a payment. Payments are kept at http://payments:8080/mcp or payments:8080, in payments format.",
        withhold=("http://payments:8080/mcp",),
    )

    assert text == "Find a payment. Payments are kept at or, in payments format."


@pytest.mark.req("GW-2.2")
def test_other_addresses_and_what_only_looks_like_the_server_s_stay() -> None:
    prose = "Fetch https://docs.other.example/page... then call main()."

    text = shown(prose, withhold=(SERVER,), metadata={"docs": "https://...", "form": "https://{host}/"})

    assert text == prose


@pytest.mark.req("GW-2.2", "D4-2.2g")
@pytest.mark.parametrize("fields", [{"withhold": ("stdio",)}, {"metadata": {"transport": "stdio"}}])
def test_the_transport_is_neither_in_the_description_nor_among_the_tags(fields: dict[str, Any]) -> None:
    withhold = fields.pop("withhold", ())
    definition = define("Take a payment (STDIO).", tags=["stdio", "money"], **fields)

    assert card_text(definition, withhold=withhold) == ("Take a payment.", ("money",))


@pytest.mark.req("CT-12", "GW-2.2", "D4-2.2f")
@pytest.mark.parametrize(
    ("prose", "expected"),
    [
        ("Take a payment over stdio.", "Take a payment."),
        ("Take a payment through the Streamable-HTTP transport, fast.", "Take a payment, fast."),
        ("Take a payment (stdio, streamable_http and SSE).", "Take a payment."),
        ("A stdio-based payment.", "A -based payment."),
        ("Take a payment (stdio/SSE).", "Take a payment."),
        ("Runs via sse. Take a payment.", "Runs. Take a payment."),
        ("Take a payment over HTTPS.", "Take a payment."),
        ("Take a payment (HTTP transport).", "Take a payment."),
        ("Take a payment. transport: http", "Take a payment."),
        ("Take a payment using websocket-transport", "Take a payment using"),
    ],
)
def test_no_name_of_a_transport_is_in_the_prose_whatever_the_server_is_reached_by(prose: str, expected: str) -> None:
    assert shown(prose) == expected


@pytest.mark.req("CT-12", "GW-2.2")
@pytest.mark.parametrize(
    "prose",
    [
        "Send an HTTP request.",
        "Fetch https://docs.other.example/sse-guide via https://proxy.other.example/.",
        "Count the assessments of a class.",
        "Plan the transport of goods; is the transport http-like?",
    ],
)
def test_prose_about_http_and_words_that_hold_such_a_name_stay(prose: str) -> None:
    assert shown(prose) == prose


@pytest.mark.req("CT-12", "GW-2.2", "D4-2.2f")
def test_a_transport_that_the_tool_declares_is_on_no_card_even_as_an_everyday_word() -> None:
    definition = define("Send HTTP requests to http://a.b/.", tags=["http", "web"], metadata={"transport": "http"})

    assert card_text(definition) == ("Send requests to http://a.b/.", ("web",))


@pytest.mark.req("GW-2.2", "D4-2.2g")
def test_tags_that_spell_the_server_s_host_are_left_out() -> None:
    definition = define("Take a payment.", tags=["mcp.internal.example", "eu/mcp.internal.example", "data-base"])

    assert card_text(definition, withhold=(SERVER, "http://a.b")).tags == ("data-base",)


@pytest.mark.parametrize(
    ("description", "title", "expected"),
    [
        ("", None, "take payment"),
        ("", "Take a payment", "Take a payment"),
        ('{"type": "object"}', "Take a payment", "Take a payment"),
        (SERVER, None, "take payment"),
        (f"({SERVER})", SERVER, "take payment"),
        (" \n\t ", "", "take payment"),
        ("🎉", None, "🎉"),
    ],
)
def test_when_nothing_is_left_of_the_description_the_title_speaks_or_else_the_name(
    description: str, title: str | None, expected: str
) -> None:
    assert shown(description, title=title, withhold=(SERVER,)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("createIssue", "create Issue"), ("list-all.items", "list all items"), ("_", "_"), ("OCR", "OCR")],
)
def test_the_name_in_words_is_split_where_its_author_joined_it(name: str, expected: str) -> None:
    assert card_text(ToolDefinition(name=name)).description == expected


def test_prose_with_braces_that_are_no_objects_is_left_alone() -> None:
    prose = "GET /users/{id}/posts, {{ template }}, [see below], a {set}, main() and f(x): y."

    assert shown(prose) == prose


@pytest.mark.req("GW-2.1", "D4-2.1f")
def test_white_space_and_control_characters_become_single_spaces_and_hidden_ones_go() -> None:
    text = "a\r\n\tb\u2028c\x00\x1b[31md\u00a0\u3000e \u202eevil\u202c\ufeff\u200bf\U000e0041 👩\u200d💻"

    assert one_line(text) == "a b c [31md e evilf 👩\u200d💻"


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=[]), max_size=100))
def test_one_line_is_one_line_and_stays_as_it_is(text: str) -> None:
    line = one_line(text)

    assert one_line(line) == line
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert line.encode().decode() == line


@pytest.mark.fault("A10")
@pytest.mark.parametrize(
    "hostile",
    [
        "{" * 1_000_000,
        "[{" * 500_000,
        '{"a":{' * 150_000,
        "{ " * 500_000,
        "\n" + " " * 1_000_000,
        "example" + " " * 1_000_000,
        "." * 1_000_000,
        "```" * 300_000,
        "//" * 500_000,
        "mcp.internal.example" * 50_000,
        "input schema" * 80_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_megabyte_made_to_slow_the_patterns_down_is_read_and_withheld(hostile: str) -> None:
    definition = define(f"{hostile} {hostile}", metadata={"a": hostile, "b": hostile.replace(" ", "a")})

    line = render_card(make_card(definition, withhold=(SERVER,)))

    assert line.startswith("pay:take_payment@1 — ")
    assert "internal" not in line
