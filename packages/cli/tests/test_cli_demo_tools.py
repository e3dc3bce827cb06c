"""The demo's own tools: useful, and bounded by what they were given."""

from __future__ import annotations

from contextlib import closing

import pytest

from toolcrib_cli.demo import data_tools, text_tools, time_tools
from toolcrib_cli.demo.crib_database import LOANS, open_crib
from toolcrib_cli.demo.database_tools import database_tools
from toolcrib_cli.demo.files_tools import files_tools
from toolcrib_runtime import create_toolbox
from toolcrib_runtime.guards.paths import Root


@pytest.fixture
def folder(tmp_path):
    """The tools over a folder with a few files, by name; beside it lies one that nobody may read."""
    (tmp_path / "secret.txt").write_text("hunter2")
    inside = tmp_path / "inside"
    (inside / "docs").mkdir(parents=True)
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text("saw")
    (inside / "a.txt").write_text("A saw\nand a hammer\n")
    (inside / "docs" / "b.md").write_text("SAWS")
    (inside / "docs" / "c.bin").write_bytes(b"\xff\xfe saw")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    with Root.open(inside) as root:
        yield create_toolbox(files_tools(root))


@pytest.fixture(scope="module")
def crib():
    """The tools over the example database."""
    with closing(open_crib()) as connection:
        yield create_toolbox(database_tools(connection))


async def _value(toolbox, name, **arguments):
    result = await toolbox.call(name, arguments)
    assert result.outcome == "success", result.text
    return result.value


async def _refusal(toolbox, name, **arguments):
    result = await toolbox.call(name, arguments)
    assert result.outcome != "success"
    return result.text


async def test_files_are_listed_read_and_found(folder):
    listed = await _value(folder, "list_directory")
    assert [each["path"] for each in listed] == [".git", "a.txt", "docs", "link.txt"]
    assert await _value(folder, "read_file", path="a.txt") == "A saw\nand a hammer\n"
    assert (await _value(folder, "file_info", path="docs"))["kind"] == "directory"
    assert [each["path"] for each in await _value(folder, "find_files", pattern="*.md")] == ["docs/b.md"]
    assert len(await _value(folder, "find_files", pattern="*", limit=1)) == 1


async def test_files_are_searched_for_words_and_what_is_no_text_is_passed_over(folder):
    found = await _value(folder, "search_files", text="saw")

    assert [(each["path"], each["line"]) for each in found] == [("a.txt", 1), ("docs/b.md", 1)]


@pytest.mark.parametrize("path", ["../secret.txt", "link.txt", "/etc/passwd", "docs/../../secret.txt"])
async def test_nothing_outside_the_folder_is_read(folder, path):
    assert "hunter2" not in await _refusal(folder, "read_file", path=path)


async def test_the_example_database_says_what_is_in_it(crib):
    tables = await _value(crib, "list_tables")

    assert {each["table"]: each["rows"] for each in tables} == {"tools": 40, "people": 12, "loans": LOANS}
    assert tables[1]["columns"] == ["id", "name", "team"]
    assert len(await _value(crib, "sample_rows", table="tools", limit=2)) == 2


async def test_the_example_database_can_be_asked_anything(crib):
    sql = "SELECT p.name, count(*) AS n FROM loans l JOIN people p ON p.id = l.person_id GROUP BY 1 ORDER BY 2 DESC"

    rows = await _value(crib, "query", sql=sql)

    assert sum(row["n"] for row in rows) == LOANS
    assert len(await _value(crib, "query", sql="SELECT * FROM loans", limit=7)) == 7


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM tools",
        "INSERT INTO people VALUES (99, 'x', 'y')",
        "ATTACH 'elsewhere.db' AS x",
        "PRAGMA query_only",
        "VACUUM INTO 'elsewhere.db'",
        "CREATE TEMP TABLE t (a)",
        "SELECT 1; SELECT 2",
        "SELEC",
    ],
)
async def test_the_example_database_cannot_be_changed_nor_left(crib, sql):
    assert "SQLite refuses it" in await _refusal(crib, "query", sql=sql)


async def test_a_query_without_an_end_is_stopped(crib):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    assert "interrupted" in await _refusal(crib, "query", sql=endless)
    assert await _value(crib, "query", sql="SELECT 1 AS one") == [{"one": 1}]


