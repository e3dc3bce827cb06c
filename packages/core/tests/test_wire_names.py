"""Wire names are legal, reversible, independent of order, readable where they can be, and never shared silently."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import CatalogError, InvalidToolId, UnknownTool, WireNameCollision
from toolcrib_core.identity import ToolIdentity, encode_component, format_tool_id
from toolcrib_core.wire_names import WireNames

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
HASHED = re.compile(r".*_[a-z2-7]{10}")
PREFIX = "mcp__toolcrib__"


def generated_ids(number: int) -> list[str]:
    """Ids with few different parts, so that versions, separators and prefixes clash as often as they can."""
    dice = random.Random(11)
    texts = [
        "git",
        "hub",
        "_",
        "__",
        "-",
        ".",
        "a",
        "create_issue",
        "mcp",
        "toolcrib",
        "é",
        "日本",
        "%",
        "7z",
        "X" * 30,
    ]
    parts = [encode_component(text) for text in texts]
    ids: set[str] = set()
    while len(ids) < number:
        namespace = "default" if dice.random() < 0.1 else "".join(dice.choices(parts, k=dice.randrange(1, 4)))
        name = "".join(dice.choices(parts, k=dice.randrange(1, 5)))
        version = dice.choice(["", "@1.0.0", "@2.0.0", "@2024-05"])
        shape = f"#{dice.randrange(16**8):08x}" if dice.random() < 0.3 else ""
        ids.add(f"{namespace}:{name}{version}{shape}")
    return sorted(ids)


@pytest.mark.req("AR-1.5")
@pytest.mark.parametrize(
    ("tool_id", "name"),
    [
        ("github:create_issue@1.4.0", "github__create_issue"),
        ("github:create_issue#14e0104b", "github__create_issue"),
        ("git-hub:create-issue@1", "git-hub__create-issue"),
        ("default:read_file", "read_file"),
        ("default:_private", "_private"),
        ("default:read__file", "default__read__file"),
        ("a:b__c", "a__b__c"),
    ],
)
def test_a_tool_that_is_the_only_one_of_its_name_is_called_by_namespace_and_name(tool_id: str, name: str) -> None:
    assert WireNames([tool_id]).encode(tool_id) == name


@pytest.mark.req("AR-1.5")
@pytest.mark.parametrize(
    ("tool_id", "stem"),
    [
        ("github:issues.create@1", "github__issues_create_"),
        ("git__hub:create@1", "git__hub__create_"),
        ("git_:create@1", "git___create_"),
        ("git:_create@1", "git___create_"),
        (f"github:{'x' * 60}@1", f"github__{'x' * 45}_"),
        ("default:caf%C3%A9", "caf_"),
        ("default:%E6%97%A5%E6%9C%AC", "_"),
        ("7zip:list@1", "_7zip__list_"),
        ("default:3d_print", "_3d_print_"),
        ("default:-x", "_-x_"),
        (f"default:{'7' * 64}", f"_{'7' * 52}_"),
    ],
)
def test_a_tool_that_cannot_be_called_so_gets_a_readable_stem_and_a_hash(tool_id: str, stem: str) -> None:
    name = WireNames([tool_id]).encode(tool_id)

    assert name.startswith(stem)
    assert HASHED.fullmatch(name)
    assert LEGAL.fullmatch(name)


@pytest.mark.req("AR-1.5")
def test_several_versions_of_one_tool_are_told_apart_by_a_hash_and_its_neighbours_stay_readable() -> None:
    names = WireNames(["github:get@1.0.0", "github:get@2.0.0", "github:get#14e0104b", "github:list@1.0.0"])

    hashed = [names.encode(each) for each in names if each.startswith("github:get")]

    assert all(re.fullmatch(r"github__get_[a-z2-7]{10}", each) for each in hashed)
    assert len(set(hashed)) == 3
    assert names.encode("github:list@1.0.0") == "github__list"


@pytest.mark.req("AR-1.5")
def test_a_hundred_thousand_ids_have_legal_names_that_lead_back_to_them() -> None:
    ids = generated_ids(100_000)

    names = WireNames(ids, prefix=PREFIX)

    encoded = [names.encode(each) for each in ids]
    assert all(LEGAL.fullmatch(each) and each.startswith(PREFIX) for each in encoded)
    assert [names.decode(each) for each in encoded] == ids
    assert [names.decode(each.removeprefix(PREFIX)) for each in encoded] == ids


@pytest.mark.req("AR-1.5")
def test_names_do_not_depend_on_the_order_or_number_of_times_the_ids_are_given() -> None:
    ids = generated_ids(5_000)
    dice = random.Random(5)

    tables = [dict(WireNames(dice.sample(ids, len(ids)) + dice.sample(ids, 50)).items()) for _ in range(2)]

    assert tables[0] == tables[1] == dict(WireNames(ids).items())


@pytest.mark.req("AR-1.5")
@settings(max_examples=100)
@given(
    st.lists(
        st.builds(
            ToolIdentity,
            namespace=st.text(st.sampled_from("ab_-.é"), min_size=1, max_size=5),
            name=st.text(st.sampled_from("ab_-.é"), min_size=1, max_size=5),
            version=st.none() | st.sampled_from(["1", "2"]),
        ).map(format_tool_id),
        max_size=30,
    ),
    st.sampled_from(["", "a_", "a__", "ab", PREFIX]),
)
def test_any_set_of_ids_is_reversible_under_any_prefix(ids: list[str], prefix: str) -> None:
    names = WireNames(ids, prefix=prefix)

    for tool_id, name in names.items():
        assert names.decode(name) == names.decode(name.removeprefix(prefix)) == tool_id
    assert len(names) == len(set(ids))


@pytest.mark.req("AR-1.5")
@pytest.mark.parametrize("prefix", ["", PREFIX, "mcp__a-server-with-a-long-name__"])
def test_every_tool_of_a_real_catalogue_has_a_name(shared_definitions: list[ToolDefinition], prefix: str) -> None:
    ids = {definition.id for definition in shared_definitions}

    names = WireNames(ids, prefix=prefix)

    assert {names.decode(name) for _, name in names.items()} == ids
    assert all(LEGAL.fullmatch(name) for _, name in names.items())


@pytest.mark.req("AR-1.5")
def test_two_ids_with_one_name_are_refused_by_both_their_names() -> None:
    hashed = "ns:na.me@1"
    crafted = f"ns:{WireNames([hashed]).encode(hashed).removeprefix('ns__')}@1"

    with pytest.raises(WireNameCollision) as caught:
        WireNames([hashed, crafted])

    assert f"`{hashed}`" in caught.value.message
    assert f"`{crafted}`" in caught.value.message
    assert caught.value.details["ids"] == sorted([hashed, crafted])


@pytest.mark.req("AR-1.5")
def test_a_name_that_already_looks_prefixed_is_not_read_as_the_one_behind_the_prefix() -> None:
    names = WireNames(["default:x@1", "a:x@1"], prefix="a__")

    assert names.encode("default:x@1") == "a__x"
    assert names.decode("a__x") == names.decode("x") == "default:x@1"
    assert names.decode(names.encode("a:x@1")) == "a:x@1"


@pytest.mark.req("AR-1.5")
@pytest.mark.parametrize(("max_length", "prefix"), [(15, ""), (64, "p" * 49), (0, ""), (-1, "")])
def test_too_little_room_for_a_name_is_refused(max_length: int, prefix: str) -> None:
    with pytest.raises(CatalogError, match="characters for a wire name") as caught:
        WireNames([], max_length=max_length, prefix=prefix)

    assert caught.value.details["least"] == 16


@pytest.mark.req("AR-1.5")
def test_the_least_room_still_holds_any_name() -> None:
    ids = generated_ids(2_000)

    names = WireNames(ids, max_length=16)

    assert all(len(name) <= 16 for _, name in names.items())
    assert {names.decode(name) for _, name in names.items()} == set(ids)


@pytest.mark.req("AR-1.5", "CT-4")
def test_a_name_that_no_prefix_covers_begins_with_a_letter_or_an_underscore() -> None:
    ids = ["7zip:list@1", "default:3d_print", "default:-x", "_7zip:list@1", "a:7"]

    alone, behind_prefix = WireNames(ids), WireNames(ids, prefix=PREFIX)

    assert all(LEGAL.fullmatch(alone.encode(each)) for each in ids)
    assert {alone.decode(alone.encode(each)) for each in ids} == set(ids)
    assert behind_prefix.encode("7zip:list@1") == f"{PREFIX}7zip__list"


@pytest.mark.parametrize("prefix", ["mcp:", "mcp ", "é", "a\n", "7__", "-"])
def test_a_prefix_that_no_provider_accepts_is_refused(prefix: str) -> None:
    with pytest.raises(CatalogError, match="before a wire name"):
        WireNames([], prefix=prefix)


def test_a_malformed_id_is_refused() -> None:
    with pytest.raises(InvalidToolId):
        WireNames(["no-namespace"])


@pytest.mark.parametrize(
    ("wire_name", "hint"),
    [
        ("github__create_isue", "Did you mean `mcp__toolcrib__github__create_issue`?"),
        ("mcp__toolcrib__github__create_isue", "Did you mean `mcp__toolcrib__github__create_issue`?"),
        ("zzz", "Look the tool up again: its name may have changed."),
        ("\x00" * 100_000, "Look the tool up again: its name may have changed."),
    ],
    ids=["bare", "prefixed", "far", "huge"],
)
def test_an_unknown_name_is_an_error_that_suggests_the_nearest(wire_name: str, hint: str) -> None:
    names = WireNames(["github:create_issue@1", "weather:forecast@1"], prefix=PREFIX)

    with pytest.raises(UnknownTool) as caught:
        names.decode(wire_name)

    assert caught.value.hint == hint
    assert len(caught.value.message) < 500


def test_an_unknown_id_is_an_error_that_suggests_the_nearest() -> None:
    names = WireNames(["github:create_issue@1"])

    with pytest.raises(UnknownTool, match="Did you mean `github:create_issue@1`"):
        names.encode("github:create_issue@2")

    assert "github:create_issue@1" in names
    assert "github:create_issue@2" not in names
    assert list(names) == ["github:create_issue@1"]
