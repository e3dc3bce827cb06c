from __future__ import annotations

import json

import orjson
import pytest

from toolcrib_mcp.firewall import (
    ContentKind,
    UnreadableJson,
    content_kind,
    fitting,
    logs,
    read_json,
    summarise,
    table_form,
    table_rows,
)
from toolcrib_mcp.firewall.facts import FACTS_BYTES, bounded
from toolcrib_mcp.firewall.fitting import Section, cut_to, fitted
from toolcrib_mcp.firewall.json_reading import JsonFault, first_records
from toolcrib_mcp.firewall.lines import LineNumbers, ending, invalid_count, last_lines, line_count, word_count
from toolcrib_mcp.firewall.shown import clipped, clipped_bytes, json_string, visible

pytestmark = pytest.mark.req("GW-4.5", "GW-7.3")


def test_a_mark_is_not_parted_from_its_letter():
    assert clipped("abcde\u0301fgh", 5) == "abcd…"
    assert clipped("ab\U0001f469\u200d\U0001f467cdefghijk", 4) == "ab…"


def test_a_letter_with_too_many_marks_is_cut_all_the_same():
    assert len(clipped("e" + "\u0301" * 100, 40)) <= 41


def test_of_characters_beyond_ascii_fewer_are_shown():
    assert len(clipped("語" * 200, 140)) == 106
    assert clipped("Grüße", 5) == "Grüße"


def test_indentation_is_kept_and_bounded():
    assert clipped_bytes(b"\t\treturn 1  \r\n") == "    return 1"
    assert clipped_bytes(b" " * 50 + b"deep") == " " * 8 + "deep"


def test_no_more_is_decoded_than_is_shown():
    assert clipped_bytes("é".encode() * 1_000_000, 10) == "é" * 7 + "…"


def test_characters_beyond_the_basic_plane_are_escaped_as_json_does():
    assert visible("\U000e0041") == "\\udb40\\udc41"
    assert json.loads(json_string('"\\\U000e0041\n')) == '"\\\U000e0041\n'


def test_a_string_that_is_hardly_longer_is_not_cut():
    assert json_string("x" * 48, 40) == f'"{"x" * 48}"'
    assert json_string("x" * 49, 40) == f'"{"x" * 40}"…'


def test_lines_and_words_are_counted_across_pieces():
    assert [line_count(each) for each in (b"", b"a", b"a\n", b"a\nb")] == [0, 1, 1, 2]
    assert word_count(b"word " * 100_000 + b"x" * 200_000 + b" end") == 100_002


def test_replacement_characters_of_the_content_itself_are_not_invalid():
    assert invalid_count("\ufffd\ufffd".encode() + b"\xff") == 1


def test_the_last_lines_of_a_long_text_carry_their_own_numbers():
    content = b"".join(b"line %d\n" % number for number in range(1, 20_001))

    assert [str(each) for each in last_lines(content, 2)] == ["19999 line 19999", "20000 line 20000"]


def test_an_ending_begins_with_a_whole_character():
    assert ending("€".encode() * 100 + b"!", 9) == "€€!"


def test_numbers_of_lines_go_forward():
    numbers = LineNumbers(b"a\nb\nc\nd")

    assert [numbers.at(0), numbers.at(2), numbers.at(6)] == [1, 2, 4]


def test_lines_that_do_not_fit_are_counted_and_named():
    section = Section("Things:", ["one is here"] * 3, total=9, things="things", names=list("abcdefghi"))

    assert fitted("Head.", [section], budget=30).endswith("… 7 more things: c, d, e, …")


def test_lines_from_the_end_are_left_out_at_the_beginning():
    section = Section("", ["first line", "second line", "third line"], from_end=True)

    assert fitted("Head.", [section], budget=10) == "Head.\nsecond line\nthird line"


def test_an_estimate_that_was_too_low_is_put_right(monkeypatch):
    monkeypatch.setattr(fitting, "_allotted", lambda sections, room: [len(each.lines) for each in sections])
    sections = [Section("", ["one line"] * 9), Section("Others:", ["another line"] * 9)]

    assert fitted("Head.", sections, budget=12) == "Head.\none line\none line\none line"
    assert fitted("A head that is long.", sections, budget=4) == "A head that…"


def test_a_text_is_cut_to_its_budget():
    assert cut_to("one two three four five six", 4) == "one two three…"
    assert cut_to("one", 4) == "one"
    assert cut_to("語", 0) == ""


def test_facts_lose_the_ends_of_their_longest_lists():
    facts = bounded({"rows": 3, "columns": ["x" * 60] * 60, "keys": ["a", "b"]})

    assert len(orjson.dumps(facts)) <= FACTS_BYTES
    assert facts["rows"] == 3
    assert facts["keys"] == ["a", "b"]
    assert len(facts["columns"]) == 30


