"""Secrets in bytes: none is overlooked, wherever it begins."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.guards.secrets.needles import Needles
from toolcrib_runtime.guards.secrets.spellings import MIN_SECRET_LENGTH, spellings

SECRETS = st.text(min_size=MIN_SECRET_LENGTH, max_size=40).filter(lambda each: each.isprintable() and each != "••••")


@pytest.mark.fault("F18")
@given(st.lists(SECRETS, min_size=1, max_size=4), st.text(max_size=30), st.text(max_size=30), st.data())
def test_every_spelling_is_found_wherever_it_begins(
    secrets: list[str], before: str, after: str, data: st.DataObject
) -> None:
    needles = Needles(map(Secret, secrets))
    spelling = data.draw(st.sampled_from([each.reveal() for each in needles.every()]))
    text = f"{before}{spelling}{after}"

    plain = needles.within(text.encode("utf-8", "replace"))
    in_json = needles.within(json.dumps({"text": text}, ensure_ascii=False).encode("utf-8", "replace"))

    assert spelling in {each.reveal() for each in plain}
    assert spelling in {each.reveal() for each in in_json}


@given(st.lists(SECRETS, max_size=4), st.binary(max_size=300))
def test_nothing_is_found_that_is_not_there(secrets: list[str], data: bytes) -> None:
    found = Needles(map(Secret, secrets)).within(data)

    assert all(_is_in(each.reveal(), data) for each in found)


def test_the_longest_comes_first() -> None:
    found = Needles([Secret("alphabet"), Secret("alphabet-soup")]).within(b"alphabet-soup")

    assert [each.reveal() for each in found] == ["alphabet-soup", "alphabet"]


def test_a_secret_across_the_chunks_of_a_large_text_is_found() -> None:
    needles = Needles([Secret("canary-4f9a1c07-canary"), Secret("canary7")])

    for shift in range(-24, 8):
        data = b"x" * (128 * 1024 + shift) + b"canary-4f9a1c07-canary canary7" + b"x" * 200_000
        assert len(needles.within(data)) == 2


@pytest.mark.fault("H5")
def test_needles_do_not_show_what_they_search_for() -> None:
    needles = Needles([Secret("canary-4f9a1c07"), Secret("canary")])

    assert "canary" not in f"{needles!r} {vars(needles)}"
    assert len(needles) == len(needles.every()) > 10


def test_what_is_too_short_is_not_searched_for() -> None:
    assert spellings([Secret("short")]) == ()
    assert Needles([Secret("short")]).within(b"short") == ()
    assert Needles().within(b"anything") == ()


def _is_in(text: str, data: bytes) -> bool:
    return text.encode() in data or json.dumps(text, ensure_ascii=False)[1:-1].encode() in data
