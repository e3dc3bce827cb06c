"""Policy files: every mistake at once with its line, hostile ones refused, and edits that count while serving."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
from policy_cases import UNKNOWN, subject

from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import POLICY_FILE, Policy, PolicySource, parse_policy, policy_path, read_policy, remarks_on
from toolcrib_runtime.testing import FakeClock

DENY = '[[rule]]\ndecision = "deny"\n'
ALLOW = '[[rule]]\ndecision = "allow"\n'

NOT_ABOUT_UNKNOWN = (
    "is not about tools of which nobody has said what they do. Add `unknown` to its `risk` if it should be."
)
WHOLE = """\
# ours
version = 1
default = "ask"

[[rule]]
decision = "deny"
server = "github"
tool = "delete_*"
risk = ["destructive", "unknown"]
principal = "ci-*"
reason = "Not from CI."

[[limit]]
calls = 60
per = "minute"
principal = "*"
server = "*"
tool = "*"
each = ["principal", "server"]

[[budget]]
calls = 1
per = "day"
"""


def problems(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(ConfigError) as refused:
        parse_policy(text)
    listed: Any = refused.value.details["problems"]
    return [(each.get("line"), each["message"]) for each in listed]


@pytest.mark.req("GW-8.3")
def test_a_whole_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / POLICY_FILE
    file.write_text(WHOLE, "utf-8")

    read = read_policy(file)

    assert read.default == "ask"
    assert [each.name for each in (*read.rules, *read.limits, *read.budgets)] == [
        "rule 1 (line 5)",
        "limit 1 (line 13)",
        "budget 1 (line 21)",
    ]
    assert read.rules[0].entry.risk == ("destructive", "unknown")
    assert read.limits[0].entry.each == ("principal", "server")
    assert read.budgets[0].entry.each == ("principal",)
    assert [str(each) for each in (*read.limits, *read.budgets)] == ["60 calls per minute", "1 call per day"]


def test_an_empty_file_is_the_default_policy() -> None:
    assert parse_policy("").digest == Policy().digest


@pytest.mark.req("GW-8.3")
def test_every_mistake_is_told_at_once_with_its_line() -> None:
    text = 'versoin = 1\ndefault = "no"\n[[rule]]\ndecison = "deny"\nrisk = ["reed"]\n[[limit]]\ncalls = "x"\n'

    assert problems(text) == [
        (1, "There is no key `versoin` in a policy."),
        (2, "`default` cannot be used: input should be 'by-risk', 'allow', 'ask' or 'deny'."),
        (3, "Rule 1 has no `decision`."),
        (4, "There is no key `decison` in rule 1."),
        (
            5,
            "`risk` of rule 1 cannot be used: input should be 'none', 'read', 'write', 'destructive' or 'unknown'.",
        ),
        (6, "Limit 1 has no `per`."),
        (7, "`calls` of limit 1 cannot be used: input should be a valid integer."),
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('[[rules]]\ndecision = "deny"', "Was `rule` meant?"),
        ('[[rule]]\ndecision = "deny"\nserver_name = "x"', "Was `server` meant?"),
        (
            '[[budget]]\ncalls = 1\nper = "day"\nzzz = 1',
            "There are `server`, `tool`, `principal`, `calls`, `per`, `each`.",
        ),
    ],
)
def test_an_unknown_key_comes_with_the_one_that_was_meant(text: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_policy(text)

    assert refused.value.hint == hint


@pytest.mark.parametrize(
    "text",
    [
        "rule = 3",
        "rule = [3]",
        "[rule]\ndecision = 'deny'",
        "version = 2",
        "[[rule]]\ndecision = 3",
        "[[rule]]\ndecision = 'deny'\nserver = ''",
        "[[rule]]\ndecision = 'deny'\nrisk = []",
        "[[rule]]\ndecision = 'deny'\nrisk = 3",
        "[[rule]]\ndecision = 'deny'\nreason = 2026-01-01T00:00:00Z\nserver = 1",
        "[[limit]]\ncalls = 0\nper = 'day'",
        "[[limit]]\ncalls = 1.5\nper = 'day'",
        "[[limit]]\ncalls = inf\nper = 'day'",
        "[[budget]]\ncalls = 1\nper = 'week'",
        "[[budget]]\ncalls = 1\nper = 'day'\neach = ['everyone']",
    ],
)
def test_a_value_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_policy(text)


def test_a_wrong_value_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as refused:
        parse_policy("[[rule]]\ndecision = 'sk-canary'\n")

    assert "canary" not in f"{refused.value.message}{refused.value.hint}{refused.value.details}"


@pytest.mark.parametrize(
    "text",
    [
        f'[[rule]]\ndecision = "deny"\nreason = """\n[[rule]]\n"""\n{ALLOW}bad = 1',
        "rule = [{decision = 'deny', bad = 1}]",
    ],
)
def test_no_line_is_told_where_it_could_be_a_wrong_one(text: str) -> None:
    ((line, message),) = problems(text)

    assert line is None
    assert message.startswith("There is no key `bad` in rule ")


HOSTILE = {
    "ten megabytes": "# x\n" * 2_500_000,
    "deep": f"rule = {'[' * 5_000}{']' * 5_000}",
    "nested tables": "\n".join(f"[{'.'.join('a' * depth)}]" for depth in range(1, 60)),
    "dotted": f"{'.'.join('a' * 400)} = 1",
    "not toml": "[[rule]\n",
    "many": f"a = [{'1,' * 30_000}]",
    "not text": "\udcff",
}


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_refused_in_words(case: str, tmp_path: Path) -> None:
    file = tmp_path / POLICY_FILE
    file.write_bytes(HOSTILE[case].encode(errors="surrogateescape"))

    with pytest.raises(ConfigError) as refused:
        read_policy(file)

    assert POLICY_FILE in refused.value.message
    assert len(refused.value.message) < 5_000


def test_a_text_that_is_no_toml_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="is not TOML"):
        parse_policy("[[rule]\n")


def test_deep_values_are_refused_in_a_text_as_well() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        parse_policy(f"rule = {'[' * 40}{']' * 40}")


@pytest.mark.parametrize("kind", ["missing", "directory"])
def test_a_file_that_is_none_is_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / POLICY_FILE
    if kind == "directory":
        file.mkdir()

    with pytest.raises(ConfigError, match=r"is not (there|a file)"):
        read_policy(file)


class Edited:
    """A policy file that somebody edits while it is in use."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / POLICY_FILE
        self.clock = FakeClock()

    def write(self, text: str) -> None:
        draft = self.file.with_suffix(".draft")
        draft.write_text(text, "utf-8")
        draft.replace(self.file)

    def open(self, **options: Any) -> PolicySource:
        return PolicySource(self.file, clock=self.clock, **options)

    async def later(self, opened: PolicySource, seconds: float = 1.0) -> str:
        await self.clock.advance(seconds)
        return opened.current().judge(subject(risk=UNKNOWN)).decision


