"""Versions: SemVer 2.0 to the letter, and npm's ranges."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core.errors import QueryError
from toolcrib_core.versions import (
    MAX_RANGE_LENGTH,
    MAX_VERSION_LENGTH,
    SemVer,
    as_range,
    matching_versions,
    parse_range,
    parse_version,
    version_order,
)

_SECTION_11 = (
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.9.0",
    "1.10.0",
    "2.0.0",
)
_SMALL = st.integers(min_value=0, max_value=3)
_TRIPLES = st.tuples(_SMALL, _SMALL, _SMALL)
_IDENTIFIERS = st.one_of(st.integers(min_value=0, max_value=12).map(str), st.sampled_from(["a", "b", "rc", "-", "0a"]))
_VERSIONS = st.builds(
    lambda triple, prerelease, build: (
        ".".join(map(str, triple))
        + (f"-{'.'.join(prerelease)}" if prerelease else "")
        + (f"+{'.'.join(build)}" if build else "")
    ),
    _TRIPLES,
    st.lists(_IDENTIFIERS, max_size=3),
    st.lists(_IDENTIFIERS, max_size=1),
)


def _version(text: str) -> SemVer:
    version = parse_version(text)
    assert version is not None
    return version


def _contains(wanted: str, version: str) -> bool:
    return parse_range(wanted).contains(_version(version))


@pytest.mark.req("AR-2.3", "D1-2m")
def test_precedence_follows_section_11_of_semver() -> None:
    shuffled = random.Random(7).sample(_SECTION_11, len(_SECTION_11))

    assert tuple(sorted(shuffled, key=version_order)) == _SECTION_11
    assert all(_version(low).precedence < _version(high).precedence for low, high in itertools.pairwise(_SECTION_11))


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize(
    "text",
    ["0.0.4", "1.2.3", "1.1.2-prerelease+meta", "1.0.0-alpha.0valid", "1.0.0--", "1.0.0-0A.is.legal", "1.0.0+0.build"],
)
def test_what_semver_calls_valid_is_read(text: str) -> None:
    assert parse_version(text) is not None


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "1",
            "1.2",
            "v1.2.3",
            "1.2.3.4",
            "01.1.1",
            "1.01.1",
            "1.1.01",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3-a..b",
            "1.2.3+",
        ),
        *("1.2.3+a+b", " 1.2.3", "1.2.3 ", "1.2.3\n", "1.2.3-ä", "١.٢.٣", "-1.0.0", "latest", "1.2.3-a_b", "1.2.x"),
    ],
)
def test_what_semver_calls_invalid_is_not_a_version(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.req("AR-2.3")
def test_a_version_beyond_the_length_bound_is_not_read() -> None:
    longest = "1.0.0-" + "a" * (MAX_VERSION_LENGTH - 6)

    assert parse_version(longest) is not None
    assert parse_version(longest + "a") is None


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
def test_build_metadata_does_not_count_for_precedence_and_ties_go_by_the_text() -> None:
    builds = ["1.0.0+b", "1.0.0", "1.0.0+a"]

    assert len({_version(text).precedence for text in builds}) == 1
    assert sorted(builds, key=version_order) == ["1.0.0", "1.0.0+a", "1.0.0+b"]


@pytest.mark.req("AR-2.3")
def test_any_versions_have_an_order_none_first_then_free_texts_then_semver() -> None:
    mixed = ["1.0.0", "zeta", None, "0.1.0", "alpha"]

    assert sorted(mixed, key=version_order) == [None, "alpha", "zeta", "0.1.0", "1.0.0"]


@pytest.mark.req("AR-2.3")
@given(st.lists(_VERSIONS, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_versions_does_not_depend_on_the_order_given(versions: list[str], rng: random.Random) -> None:
    shuffled = rng.sample(versions, len(versions))

    assert sorted(versions, key=version_order) == sorted(shuffled, key=version_order)


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        ("^1.2", ["1.2.0", "1.99.0"], ["1.1.9", "2.0.0"]),
        ("^1", ["1.0.0", "1.99.99"], ["0.9.9", "2.0.0"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.2.2", "0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.2", "0.0.4"]),
        ("^0.0", ["0.0.0", "0.0.9"], ["0.1.0"]),
        ("^0", ["0.0.0", "0.9.0"], ["1.0.0"]),
        ("~1.2", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.2.2", "1.3.0"]),
        ("~1", ["1.0.0", "1.9.0"], ["2.0.0"]),
        (">=1,<2", ["1.0.0", "1.9.9"], ["0.9.9", "2.0.0"]),
        (">= 1.2 < 1.4", ["1.2.0", "1.3.9"], ["1.1.0", "1.4.0"]),
        (">1.2.3", ["1.2.4", "9.0.0"], ["1.2.3"]),
        (">1.2", ["1.3.0"], ["1.2.9"]),
        (">1", ["2.0.0"], ["1.9.9"]),
        ("<=1.2", ["1.2.9", "0.0.0"], ["1.3.0"]),
        ("<=1.2.3", ["1.2.3"], ["1.2.4"]),
        ("=1.0.0", ["1.0.0", "1.0.0+build"], ["1.0.1"]),
        ("1.0.0", ["1.0.0"], ["1.0.1"]),
        ("1.x", ["1.0.0", "1.9.9"], ["2.0.0"]),
        ("1.X.x", ["1.9.9"], ["2.0.0"]),
        ("1.2.*", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("1.2", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("*", ["0.0.0", "9.9.9"], []),
        (" ^1 ", ["1.0.0"], ["2.0.0"]),
        ("<*", [], ["0.0.0", "1.0.0"]),
        (">2,<1", [], ["0.5.0", "1.5.0", "2.5.0", "3.0.0"]),
    ],
)
def test_a_range_contains_what_it_contains_to_npm(wanted: str, inside: list[str], outside: list[str]) -> None:
    assert [version for version in inside if not _contains(wanted, version)] == []
    assert [version for version in outside if _contains(wanted, version)] == []


@pytest.mark.req("AR-2.3")
@pytest.mark.parametrize(
    ("wanted", "inside", "outside"),
    [
        ("^1", [], ["1.0.0-rc.1", "1.5.0-beta", "2.0.0-alpha"]),
        ("*", [], ["1.0.0-rc.1"]),
        ("^1.2.3-beta.2", ["1.2.3-beta.2", "1.2.3-beta.4", "1.2.3", "1.9.0"], ["1.2.3-beta.1", "1.2.4-beta.9"]),
        ("=1.0.0-rc.1", ["1.0.0-rc.1"], ["1.0.0-rc.2", "1.0.0"]),
        (">=1.0.0-alpha <1.0.0", ["1.0.0-beta"], ["1.0.0"]),
    ],
)
def test_a_pre_release_is_in_a_range_only_if_the_range_names_one_of_the_same_triple(
    wanted: str, inside: list[str], outside: list[str]
) -> None:
    assert [version for version in inside if not _contains(wanted, version)] == []
    assert [version for version in outside if _contains(wanted, version)] == []


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
@pytest.mark.parametrize(
    ("wanted", "versions", "matching"),
    [
        ("^1", ["1.0.0-rc.1", "2.0.0-alpha", "0.9.0"], ("1.0.0-rc.1",)),
        ("^1", ["1.0.0-rc.1", "1.0.0"], ("1.0.0",)),
        ("^1", ["1.0.0-rc.2", "1.0.0-rc.10"], ("1.0.0-rc.2", "1.0.0-rc.10")),
        ("*", ["1.0.0-rc.1", "0.1.0-a"], ("0.1.0-a", "1.0.0-rc.1")),
        ("<2.0.0", ["2.0.0-alpha"], ()),
        (">=1.2.3", ["1.2.3-rc.1", "1.2.4-rc.1"], ("1.2.4-rc.1",)),
        ("1.x", ["latest", "1"], ()),
    ],
)
def test_other_pre_releases_match_only_when_nothing_else_does(
    wanted: str, versions: list[str], matching: tuple[str, ...]
) -> None:
    assert matching_versions(versions, parse_range(wanted)) == matching


@pytest.mark.req("AR-2.3")
@given(_TRIPLES, _TRIPLES)
def test_a_caret_allows_what_keeps_the_leftmost_part_that_is_not_zero(
    base: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    kept = next((index + 1 for index, number in enumerate(base) if number), 3)
    compatible = other >= base and other[:kept] == base[:kept]

    assert _contains(f"^{'.'.join(map(str, base))}", ".".join(map(str, other))) is compatible


@pytest.mark.req("AR-2.3")
@given(_VERSIONS, _VERSIONS)
def test_the_four_comparisons_agree_with_precedence(bound: str, version: str) -> None:
    core = bound.partition("+")[0]
    low, high = _version(version).precedence, _version(bound).precedence
    pre_release_of_the_bound = "-" not in core and _version(version).triple == _version(bound).triple

    assert parse_range(f">={core}").spans(_version(version)) is (low >= high)
    assert parse_range(f">{core}").spans(_version(version)) is (low > high)
    assert parse_range(f"<={core}").spans(_version(version)) is (low <= high)
    assert parse_range(f"<{core}").spans(_version(version)) is (low < high and not pre_release_of_the_bound)


@pytest.mark.req("AR-2.3")
@pytest.mark.fault("A5")
@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "^", "^^1", ">>1", "1..2", "1.2.3.4", "^v1", "^1,", ",^1", "^1,,<2", "1.x.3", "x.1", "^1.2-beta"),
        *("^1 || ^2", "^01", "^1\n", "=1.0.0+build", "1 - 2", "^1;", "latest", "!1", "^1.2.3-", "^١"),
    ],
)
def test_a_malformed_range_is_refused_with_examples_of_good_ones(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_range(text)

    assert "is not a version range" in caught.value.message
    assert "`^1.2`" in str(caught.value.hint)
    assert isinstance(caught.value.details["position"], int)


@pytest.mark.req("AR-2.3")
def test_a_range_beyond_the_length_bound_is_refused_without_repeating_it() -> None:
    with pytest.raises(QueryError) as caught:
        parse_range("^1," * MAX_RANGE_LENGTH)

    assert len(caught.value.message) < 100


@pytest.mark.req("AR-2.3")
@given(st.text(alphabet="^~<>=*,| x.-+0123456789abX\n", max_size=24))
def test_any_text_is_a_range_or_a_query_error(text: str) -> None:
    try:
        wanted = parse_range(text)
    except QueryError:
        return

    assert wanted.contains(_version("1.0.0")) in {True, False}


@pytest.mark.req("AR-2.3")
def test_a_text_without_any_sign_of_a_range_can_be_the_name_of_a_version() -> None:
    assert as_range("latest") is None
    assert as_range("1.2") == parse_range("1.2")
    with pytest.raises(QueryError):
        as_range("^latest")
