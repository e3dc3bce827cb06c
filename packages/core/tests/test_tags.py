"""Tags become kebab-case, each once."""

from __future__ import annotations

import pytest

from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.tags import normalize_tags


@pytest.mark.req("AR-1.7", "D1-1d")
def test_spellings_of_one_tag_become_one_kebab_case_tag_in_the_order_given() -> None:
    tags = normalize_tags(["Read Only", "readOnly", "read_only", "zeta", "read-only", "Ärger", "v1.2"])

    assert tags == ("read-only", "zeta", "ärger", "v1-2")


@pytest.mark.req("AR-1.7")
@pytest.mark.parametrize(
    "tag", ["", "  ", "---", '{"type":"object"}', "a:b", "https://x.example/", "x" * 65, "a\x00b", 7]
)
def test_what_cannot_be_a_tag_is_refused(tag: object) -> None:
    with pytest.raises(InvalidDefinition):
        normalize_tags([tag])  # type: ignore[list-item]  # on purpose


@pytest.mark.parametrize("tags", ["text", 3])
def test_tags_must_be_a_list(tags: object) -> None:
    with pytest.raises(InvalidDefinition, match="list"):
        normalize_tags(tags)  # type: ignore[arg-type]  # on purpose
