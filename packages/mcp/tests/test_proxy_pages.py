from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.proxy.pages import PAGE_SIZE, page_of
from toolcrib_mcp.rpc import RpcError

IDS = [f"files:tool_{number:05}#00000000" for number in range(2 * PAGE_SIZE + 7)]


def _walk(lists):
    """The ids of all pages, each read from the next of the lists, the last of which stays."""
    seen, cursor, lists = [], None, list(lists)
    while True:
        ids = lists.pop(0) if len(lists) > 1 else lists[0]
        span = page_of(ids, cursor)
        seen += ids[span.start : span.stop]
        cursor = span.next_cursor
        if cursor is None:
            return seen


def test_pages_have_a_thousand_entries_and_visit_every_id_once_in_order():
    first = page_of(IDS, None)

    assert (first.start, first.stop) == (0, PAGE_SIZE)
    assert _walk([IDS]) == IDS


def test_a_short_list_is_one_page_and_so_is_one_that_fills_it():
    assert page_of([], None) == (0, 0, None)
    assert page_of(IDS[:PAGE_SIZE], None).next_cursor is None


@given(st.sets(st.integers(0, len(IDS) - 1)), st.sets(st.integers(0, len(IDS) - 1)))
def test_what_comes_and_goes_between_pages_moves_nothing_else(gone, come):
    before = [each for index, each in enumerate(IDS) if index not in come]
    after = [each for index, each in enumerate(IDS) if index not in gone]

    seen = _walk([before, after])

    assert len(seen) == len(set(seen))
    assert set(before) & set(after) <= set(seen)


def test_the_last_id_of_a_page_may_be_gone_when_the_next_is_asked_for():
    cursor = page_of(IDS, None).next_cursor
    remaining = [each for each in IDS if each != IDS[PAGE_SIZE - 1]]

    span = page_of(remaining, cursor)

    assert remaining[span.start] == IDS[PAGE_SIZE]


@pytest.mark.parametrize(
    "cursor",
    ["", "1", "nonsense", "é", 7, {}, "=" * 8, "A" * 401, base64.b64encode(b"\xff\xfe").decode(), "Zm9v"],
)
def test_a_cursor_that_is_none_of_ours_is_refused(cursor):
    with pytest.raises(RpcError) as caught:
        page_of(IDS, cursor)

    assert caught.value.code == -32602
