"""Answers as no provider sends them: its words in the wrong places, with the wrong kinds of values."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

_LEAVES = [None, True, 0, 1, 2.5, "", "{}", '{"a":1', "x" * 200, "\ud800"]


def answers(keys: str, texts: str) -> st.SearchStrategy[list[Any]]:
    """Lists of JSON values made of these keys and texts, which stand between spaces."""
    leaves = st.sampled_from([*_LEAVES, *texts.split()])
    names = st.sampled_from(keys.split())
    value = st.recursive(
        leaves,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=5)),
        max_leaves=25,
    )
    return st.lists(value, max_size=5)
