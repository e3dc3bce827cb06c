from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from view_cases import body, pages, refusal, seen

from toolcrib_mcp.firewall.kinds import ContentKind

pytestmark = pytest.mark.req("GW-4.6")

PEOPLE = [
    {"id": 1, "name": "Ann", "age": 40, "tags": ["a", "b"]},
    {"id": 2, "name": "bob", "age": None, "boss": {"name": "Ann"}},
    {"id": 3, "name": "", "age": 7.5, "ok": True},
    {"id": 4, "name": "Zoë|x", "age": 7, "ok": False},
]
TABLE = "id,name,price,day\n1,Ann,10,2024-01-02\n2,bob,9.5,2023-12-31\n3,,100,\n4,Cid,n/a,2024-02-01\n"


def rows_of(answer) -> list[list[str]]:
    """The cells of the rows that are shown, without the line of names."""
    return [line.split("|") for line in body(answer).split("\n")[1:]]


def indices(answers) -> list[int]:
    return [int(row[0]) for each in answers if each.facts["unit"] == "rows" and body(each) for row in rows_of(each)]


def people(**selector: object):
    return seen(json.dumps(PEOPLE), {"type": "rows", **selector}, ContentKind.RECORDS)


def table(content: str = TABLE, **selector: object):
    return seen(content, {"type": "rows", **selector}, ContentKind.TABLE)


def test_rows_of_a_table_are_shown_behind_their_indices():
    assert (
        table(count=2).text
        == "[rows 0–1 of 4, counted from 0]\n#|id|name|price|day\n0|1|Ann|10|2024-01-02\n1|2|bob|9.5|2023-12-31"
    )


def test_objects_are_rows_with_all_their_keys_as_columns():
    assert body(people()).split("\n") == [
        "#|id|name|age|tags|boss|ok",
        '0|1|Ann|40|["a","b"]||',
        '1|2|bob|||{"name":"Ann"}|',
        '2|3|""|7.5|||true',
        "3|4|Zoë\\|x|7|||false",
    ]


def test_columns_are_chosen_by_name_or_by_a_pointer_into_the_row():
    assert body(people(columns=["/boss/name", "id"])) == "#|/boss/name|id\n0||1\n1|Ann|2\n2||3\n3||4"


def test_start_and_count_choose_among_the_rows_that_match():
    answer = people(where=[{"column": "id", "op": ">", "value": 1}], start=1, count=1)

    assert answer.text.startswith("[rows 1–1 of 3 that match, of 4, counted from 0]")
    assert indices([answer]) == [2]
    assert answer.cursor is None


@pytest.mark.parametrize(
    ("column", "op", "value", "found"),
    [
        ("age", "=", 7, [3]),
        ("age", "=", "7", []),
        ("age", "!=", 7, [0, 1, 2]),
        ("age", "<", 40, [2, 3]),
        ("age", "<=", 40, [0, 2, 3]),
        ("age", ">", 7, [0, 2]),
        ("age", ">=", 7, [0, 2, 3]),
        ("age", "is null", None, [1]),
        ("age", "is not null", None, [0, 2, 3]),
        ("age", "=", None, [1]),
        ("name", "is null", None, [2]),
        ("name", "contains", "AN", [0]),
        ("name", ">", "Ann", [1, 3]),
        ("tags", "contains", "b", [0]),
        ("boss", "contains", "name", [1]),
        ("boss", "contains", 1, []),
        ("id", "contains", "1", []),
        ("ok", "=", True, [2]),
        ("ok", "=", 1, []),
        ("id", "in", [1, 4, "2"], [0, 3]),
        ("name", "in", [], []),
        ("/boss/name", "=", "Ann", [1]),
    ],
)
def test_conditions_on_objects(column, op, value, found):
    assert indices([people(where=[{"column": column, "op": op, "value": value}])]) == found


@pytest.mark.parametrize(
    ("column", "op", "value", "found"),
    [
        ("price", "=", 10, [0]),
        ("price", "=", "10", [0]),
        ("price", "=", 10.0, [0]),
        ("price", "!=", 10, [1, 2, 3]),
        ("price", "<", 10, [1]),
        ("price", ">=", "9.5", [0, 1, 2, 3]),
        ("price", ">", 10, [2]),
        ("day", ">", "2024", [0, 3]),
        ("day", "is null", None, [2]),
        ("name", "contains", "B", [1]),
        ("name", "is not null", None, [0, 1, 3]),
        ("id", "in", [1, "3"], [0, 2]),
        ("name", "=", "ann", []),
    ],
)
def test_conditions_on_a_table(column, op, value, found):
    assert indices([table(where=[{"column": column, "op": op, "value": value}])]) == found


def test_a_truth_in_a_table_is_its_word():
    content = "id,ok\n1,TRUE\n2,false\n3,1\n"

    assert indices([table(content, where=[{"column": "ok", "op": "=", "value": True}])]) == [0]


