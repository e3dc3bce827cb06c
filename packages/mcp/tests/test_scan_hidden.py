"""Characters that a person does not see are refused; those that people need, where they are drawn, are not."""

from __future__ import annotations

from typing import Any

import pytest
from scan_corpus.planting import planted

from toolcrib_mcp.scan import scan_texts
from toolcrib_mcp.scan.findings import CLEAN
from toolcrib_mcp.scan.hidden import character_name, hidden_characters

HIDDEN = (
    "\x00\x08\x1b\x7f\x85\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060"
    "\u2063\u2066\u2069\u2800\u3164\ue000\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0100\U000f0000"
    "\U0010ffff\ud800"
)
PLACES = "name title description parameter parameter-description enum default output annotation meta".split()


@pytest.mark.req("GW-8.2")
@pytest.mark.fault("F12")
@pytest.mark.parametrize("character", HIDDEN, ids=lambda each: f"U+{ord(each):04X}")
def test_a_character_that_is_not_drawn_is_refused_in_prose_and_in_names(character: str) -> None:
    assert hidden_characters(f"Adds two{character} numbers.", "prose") == (character,)
    assert hidden_characters(f"add{character}", "name") == (character,)


@pytest.mark.req("GW-8.2")
@pytest.mark.fault("F12")
@pytest.mark.parametrize("place", PLACES)
def test_hidden_text_is_refused_wherever_it_stands(place: str) -> None:
    (finding,) = scan_texts(planted(place, "metre\u200b")).refused

    assert finding.rule == "hidden-character"
    assert finding.seen == "U+200B (ZERO WIDTH SPACE)"


@pytest.mark.req("GW-8.2")
@pytest.mark.parametrize(
    ("place", "pointer"),
    [
        ("name", "/name"),
        ("description", "/description"),
        ("parameter", "/inputSchema/properties/metre\u200b"),
        ("enum", "/inputSchema/properties/unit/enum/1"),
        ("default", "/inputSchema/properties/unit/default"),
        ("output", "/outputSchema/properties/sum/description"),
    ],
)
def test_the_finding_says_where_the_text_stands(place: str, pointer: str) -> None:
    (finding,) = scan_texts(planted(place, "metre\u200b")).refused

    assert finding.pointer == pointer
    assert str(finding).isprintable()


@pytest.mark.req("GW-8.2")
@pytest.mark.parametrize(
    "text",
    [
        "**\u26a0\ufe0f WARNING**",
        "1\ufe0f\u20e3 First, 2\ufe0f\u20e3 second",
        "Family: \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "Rainbow \U0001f3f3\ufe0f\u200d\U0001f308 and \U0001f44d\U0001f3fd",
        "A new emoji: \U0001fae9",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "Lines\r\nfrom Windows\tand tabs\n",
        "No\u00a0break and\u3000wide spaces",
        "Stra\u00dfe, caf\u00e9, \u4f5c\u6210, \u043f\u0440\u0438\u0432\u0435\u0442",
    ],
    ids=ascii,
)
def test_what_people_need_is_let_through_in_prose(text: str) -> None:
    assert hidden_characters(text, "prose") == ()
    assert scan_texts(planted("description", text)) == CLEAN


@pytest.mark.req("GW-8.2")
@pytest.mark.parametrize(
    "text",
    [
        "a\ufe0f",
        "\u26a0\ufe0f\ufe0f",
        "1\ufe0f",
        "ig\u200dnore",
        "ig\u200cnore",
        "\u200d\U0001f680",
        "over\rwritten",
        "\u0645\u200c ",
    ],
    ids=ascii,
)
def test_elsewhere_the_same_characters_are_refused(text: str) -> None:
    assert len(hidden_characters(text, "prose")) == 1


@pytest.mark.req("GW-8.2")
@pytest.mark.parametrize("place", ["name", "parameter", "enum", "default"])
def test_names_and_values_have_no_exceptions(place: str) -> None:
    assert scan_texts(planted(place, "\u26a0\ufe0f")).refused


@pytest.mark.req("GW-8.2")
@pytest.mark.parametrize("text", ["two\nlines", "a\tb", "a\u2028b"])
@pytest.mark.parametrize("place", ["name", "parameter"])
def test_a_name_has_one_line(place: str, text: str) -> None:
    assert [each.rule for each in scan_texts(planted(place, text)).refused] == ["hidden-character"]


@pytest.mark.req("GW-8.2")
@pytest.mark.fault("K22")
@pytest.mark.parametrize(
    "text",
    ["read\u00a0file", "read_file\u2003", "\u3000read", "read\u3000file", "a\u200ab", "\u5199\u771f\u3000"],
    ids=ascii,
)
@pytest.mark.parametrize("place", ["name", "parameter"])
def test_a_name_has_no_space_of_another_width(place: str, text: str) -> None:
    assert [each.rule for each in scan_texts(planted(place, text)).refused] == ["hidden-character"]


def test_a_wide_space_may_stand_between_wide_letters() -> None:
    assert scan_texts(planted("parameter", "\u5199\u771f\u3000\u6dfb\u4ed8")) == CLEAN


@pytest.mark.req("GW-8.2")
@pytest.mark.fault("K22")
def test_no_character_that_unicode_lets_be_ignored_passes_in_any_text() -> None:
    ignorable = [
        *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, 0x16FE4, 0x1D159),
        *(*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
        *(*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)),
        *range(0xE0000, 0xE1000),
    ]

    assert [f"{each:X}" for each in ignorable if not scan_texts(planted("description", f"a{chr(each)}b")).refused] == []


def test_a_value_may_be_a_line_break_or_a_tab() -> None:
    assert scan_texts(planted("enum", "\n")) == CLEAN
    assert scan_texts(planted("default", "\t")) == CLEAN


def test_a_line_break_in_the_name_of_an_argument_of_a_prompt_is_refused() -> None:
    prompt: Any = {"name": "review", "arguments": [{"name": "a\nb"}, "odd", {"name": 3}]}

    assert [each.pointer for each in scan_texts(prompt).refused] == ["/arguments/0/name"]


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x00", "U+0000 (NUL)"),
        ("\x01", "U+0001 (control character)"),
        ("\u202e", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("\ue000", "U+E000 (private use)"),
        ("\ud800", "U+D800 (lone surrogate)"),
        ("\U000effff", "U+EFFFF (unassigned)"),
        ("\u2800", "U+2800 (BRAILLE PATTERN BLANK)"),
    ],
    ids=ascii,
)
def test_a_hidden_character_is_named(character: str, name: str) -> None:
    assert character_name(character) == name
