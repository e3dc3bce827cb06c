"""Risks only ever add up."""

from __future__ import annotations

from itertools import permutations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core.risk import HARMLESS, ToolRisk, merge_risks

_EFFECTS = ("none", "read", "write", "unknown")
_SENSITIVITY = ("public", "internal", "restricted", "secret")
risks = st.builds(
    ToolRisk,
    effects=st.sampled_from(_EFFECTS),
    destructive=st.booleans(),
    idempotent=st.booleans(),
    requires_approval=st.booleans(),
    data_sensitivity=st.sampled_from(_SENSITIVITY),
    external_network=st.booleans(),
    system_access=st.booleans(),
)


def _no_less_risky(one: ToolRisk, other: ToolRisk) -> bool:
    return (
        _EFFECTS.index(one.effects) >= _EFFECTS.index(other.effects)
        and _SENSITIVITY.index(one.data_sensitivity) >= _SENSITIVITY.index(other.data_sensitivity)
        and one.destructive >= other.destructive
        and one.idempotent <= other.idempotent
        and one.requires_approval >= other.requires_approval
        and one.external_network >= other.external_network
        and one.system_access >= other.system_access
    )


@pytest.mark.req("AR-1.2")
@given(st.lists(risks, min_size=1, max_size=4))
def test_a_composition_is_never_less_risky_than_any_of_its_parts(parts: list[ToolRisk]) -> None:
    merged = merge_risks(*parts)

    assert all(_no_less_risky(merged, part) for part in parts)


@pytest.mark.req("AR-1.2")
@given(st.lists(risks, min_size=1, max_size=3))
def test_merging_does_not_depend_on_order_repetition_or_grouping(parts: list[ToolRisk]) -> None:
    merged = merge_risks(*parts)

    assert {merge_risks(*order) for order in permutations(parts)} == {merged}
    assert merge_risks(*parts, *parts) == merged
    assert merge_risks(parts[0], merge_risks(*parts[1:])) == merged
    assert merge_risks(merged, HARMLESS) == merged


@pytest.mark.req("AR-1.2")
@given(risks, risks)
def test_an_untrusted_hint_can_raise_a_risk_but_never_lower_it(known: ToolRisk, hint: ToolRisk) -> None:
    raised = merge_risks(known, hint)

    assert _no_less_risky(raised, known)
    assert raised.may_write >= known.may_write


@pytest.mark.req("D1-2h", "D1-2i")
def test_a_risk_has_the_words_of_the_document_and_no_others() -> None:
    words = {name: get_args(field.annotation) for name, field in ToolRisk.model_fields.items()}

    assert {name: each for name, each in words.items() if each} == {
        "effects": ("none", "read", "write", "unknown"),
        "data_sensitivity": ("public", "internal", "restricted", "secret"),
    }


@pytest.mark.req("AR-1.2")
def test_nothing_is_assumed_about_a_tool_that_says_nothing() -> None:
    silent = ToolRisk()

    assert silent.effects == "unknown"
    assert silent.may_write
    assert not silent.idempotent
    assert merge_risks() == HARMLESS
    assert not HARMLESS.may_write