def test_what_cannot_be_ordered_is_neither_less_nor_greater():
    for op in ("<", ">="):
        assert indices([table(where=[{"column": "price", "op": op, "value": True}])]) == []


def test_columns_are_left_out_where_their_cells_would_not_fit():
    records = json.dumps([{f"c{number}": "\x00" * 50 for number in range(40)}] * 3)

    answers = list(pages(records, {"type": "rows"}, ContentKind.RECORDS, budgets=(400,)))

    assert indices(answers) == [0, 1, 2]
    assert "more columns" in answers[0].text


def test_every_condition_must_hold():
    where = [{"column": "price", "op": ">", "value": 9}, {"column": "day", "op": "<", "value": "2024"}]

    assert indices([table(where=where)]) == [1, 2]


@pytest.mark.parametrize(
    ("sort", "found"),
    [
        ([{"column": "age"}], [3, 2, 0, 1]),
        ([{"column": "age", "desc": True}], [0, 2, 3, 1]),
        ([{"column": "name"}], [0, 3, 1, 2]),
        ([{"column": "ok", "desc": True}, {"column": "id", "desc": True}], [2, 3, 1, 0]),
        ([{"column": "tags"}, {"column": "age"}], [0, 3, 2, 1]),
    ],
)
def test_objects_are_sorted_with_nothing_last(sort, found):
    assert indices([people(sort=sort)]) == found


@pytest.mark.parametrize(("desc", "found"), [(False, [1, 0, 2, 3]), (True, [3, 2, 0, 1])])
def test_numbers_in_a_table_are_sorted_as_numbers(desc, found):
    assert indices([table(sort=[{"column": "price", "desc": desc}])]) == found


def test_sorted_rows_can_be_filtered_and_cut():
    answer = table(
        where=[{"column": "id", "op": "<", "value": 4}], sort=[{"column": "id", "desc": True}], start=1, count=1
    )

    assert indices([answer]) == [1]