@pytest.mark.parametrize(
    ("content", "fault"),
    [(b"{", JsonFault.INVALID), (b"[" * 2_000, JsonFault.DEEP), (b"NaN", JsonFault.INVALID), (b"", JsonFault.INVALID)],
)
def test_what_is_not_read_as_json_says_why(content, fault):
    with pytest.raises(UnreadableJson) as caught:
        read_json(content)

    assert caught.value.fault is fault


@pytest.mark.parametrize(
    ("content", "number"),
    [
        (b' [ {"a": 1} , {"a": 2} , {"a"', 2),
        (b'[{"a": 1}, 2', 1),
        (b'[{"a": 1} {"a": 2}]', 1),
        (b'[{"a":' + b"[" * 100_000, 0),
        (b"{}", 0),
    ],
)
def test_the_whole_objects_at_the_beginning_of_a_list_are_found(content, number):
    assert len(first_records(content)) == number


def test_json_that_is_taken_for_code_is_described_as_the_text_it_is():
    assert summarise(b'{"a": 1}', ContentKind.CODE).text.startswith("Source text, 1 line, 8 bytes.")


def test_of_many_definitions_the_outer_ones_are_shown():
    source = b"".join(b"class C%d:\n    def method(self): ...\n" % number for number in range(6_000))

    summary = summarise(source, ContentKind.CODE)

    assert "1 class C0:\n3 class C1:" in summary.text
    assert "def method" not in summary.text.partition("First lines:")[0]
    assert summary.facts["definitions"] == 12_000


def test_values_of_several_types_are_named():
    text = summarise(b'[{"a":1,"b":1,"c":null},{"a":2.5,"b":"x","c":null}]', ContentKind.RECORDS).text

    assert text.split("\n")[2:5] == ["a number 1…2.5, all distinct", "b integer or string", "c null"]


def test_columns_without_values_and_numbers_that_only_look_so():
    text = summarise(b"a,b,c,d\n,1_0,nan,1e999\n,2_0,1,2\n", ContentKind.TABLE).text

    assert "a empty\nb string all distinct" in text
    assert "c string all distinct" in text
    assert "d string all distinct" in text


def test_a_table_is_read_row_by_row():
    content = b'\xef\xbb\xbfa;b\r\n"x;\ny";1\r\n\r\nz;2;3\r\n'
    form = table_form(content, trusted=True)

    assert form is not None
    assert (form.delimiter, form.columns, form.has_header) == (";", ("a", "b"), True)
    assert list(table_rows(content, form)) == [["x;\ny", "1"], ["z", "2", "3"]]


def test_a_page_without_lines_gives_byte_positions():
    page = b"<html><body>" + b"<p>text</p>" * 1_000 + b"<H2>Far away</H2></body></html>"

    assert "byte 11012 ## Far away" in summarise(page, content_kind(page)).text


def test_a_comment_that_is_never_closed_hides_the_rest():
    page = b"<html><h1>Shown</h1><!-- <h1>Hidden</h1>"

    assert summarise(page, ContentKind.MARKUP).facts["headings"] == 1


def test_a_removed_file_is_named_by_its_old_name():
    diff = b"diff --git a/old.txt b/old.txt\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n" * 50

    summary = summarise(diff, content_kind(diff))

    assert "3 old.txt +0 -1" in summary.text
    assert summary.facts["files"] == 50


def test_many_headings_are_counted_and_the_first_shown():
    report = b"".join(b"Chapter %d\n\nIt was so. It is over.\n\n" % number for number in range(60))
    page = b"<html>" + b"<h2>Part</h2>\n" * 60
    readme = b"## Part\n\ntext\n\n" * 60

    for content in (report, page, readme):
        assert " more headings" in summarise(content, content_kind(content)).text


def test_a_markdown_without_text_and_headings_has_no_excerpt():
    assert "Text begins" not in summarise(b"| a |\n|---|\n| b |\n", ContentKind.MARKUP).text


def test_an_object_of_many_keys_shows_some_and_names_others():
    value = {f"key{number}": {"text": "x" * 100} for number in range(100)}

    text = summarise(json.dumps(value).encode(), ContentKind.JSON).text

    assert "/key0 object of 1 key {text}, 111 bytes" in text
    assert " more keys: key" in text


def test_messages_beyond_the_bound_are_not_folded(monkeypatch):
    monkeypatch.setattr(logs, "_MAX_MESSAGES", 2)
    content = b"".join(b"12:00:00 INFO %s\n" % word for word in (b"one", b"two", b"two", b"three", b"three"))

    text = summarise(content, ContentKind.LOG).text

    assert "2x two" in text
    assert "2x three" not in text
