from __future__ import annotations

import time

import pytest

from toolcrib_core.schema.patterns import linear_matcher

SIZE = 128 * 1024


def test_a_matcher_tells_whether_some_part_of_a_text_matches():
    matches = linear_matcher(r"b+c$", size_limit=SIZE)

    assert matches is not None
    assert matches("abbc")
    assert not matches("bcd")


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?=a)a", "(", r"\p{L}{500}"])
def test_a_pattern_that_is_not_linear_or_too_large_has_no_matcher(pattern):
    assert linear_matcher(pattern, size_limit=SIZE) is None


def test_a_pattern_made_to_go_back_for_ever_does_not():
    matches = linear_matcher(r"(a+)+$", size_limit=SIZE)
    began = time.thread_time()

    assert matches is not None
    assert not matches("a" * 100_000 + "b")
    assert time.thread_time() - began < 5