def test_times_are_told_converted_and_added():
    assert time_tools.now("Asia/Tokyo")["time"].endswith("+09:00")
    there = time_tools.convert_time("2026-07-01T12:00", "Europe/Oslo", "UTC")
    assert there == {"time": "2026-07-01T10:00:00+00:00", "weekday": "Wednesday"}
    assert time_tools.time_between("2026-01-01", "2026-01-03T12:00")["hours"] == 60
    assert time_tools.add_time("2026-02-28", days=1)["time"] == "2026-03-01T00:00:00"
    assert time_tools.month_calendar(2026, 2)["weeks"][0] == [0, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: time_tools.now("Europe/Osloo"), "did you mean `Europe/Oslo`"),
        (lambda: time_tools.now("zzzzzzzz"), "as in `Europe/Oslo`"),
        (lambda: time_tools.now("../etc/passwd"), "no time zone"),
        (lambda: time_tools.add_time("yesterday"), "ISO 8601"),
        (lambda: time_tools.add_time("9999-12-31", days=1), "9999"),
    ],
)
def test_what_is_no_time_is_told_in_words(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_texts_are_counted_compared_and_converted():
    assert text_tools.count_text("Two words\nhere") == {"characters": 14, "words": 3, "lines": 2, "tokens": 4}
    assert text_tools.frequent_words("a b A", limit=1) == [{"word": "a", "count": 2}]
    assert "+c" in text_tools.compare_texts("a\nb", "a\nc")
    assert text_tools.compare_texts("a", "a") == "There is no difference."
    found = text_tools.find_links("see https://example.org/a, or me@example.org; https://example.org/a,")
    assert found == {"links": ["https://example.org/a,"], "addresses": ["me@example.org"]}
    assert text_tools.sort_lines("b\na\nb", unique=True, descending=True) == "b\na"


@pytest.mark.parametrize(
    ("to", "written"),
    [("upper", "TWO WORDSHERE"), ("snake", "two_words_here"), ("kebab", "two-words-here"), ("camel", "twoWordsHere")],
)
def test_a_text_is_written_in_another_case(to, written):
    assert text_tools.change_case("two wordsHere", to) == written


def test_data_is_read_described_and_converted():
    rows = data_tools.read_csv("a;b\n1;2\n", delimiter=";")
    assert rows == [{"a": "1", "b": "2"}]
    assert data_tools.write_csv([{"a": 1}, {"b": 2}]) == "a,b\n1,\n,2\n"
    assert data_tools.describe_numbers([1, 2, 3])["mean"] == 2
    assert data_tools.convert_unit(1, "mi", "km") == {"value": 1.609344, "unit": "km"}
    assert data_tools.hash_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert data_tools.base64_text(data_tools.base64_text("ä"), "decode") == "ä"
    assert data_tools.format_json('{"b":1,"a":2}') == '{\n  "a": 2,\n  "b": 1\n}'
    assert len(set(data_tools.make_uuids(3))) == 3


@pytest.mark.parametrize(
    ("expression", "value"), [("(3 + 4) * sqrt(4)", 14), ("-2 ** 2", -4), ("max(1, 7 // 2)", 3), ("pi - pi", 0)]
)
def test_arithmetic_is_calculated(expression, value):
    assert data_tools.calculate(expression) == value


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: data_tools.calculate("2 +"), "no arithmetic expression"),
        (lambda: data_tools.calculate("__import__('os')"), "an expression holds"),
        (lambda: data_tools.calculate("(1).real"), "an expression holds"),
        (lambda: data_tools.calculate("1 / 0"), "cannot be calculated"),
        (lambda: data_tools.calculate("9.0 ** 9999"), "cannot be calculated"),
        (lambda: data_tools.convert_unit(1, "mi", "parsec"), "the units are"),
        (lambda: data_tools.convert_unit(1, "mi", "kg"), "measures length"),
        (lambda: data_tools.base64_text("ä", "decode"), "not base64"),
        (lambda: data_tools.format_json("{"), "it is not JSON"),
        (lambda: data_tools.format_json("[" * 100_000), "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_told_in_words(call, said):
    with pytest.raises(ValueError, match=said):
        call()
