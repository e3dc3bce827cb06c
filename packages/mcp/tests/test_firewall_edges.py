from __future__ import annotations

import firewall_samples as samples
import pytest
from inline_snapshot import snapshot

from toolcrib_core import count_tokens
from toolcrib_mcp.firewall import SUMMARY_TOKENS, ContentKind, Summary, content_kind, summarise

pytestmark = pytest.mark.req("GW-4.5", "GW-7.3")


def summary(content: bytes, *, budget: int = SUMMARY_TOKENS, media_type: str | None = None) -> Summary:
    return summarise(content, content_kind(content, media_type), media_type=media_type, budget=budget)


def text(content: bytes, *, budget: int = SUMMARY_TOKENS, media_type: str | None = None) -> str:
    return summary(content, budget=budget, media_type=media_type).text


@pytest.mark.parametrize("budget", [20, 40, 80, 160, 300, 1_000])
@pytest.mark.parametrize(
    "content",
    [
        samples.issue_list(),
        samples.search_answer(),
        samples.deployment(),
        samples.orders(),
        samples.service_log(),
        samples.PYTHON,
        samples.DIFF,
        samples.HTML,
        samples.MARKDOWN,
        samples.PROSE,
        samples.LISTING,
    ],
    ids=range(11),
)
def test_every_budget_is_kept_and_used(content, budget):
    summarised = text(content, budget=budget)

    assert count_tokens(summarised) <= budget
    assert count_tokens(summarised) >= min(12, budget // 2)


@pytest.mark.parametrize("budget", [-1, 0, 1, 2])
def test_a_budget_for_nothing_gives_next_to_nothing(budget):
    assert count_tokens(text(samples.issue_list(), budget=budget)) <= max(budget, 0)


def test_more_rows_than_are_looked_at_are_counted_and_the_step_is_said():
    rows = b"id,name\n" + b"".join(b"%d,n\n" % index for index in range(250_000))

    assert text(rows, budget=60) == snapshot("""\
CSV table: 250,000 rows, 2 columns, 2,138,898 bytes. Columns described from one row in 2.
First rows:
0 | n
1 | n
2 | n
… 249,997 more rows\
""")


def test_more_records_than_are_looked_at_are_counted_and_the_step_is_said():
    rows = b"[" + b",".join(b'{"a":%d}' % index for index in range(450_000)) + b"]"

    assert text(rows, budget=60) == snapshot("""\
450,000 records with 1 field, 5,738,891 bytes of JSON. Fields described from one row in 2.
Fields:
a integer 0…449998, all distinct\
""")


def test_a_table_without_header_and_with_ragged_rows_says_so():
    assert text(b"1,2,3\n4,5\n6,7,8\n9,10,11\n12,13,14,15\n16,17,18\n", media_type="text/csv") == snapshot("""\
CSV table: 6 rows, 4 columns, 45 bytes. No header row. 2 rows with another number of cells than 3.
Columns:
column1 integer 1…16, all distinct
column2 integer 2…17, all distinct
column3 integer 3…18, all distinct, 17 % empty
column4 integer always 15, 83 % empty
First rows:
1 | 2 | 3
4 | 5
6 | 7 | 8
9 | 10 | 11
12 | 13 | 14 | 15
16 | 17 | 18\
""")


def test_two_columns_of_one_name_are_told_apart():
    facts = summary(b"id,name,name\n1,a,b\n2,c,d\n").facts

    assert [each["name"] for each in facts["columns"]] == ["id", "name", "name_2"]


def test_a_table_of_nothing_but_a_header_has_empty_columns():
    assert text(b"id,name\n", media_type="text/csv") == snapshot("""\
CSV table: 0 rows, 2 columns, 8 bytes.
Columns:
id empty
name empty\
""")


def test_content_that_is_not_what_the_kind_says_is_summarised_as_text():
    assert summarise(b"no json", ContentKind.RECORDS).text == snapshot("""\
Text of 1 paragraph, 1 line, 2 words, 7 bytes.
Paragraphs begin:
1 no json\
""")
    assert summarise(b" ", ContentKind.TABLE).text == "Blank content, 1 byte."
    assert summarise(b"", ContentKind.LOG).text == "Empty content, 0 bytes."


@pytest.mark.parametrize(("content", "expected"), [(b"", "Empty content, 0 bytes."), (b"\n", "Blank content, 1 byte.")])
def test_content_without_words_says_so(content, expected):
    assert text(content) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[]", "JSON list of 0 items, 2 bytes."),
        (b"[1,2,null]", "JSON list of 3 items (2 integer, 1 null), 10 bytes.\n/0 1\n/1 2\n/2 null"),
        (b"3.5", "JSON number 3.5, 3 bytes."),
        (b'"\\u202e\\u0000"', r'JSON string "\u202e\u0000", 14 bytes.'),
        (b'{"a~b/c":{}}', "JSON object with 1 key, 12 bytes.\n/a~0b~1c {}"),
    ],
)
def test_small_json_is_shown_whole(content, expected):
    assert summarise(content, ContentKind.JSON).text == expected


def test_invisible_characters_are_shown_as_escapes():
    shown = text("First\u202eline \x1b[31mred\x07\n\nSecond\u200b paragraph\U000e0001\n".encode())

    assert shown == snapshot("""\
Text of 2 paragraphs, 3 lines, 4 words, 48 bytes.
Paragraphs begin:
1 First\\u202eline \\u001b[31mred\\u0007
3 Second\\u200b paragraph\\udb40\\udc01\
""")


def test_bytes_that_are_not_utf8_are_counted():
    summarised = summary("Grüße aus Köln.\n\nNoch ein Absatz über nichts.\n".encode("latin-1"))

    assert summarised.text == snapshot("""\
Text of 2 paragraphs, 3 lines, 8 words, 46 bytes. Not UTF-8 in 4 places.
Paragraphs begin:
1 Gr��e aus K�ln.
3 Noch ein Absatz �ber nichts.\
""")
    assert summarised.facts["invalid"] == 4


def test_of_a_key_given_twice_the_last_value_counts():
    assert text(b'{"a":1,"a":2}') == "JSON object with 1 key, 13 bytes.\n/a 2"


def test_a_mark_before_the_text_and_carriage_returns_are_not_shown():
    shown = text(b"\xef\xbb\xbfid,name\r\n1,a\r\n2,b\r\n3,c\r\n")

    assert "\ufeff" not in shown
    assert "\\r" not in shown
    assert "id integer 1…3, all distinct" in shown


def test_facts_about_a_page():
    assert summary(samples.HTML).facts == snapshot(
        {
            "format": "html",
            "title": "Orders & returns",
            "lines": 13,
            "headings": 3,
            "bytes": 469,
            "links": 2,
            "tables": 1,
            "scripts": 1,
        }
    )
