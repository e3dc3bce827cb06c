from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_cases import HANDLE, body, seen

from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views import read_selector, view
from toolcrib_mcp.views.cursors import MAX_CURSOR_LENGTH, Position, read_cursor, write_cursor
from toolcrib_mcp.views.selectors import All, Head, Lines

pytestmark = [pytest.mark.req("GW-4.6"), pytest.mark.fault("G2")]

TEXT = "".join(f"line {number} of the text\n" for number in range(500)).encode()


def continued(cursor: object, *, selector: object = None, handle: str = HANDLE) -> str:
    chosen = read_selector(selector or {"type": "all"})
    return view(TEXT, ContentKind.PROSE, chosen, handle=handle, cursor=cursor, budget=300).text  # type: ignore[arg-type]


def first_cursor() -> str:
    cursor = seen(TEXT, {"type": "all"}, budget=300).cursor
    assert cursor is not None
    return cursor


@given(at=st.integers(0, 2**53 - 1), also=st.integers(0, 2**53 - 1))
def test_a_cursor_leads_back_to_its_position_and_is_short(at, also):
    cursor = write_cursor(Position(at, also), handle=HANDLE, selector=All())

    assert read_cursor(cursor, handle=HANDLE, selector=All()) == Position(at, also)
    assert len(cursor) <= MAX_CURSOR_LENGTH


def test_a_replayed_cursor_gives_the_same_page():
    cursor = first_cursor()

    assert continued(cursor) == continued(cursor)


def test_an_edited_cursor_is_refused_at_every_character():
    cursor = first_cursor()

    for place in range(len(cursor)):
        edited = cursor[:place] + ("1" if cursor[place] != "1" else "2") + cursor[place + 1 :]
        with pytest.raises(ViewFailed, match="does not belong"):
            continued(edited)


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "0",
        "x" * 10_240,
        "1-0." + "a" * 10_240,
        "-1-0.aaaaaaaaaa",
        "1-0.aaaaaaaaaa\n",
        "١-0.aaaaaaaaaa",
        5,
        {},
        b"1-0",
        "\ud800",
    ],
)
def test_what_is_no_cursor_is_refused(cursor):
    with pytest.raises(ViewFailed, match="does not belong") as raised:
        continued(cursor)

    assert raised.value.hint


def test_a_cursor_of_another_artifact_is_refused():
    with pytest.raises(ViewFailed, match="does not belong"):
        continued(first_cursor(), handle="art_other")


def test_a_cursor_of_another_selector_is_refused():
    with pytest.raises(ViewFailed, match="does not belong"):
        continued(first_cursor(), selector={"type": "lines", "start": 1})


@pytest.mark.parametrize("position", [Position(0), Position(len(TEXT)), Position(2**52)])
@pytest.mark.parametrize(
    ("kind", "selector"),
    [
        (ContentKind.PROSE, {"type": "all"}),
        (ContentKind.PROSE, {"type": "bytes"}),
        (ContentKind.PROSE, {"type": "search", "text": "line"}),
        (ContentKind.JSON, {"type": "pointer", "pointer": ""}),
        (ContentKind.JSON, {"type": "path", "path": "$[*]"}),
        (ContentKind.JSON, {"type": "shape"}),
        (ContentKind.JSON, {"type": "rows"}),
        (ContentKind.TABLE, {"type": "rows"}),
        (ContentKind.TABLE, {"type": "keys"}),
    ],
)
def test_a_forged_position_outside_the_content_is_refused(kind, selector, position):
    content = b'[{"a": 1}, {"a": 2}]' if kind is ContentKind.JSON else TEXT
    forged = write_cursor(position, handle=HANDLE, selector=read_selector(selector))

    with pytest.raises(ViewFailed, match="does not belong"):
        view(content, kind, read_selector(selector), handle=HANDLE, cursor=forged)


def test_raw_content_has_no_following_page():
    selector = read_selector({"type": "raw"})
    forged = write_cursor(Position(1), handle=HANDLE, selector=selector)

    with pytest.raises(ViewFailed, match="does not belong"):
        view(b"\x89PNG", ContentKind.IMAGE, selector, handle=HANDLE, cursor=forged)


def test_the_page_behind_a_cursor_begins_where_the_last_one_ended():
    first = seen(TEXT, {"type": "all"}, budget=300)

    second = continued(first.cursor)

    last_shown = body(first).splitlines()[-1]
    assert second.splitlines()[1] == f"line {int(last_shown.split()[1]) + 1} of the text"


def test_selectors_that_differ_in_anything_have_other_cursors():
    selectors = [Head(lines=5), Head(lines=6), Lines(start=5), All()]

    assert len({write_cursor(Position(1), handle=HANDLE, selector=each) for each in selectors}) == len(selectors)