def test_too_many_rows_are_not_sorted(monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.views.row_selection.MAX_SORTED", 3)

    error = refusal(TABLE, {"type": "rows", "sort": [{"column": "id"}]}, ContentKind.TABLE)

    assert "too many to sort" in error.message
    assert "`where`" in str(error.hint)


@pytest.mark.parametrize(
    "selector",
    [
        {"columns": ["nmae"]},
        {"where": [{"column": "nmae", "op": "=", "value": 1}]},
        {"sort": [{"column": "nmae"}]},
    ],
)
@pytest.mark.parametrize("kind", [ContentKind.TABLE, ContentKind.RECORDS])
def test_an_unknown_column_is_refused_with_the_known_ones(selector, kind):
    content = TABLE if kind is ContentKind.TABLE else json.dumps(PEOPLE)

    error = refusal(content, {"type": "rows", **selector}, kind)

    assert "no column `nmae`. Did you mean `name`?" in error.message
    assert "`id`, `name`" in str(error.hint)


def test_rows_without_any_columns_say_so():
    error = refusal("[{}]", {"type": "rows", "columns": ["a"]}, ContentKind.RECORDS)

    assert "no columns" in str(error.hint)


def test_no_row_that_matches_is_an_answer():
    answer = table(where=[{"column": "id", "op": "=", "value": 99}])

    assert answer.text == "[no rows of 0 that match, of 4]"
    assert answer.cursor is None


def test_a_start_behind_the_last_row_shows_none():
    assert table(start=10**9).text == "[no rows of 4]"


def test_cells_beyond_the_header_have_columns_of_their_own():
    content = "a,b\n1,2\n3,4,5,6\n7\n8,9\n"

    assert body(table(content)) == "#|a|b|column3|column4\n0|1|2||\n1|3|4|5|6\n2|7|||\n3|8|9||"
    assert indices([table(content, where=[{"column": "column4", "op": "=", "value": 6}])]) == [1]
    assert (
        "no column `column2`" in refusal(content, {"type": "rows", "columns": ["column2"]}, ContentKind.TABLE).message
    )


def test_line_breaks_and_what_cannot_be_seen_stay_inside_their_cell():
    content = 'id,text\n1,"two\nlines\tand a\u202e"\n2,x\n3,y\n'

    assert rows_of(table(content, count=1))[0] == ["0", "1", "two\\nlines\\tand a\\u202e"]


def test_long_cells_are_cut_and_the_answer_says_so():
    answer = seen(json.dumps([{"id": 1, "text": "word " * 500}] * 3), {"type": "rows"}, ContentKind.RECORDS)

    assert "long cells are cut at 160 characters" in answer.text
    assert "word …" in answer.text


def test_one_cell_alone_is_read_to_its_end():
    text = "".join(f"word{number} " for number in range(600))
    selector = {"type": "rows", "columns": ["text"], "start": 1, "count": 1}
    records = json.dumps([{"text": "no"}, {"text": text}])
    written = io.StringIO()
    csv.writer(written).writerows([["id", "text"], [1, "no"], [2, text], [3, "no"]])

    from_records = list(pages(records, selector, ContentKind.RECORDS, budgets=(300,)))
    from_table = list(pages(written.getvalue(), selector, ContentKind.TABLE, budgets=(300, 400)))

    assert "".join(body(each) for each in from_records) == text
    assert "".join(body(each) for each in from_table) == text
    assert from_records[0].text.startswith("[row 1: characters 0–")


def test_rows_of_a_list_inside_are_found_by_its_pointer():
    content = json.dumps({"data": {"people": PEOPLE}})

    answer = seen(content, {"type": "rows", "pointer": "/data/people", "columns": ["id"]}, ContentKind.JSON)

    assert indices([answer]) == [0, 1, 2, 3]


def test_json_without_rows_says_where_rows_are():
    error = refusal(json.dumps({"n": 1, "people": PEOPLE, "e": []}), {"type": "rows"}, ContentKind.JSON)

    assert "what stands there: object of 3 keys" in error.message
    assert "`/people`" in str(error.hint)


@pytest.mark.parametrize("content", ["[1, 2]", '"x"', '{"a": 1}', "[{}, 1]"])
def test_json_without_any_rows_is_refused(content):
    assert "`rows` needs a list of objects" in refusal(content, {"type": "rows"}, ContentKind.JSON).message


def test_a_table_has_no_pointers():
    assert "no pointers" in refusal(TABLE, {"type": "rows", "pointer": "/a"}, ContentKind.TABLE).message


def test_what_is_called_a_table_and_is_empty_is_refused():
    assert "does not work" in refusal(b"", {"type": "rows"}, ContentKind.TABLE).message


@pytest.mark.parametrize("type_", ["keys", "shape"])
def test_the_columns_of_a_table_come_with_the_types_of_their_cells(type_, monkeypatch):
    whole = seen(TABLE, {"type": type_}, ContentKind.TABLE)
    monkeypatch.setattr("toolcrib_mcp.views.outlines.MAX_ROWS", 2)
    part = seen(TABLE, {"type": type_}, ContentKind.TABLE)

    assert body(whole).split("\n") == [
        '"id": integer ×4',
        '"name": string ×3 | empty',
        '"price": integer ×2 | number | string',
        '"day": string ×3 | empty',
    ]
    assert "types of the first 2 rows" in part.text


def test_columns_that_do_not_fit_are_counted_and_can_be_named():
    records = json.dumps([{f"column_{number}": number for number in range(3_000)}] * 2)

    answer = seen(records, {"type": "rows"}, ContentKind.RECORDS, budget=400)
    named = seen(records, {"type": "rows", "columns": ["column_2999"]}, ContentKind.RECORDS, budget=400)

    assert "more columns: name them in `columns`)" in answer.text
    assert rows_of(named) == [["0", "2999"], ["1", "2999"]]


NAMES = st.text('abc|"\n\u202e👩', min_size=1, max_size=60)
CELLS = (
    st.none()
    | st.integers()
    | st.booleans()
    | st.text(max_size=30)
    | st.text("👩\x00|", max_size=400)
    | st.lists(st.integers(), max_size=5)
)
BUDGETS = st.lists(st.integers(200, 500), min_size=1, max_size=3)


@settings(max_examples=40)
@given(records=st.lists(st.dictionaries(NAMES, CELLS, max_size=5), max_size=40), budgets=BUDGETS, sort=st.booleans())
def test_every_object_is_shown_once(records, budgets, sort):
    names = list(dict.fromkeys(key for each in records for key in each))
    selector = {"type": "rows", "sort": [{"column": names[0]}]} if sort and names else {"type": "rows"}

    answers = list(pages(json.dumps(records), selector, ContentKind.RECORDS, budgets=budgets))

    found = indices(answers)
    assert sorted(found) == list(range(len(records)))
    assert sort or found == sorted(found)


@settings(max_examples=40)
@given(
    cells=st.lists(st.tuples(st.integers(0, 9), st.text("ab,\"'\n é", max_size=40)), min_size=3, max_size=40),
    budgets=BUDGETS,
    least=st.integers(0, 9),
)
def test_every_row_that_matches_is_shown_once_in_the_order_that_is_asked_for(cells, budgets, least):
    written = io.StringIO()
    csv.writer(written).writerows([["number", "text"], *cells])
    selector = {
        "type": "rows",
        "where": [{"column": "number", "op": ">=", "value": least}],
        "sort": [{"column": "number", "desc": True}],
    }

    answers = list(pages(written.getvalue(), selector, ContentKind.TABLE, budgets=budgets))

    wanted = sorted((number for number, (value, _) in enumerate(cells) if value >= least), key=lambda at: -cells[at][0])
    assert indices(answers) == wanted
