"""Words that look Latin and are not: flagged in prose, refused in names."""

from __future__ import annotations

import pytest
from scan_corpus.planting import planted

from toolcrib_mcp.scan import scan_texts
from toolcrib_mcp.scan.confusable import mixed_word, passes_for_latin
from toolcrib_mcp.scan.findings import CLEAN


@pytest.mark.req("GW-8.2")
@pytest.mark.fault("F12")
@pytest.mark.parametrize("place", ["name", "parameter"])
@pytest.mark.parametrize(
    "name", ["p\u0430th", "\u0441\u043e\u0440\u0443_file", "\uff50ath", "am\u03bfunt", "p\u03b1th"]
)
def test_a_name_that_passes_for_another_is_refused(place: str, name: str) -> None:
    (finding,) = scan_texts(planted(place, name)).refused

    assert finding.rule == "confusable-name"


@pytest.mark.req("GW-8.2")
def test_a_mixed_word_in_prose_is_flagged_with_its_letter() -> None:
    report = scan_texts(planted("description", "Pays with PayP\u0430l."))

    (finding,) = report.flagged
    assert report.refused == ()
    assert finding.rule == "confusable-word"
    assert "U+0430 (CYRILLIC SMALL LETTER A)" in finding.seen


@pytest.mark.req("GW-8.2")
@pytest.mark.parametrize(
    "text",
    [
        "\u041f\u043e\u0438\u0441\u043a API-\u043a\u043b\u044e\u0447\u0430",
        "IFN\u03b1 and NF-\u03baB at \u0394T",
        "\u03b1-helix, 5 \u03bcm",
        "JSON\u3092\u8fd4\u3059",
        "\u0391\u03b8\u03ae\u03bd\u03b1",
        "Zo\u00eb, na\u00efve",
    ],
    ids=ascii,
)
def test_other_scripts_and_symbols_are_no_finding(text: str) -> None:
    assert mixed_word(text) is None
    assert scan_texts(planted("description", text)) == CLEAN


@pytest.mark.parametrize(
    "name",
    ["read_file", "\u043f\u043e\u0438\u0441\u043a", "\u4f5c\u6210", "caf\u00e9", "\u0394x", "n\u00ba"],
    ids=ascii,
)
def test_a_name_in_one_script_passes_for_nothing_else(name: str) -> None:
    assert passes_for_latin(name) is None


def test_the_reason_says_what_the_name_is_another_form_of() -> None:
    assert passes_for_latin("\uff52ead") == "`\uff52ead` is another form of `read`"
