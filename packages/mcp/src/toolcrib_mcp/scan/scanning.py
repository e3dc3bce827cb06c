"""Everything that a server says about a tool, a prompt or a resource, scanned before anybody is shown it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolcrib_core import JsonValue
from toolcrib_core.wording import quoted
from toolcrib_mcp.scan.confusable import letters_in, may_be_confusable, may_pass_for_latin, mixed_word, passes_for_latin
from toolcrib_mcp.scan.findings import CLEAN, ScanReport, TextFinding
from toolcrib_mcp.scan.hidden import character_name, hidden_characters, may_have_hidden
from toolcrib_mcp.scan.instructions import broken_rules, has_encoded_text, suspected_rules
from toolcrib_mcp.scan.rules import Rule
from toolcrib_mcp.scan.texts import PlacedText, TooMuchText, own_names, placed_texts, strings_of

HIDDEN: Final = "hidden-character"
CONFUSABLE_NAME: Final = "confusable-name"
CONFUSABLE_WORD: Final = "confusable-word"
ENCODED: Final = "encoded-text"
TOO_MUCH: Final = "too-much-text"

# The tools of a server say many things twice, and say them again whenever they are listed: a third of all text. What a
# text is found to be depends on nothing but itself.
_CLEAN_TEXTS: Final[set[str]] = set()
_MAX_REMEMBERED: Final = 20_000
_MAX_REMEMBERED_LENGTH: Final = 500


def scan_texts(item: JsonValue) -> ScanReport:
    """Scan all texts of what a server lists or says: a tool, a prompt, a resource, a template, its instructions.

    What is refused has hidden characters, a name that passes for another, or more text than is read. What is flagged
    reads like orders to a model, or has a word that mixes scripts. Nothing that a server sends makes this fail, and it
    takes time in proportion to the text.
    """
    try:
        keys, texts = strings_of(item)
    except TooMuchText:
        return ScanReport(refused=(TextFinding("", TOO_MUCH, "More text than is scanned"),))
    # Most items break no rule, which one look at all of their text at once tells.
    strings = {each for each in keys | texts if each not in _CLEAN_TEXTS}
    rules = suspected_rules(strings)
    if not (rules or _may_be_odd("\n".join(strings)) or _has_broken_lines(item, keys)):
        _remember(strings)
        return CLEAN
    placed = list(placed_texts(item))
    return ScanReport.of(
        refused=(each for one in placed for each in _refusals(one)),
        flagged=(each for one in placed for each in _flags(one, rules)),
    )


def forget_clean_texts() -> None:
    """Forget which texts were found clean before, as a measurement of the scan has to."""
    _CLEAN_TEXTS.clear()


def _remember(clean: set[str]) -> None:
    if len(_CLEAN_TEXTS) > _MAX_REMEMBERED:
        forget_clean_texts()
    _CLEAN_TEXTS.update(each for each in clean if len(each) <= _MAX_REMEMBERED_LENGTH)


def _may_be_odd(text: str) -> bool:
    drawn = text.replace("\n", "").replace("\t", "")
    return may_have_hidden(drawn) or may_be_confusable(drawn) or has_encoded_text(text)


def _has_broken_lines(item: JsonValue, keys: set[str]) -> bool:
    """Whether a name may go on in another line, which prose may and a name may not."""
    return not "".join(keys).isprintable() or not "".join(own_names(item)).isprintable()


def _refusals(placed: PlacedText) -> Iterator[TextFinding]:
    for character in hidden_characters(placed.text, placed.role):
        yield TextFinding(placed.pointer, HIDDEN, character_name(character))
    if placed.role == "name" and (why := passes_for_latin(placed.text)):
        yield TextFinding(placed.pointer, CONFUSABLE_NAME, why)


def _flags(placed: PlacedText, rules: tuple[Rule, ...]) -> Iterator[TextFinding]:
    for rule, seen in broken_rules(placed.text, rules):
        yield TextFinding(placed.pointer, rule, seen)
    if has_encoded_text(placed.text):
        yield TextFinding(placed.pointer, ENCODED, "Text in an encoding that a person does not read")
    if placed.role == "name":
        if (why := may_pass_for_latin(placed.text)) and not passes_for_latin(placed.text):
            yield TextFinding(placed.pointer, CONFUSABLE_NAME, why)
    elif word := mixed_word(placed.text):
        yield TextFinding(placed.pointer, CONFUSABLE_WORD, f"{quoted(word)} mixes scripts: {letters_in(word)}")