@pytest.fixture
async def edited(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


@pytest.mark.req("GW-8.3")
async def test_an_edit_counts_within_a_second(edited: Edited) -> None:
    edited.write(DENY)
    opened = edited.open()
    assert await edited.later(opened, 0) == "deny"

    edited.write(ALLOW)

    assert await edited.later(opened, 0.5) == "deny"
    assert await edited.later(opened, 0.5) == "allow"


async def test_a_file_that_did_not_change_is_not_read_again(edited: Edited) -> None:
    edited.write(DENY)
    opened = edited.open()
    before = opened.current()
    await edited.clock.advance(5)

    assert opened.current() is before


async def test_a_broken_edit_keeps_the_rules_before_and_is_logged_once(
    edited: Edited, caplog: pytest.LogCaptureFixture
) -> None:
    edited.write(DENY)
    opened = edited.open()
    edited.write("[[rule]]\ndecision = 'dney'\n")

    with caplog.at_level(logging.WARNING, "toolcrib.mcp"):
        assert [await edited.later(opened) for _ in range(3)] == ["deny"] * 3

    assert [each.getMessage().partition(";")[0] for each in caplog.records] == [
        f"the policy `{POLICY_FILE}` was changed and cannot be used"
    ]
    edited.write(ALLOW)
    assert await edited.later(opened) == "allow"


async def test_a_file_that_disappears_keeps_its_rules_and_is_logged_once(
    edited: Edited, caplog: pytest.LogCaptureFixture
) -> None:
    edited.write(DENY)
    opened = edited.open()
    edited.file.unlink()

    with caplog.at_level(logging.WARNING, "toolcrib.mcp"):
        assert [await edited.later(opened) for _ in range(3)] == ["deny"] * 3

    assert [each.getMessage() for each in caplog.records] == [
        f"the policy `{POLICY_FILE}` is gone; the rules that it had are kept"
    ]


async def test_a_file_that_is_made_later_counts_from_then_on(edited: Edited) -> None:
    opened = edited.open()
    assert await edited.later(opened) == "ask"

    edited.write(DENY)

    assert await edited.later(opened) == "deny"


def test_a_broken_file_is_an_error_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / POLICY_FILE
    file.write_text("[[rule]]\n", "utf-8")

    with pytest.raises(ConfigError, match="Rule 1 has no `decision`"):
        PolicySource(file)


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not there"):
        PolicySource(tmp_path / "named.toml", required=True)


def test_a_file_that_cannot_be_looked_at_is_an_error_and_not_the_default(tmp_path: Path) -> None:
    file = tmp_path / POLICY_FILE
    file.symlink_to(file)

    with pytest.raises(ConfigError, match="cannot be read"):
        PolicySource(file)


@pytest.mark.parametrize(
    ("path", "named", "expected"),
    [
        (None, None, None),
        ("/etc/crib/mcp.json", None, f"/etc/crib/{POLICY_FILE}"),
        ("/etc/crib/mcp.json", "rules/ours.toml", "/etc/crib/rules/ours.toml"),
        ("/etc/crib/mcp.json", "/srv/ours.toml", "/srv/ours.toml"),
        (None, "ours.toml", "ours.toml"),
    ],
)
def test_the_file_lies_beside_the_configuration_unless_that_says_otherwise(
    path: str | None, named: str | None, expected: str | None
) -> None:
    settings = GatewaySettings(policy=named)
    config = GatewayConfig(servers={}, settings=settings, path=None if path is None else Path(path))

    assert policy_path(config) == (None if expected is None else Path(expected))


def test_the_home_of_the_user_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    config = GatewayConfig(servers={}, settings=GatewaySettings(policy="~/ours.toml"), path=Path("/etc/mcp.json"))

    assert policy_path(config) == tmp_path / "ours.toml"


def test_the_source_of_a_configuration_requires_the_file_that_it_names(tmp_path: Path) -> None:
    place = tmp_path / "mcp.json"

    assert PolicySource.of(GatewayConfig(servers={}, path=place)).current().default == "by-risk"
    with pytest.raises(ConfigError, match="is not there"):
        PolicySource.of(GatewayConfig(servers={}, path=place, settings=GatewaySettings(policy="ours.toml")))


def test_a_policy_without_a_file_stays_as_it_is() -> None:
    allowing = Policy.allowing()

    assert PolicySource.fixed(allowing).current() is allowing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '[[rule]]\ndecision = "deny"\nserver = "githib"',
            ["rule 1 (line 1) is for the server `githib`, and no server has that name. Was `github` meant?"],
        ),
        (
            '[[limit]]\ncalls = 1\nper = "day"\nserver = "zz*"',
            ["limit 1 (line 1) is for the server `zz*`, and no server has that name. There are `files`, `github`."],
        ),
        (
            '[[rule]]\ndecision = "deny"\nrisk = "destructive"',
            [f"rule 1 (line 1) {NOT_ABOUT_UNKNOWN}"],
        ),
        ('[[rule]]\ndecision = "allow"\nrisk = "write"', []),
        (f"{DENY}{DENY}", ["rule 2 (line 3) says the same as rule 1 (line 1)."]),
        (
            f"{DENY}{ALLOW}",
            ["rule 2 (line 3) and rule 1 (line 1) are about the same calls. The stricter one counts, in any order."],
        ),
        (WHOLE, []),
    ],
)
def test_what_its_author_may_not_expect_is_remarked(text: str, expected: list[str]) -> None:
    assert list(remarks_on(parse_policy(text), ["github", "files"])) == expected


def test_without_servers_none_is_listed() -> None:
    remarks = remarks_on(parse_policy('[[rule]]\ndecision = "deny"\nserver = "x"'), [])

    assert remarks == ("rule 1 (line 1) is for the server `x`, and no server has that name.",)
