"""Names, descriptions and keys of toolsets."""

from __future__ import annotations

import pytest

from toolcrib_toolsets.contract import MAX_API_KEY_LEN, ToolsetScope, read_api_key
from toolcrib_toolsets.errors import MESSAGES, InvalidApiKey, InvalidDescription, InvalidInstanceName, ToolsetError
from toolcrib_toolsets.names import (
    MAX_TOOLSET_DESCRIPTION_LEN,
    MAX_TOOLSET_NAME_LEN,
    validate_toolset_description,
    validate_toolset_name,
)


@pytest.mark.req("TS-2")
@pytest.mark.parametrize("name", ["my-toolset", "MyToolset123", "a", "a-b-c", "toolset-1", "a" * MAX_TOOLSET_NAME_LEN])
@pytest.mark.req("D3-1d", "D3-3a", "D3-3l")
def test_a_name_of_letters_digits_and_hyphens_is_taken(name: str) -> None:
    validate_toolset_name(name)


@pytest.mark.req("TS-2")
@pytest.mark.fault("H8")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "my_toolset",
        "my toolset",
        "my.toolset",
        "my@toolset",
        "tool\n",
        "tоol",
        "ﬁle",
        "'; DROP TABLE toolsets--",
        "a" * (MAX_TOOLSET_NAME_LEN + 1),
        "a" * 1_000_000,
    ],
)
@pytest.mark.req("D3-1d", "D3-3a", "D3-3m", "D3-3n")
def test_any_other_name_is_refused_without_repeating_it(name: str) -> None:
    with pytest.raises(InvalidInstanceName) as caught:
        validate_toolset_name(name)

    assert caught.value.status == 400
    assert len(str(caught.value)) < 300


@pytest.mark.req("TS-2")
@pytest.mark.req("D3-3c", "D3-3i", "D3-3j")
def test_a_description_has_up_to_255_characters_on_one_line() -> None:
    for fine in ("", "What it is for", "é" * MAX_TOOLSET_DESCRIPTION_LEN):
        validate_toolset_description(fine)

    for wrong in ("é" * (MAX_TOOLSET_DESCRIPTION_LEN + 1), "two\nlines", "\x1b[31mred", "\ud800"):
        with pytest.raises(InvalidDescription):
            validate_toolset_description(wrong)


@pytest.mark.parametrize("text", ["", " sk-1", "sk-2\n", "a\x00b", "••••", "k" * (MAX_API_KEY_LEN + 1), "\ud800key"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(InvalidApiKey) as caught:
        read_api_key(text)

    assert not text or text not in str(caught.value)


@pytest.mark.req("TS-14")
@pytest.mark.req("D3-2a")
def test_scopes_of_a_claim_name_types_and_the_rest_is_passed_over() -> None:
    claim = "openid scope_toolset-builtin-exa-web-search profile scope_toolset- scope_other-x scope_toolset-http-api"

    assert {str(each) for each in ToolsetScope.parse_claim(claim)} == {
        "scope_toolset-builtin-exa-web-search",
        "scope_toolset-http-api",
    }


@pytest.mark.req("TS-8")
@pytest.mark.req("D3-8k")
def test_every_error_has_its_own_code_its_status_and_a_sentence_of_the_catalogue() -> None:
    kinds = ToolsetError.__subclasses__()

    assert {each.key for each in kinds} == set(MESSAGES)
    assert len({each.default_code for each in kinds}) == len(kinds)
    assert {each.key: each.status for each in kinds if each.key.startswith(("instance_n", "invalid_"))} == {
        "instance_not_found": 404,
        "instance_not_owned": 403,
        "instance_name_exists": 409,
        "instance_not_configured": 400,
        "invalid_instance_name": 400,
        "invalid_instance_description": 400,
        "invalid_toolset_type": 400,
        "invalid_settings": 400,
        "invalid_api_key": 400,
        "invalid_request": 400,
    }
