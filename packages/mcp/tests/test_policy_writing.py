"""Adding rules to a policy file: comments stay, the file is whole at any time, and nothing unusable is written."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import POLICY_FILE, RuleEntry, append_rule, parse_policy, read_policy, rule_text
from toolcrib_mcp.policy.writing import HEADER


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / POLICY_FILE


def deny(**fields: str) -> RuleEntry:
    return RuleEntry(decision="deny", **fields)  # type: ignore[arg-type]  # texts only


@pytest.mark.req("GW-8.3")
def test_a_file_is_made_with_a_header_that_explains_it(file: Path) -> None:
    policy, rule = append_rule(file, deny(server="github", tool="delete_*", reason='He said "no".'))

    text = file.read_text("utf-8")
    assert text == (
        HEADER + '\n[[rule]]\ndecision = "deny"\nserver = "github"\ntool = "delete_*"\nreason = "He said \\"no\\"."\n'
    )
    assert policy.rules == (rule,)
    assert rule.line == HEADER.count("\n") + 2
    assert read_policy(file).digest == policy.digest


def test_the_header_is_a_policy_by_itself() -> None:
    assert parse_policy(HEADER).default == "by-risk"


@pytest.mark.req("GW-8.3")
def test_a_rule_is_put_at_the_end_and_every_comment_stays(file: Path) -> None:
    before = '# ours, do not touch\ndefault = "deny"  # really\n\n[[limit]]\ncalls = 1 # one\nper = "day"'
    file.write_text(before, "utf-8")

    append_rule(file, RuleEntry(decision="allow", risk=("read", "none")))

    assert file.read_text("utf-8") == f'{before}\n\n[[rule]]\ndecision = "allow"\nrisk = ["read", "none"]\n'


def test_permissions_and_links_stay(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "real.toml"
    target.write_text("", "utf-8")
    target.chmod(0o640)
    file.symlink_to(target)

    append_rule(file, deny())

    assert file.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert len(read_policy(target).rules) == 1


@pytest.mark.parametrize(
    "before",
    ["[[rule]]\ndecision = 'dney'\n", "[[rule]\n", 'rule = [{decision = "deny"}]\n', f"#{'x' * 65_500}\n"],
)
def test_a_file_that_is_not_usable_before_or_after_stays_as_it_is(file: Path, before: str) -> None:
    file.write_text(before, "utf-8")

    with pytest.raises(ConfigError):
        append_rule(file, deny(server="github"))

    assert file.read_text("utf-8") == before
    assert [each.name for each in file.parent.iterdir()] == [POLICY_FILE]


def test_where_rules_are_written_in_a_list_the_hint_has_what_to_put_there(file: Path) -> None:
    file.write_text('rule = [{decision = "ask"}]\n', "utf-8")

    with pytest.raises(ConfigError) as refused:
        append_rule(file, deny(server="github"))

    assert refused.value.hint is not None
    assert refused.value.hint.endswith('{decision = "deny", server = "github"}')


def test_what_is_not_text_is_refused(file: Path) -> None:
    entry = RuleEntry.model_construct(
        decision="deny", server="\udcff", tool=None, principal=None, risk=None, reason=None
    )

    with pytest.raises(ConfigError, match="not text"):
        append_rule(file, entry)

    assert not file.exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        append_rule(tmp_path / "nowhere" / POLICY_FILE, deny())


def test_a_write_that_fails_leaves_no_draft(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("# before\n", "utf-8")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(ConfigError, match="No space left"):
        append_rule(file, deny())

    assert file.read_text("utf-8") == "# before\n"
    assert [each.name for each in file.parent.iterdir()] == [POLICY_FILE]


def test_of_rules_that_are_added_at_once_none_is_lost(file: Path) -> None:
    threads = [threading.Thread(target=append_rule, args=(file, deny(tool=f"t{number}"))) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert {rule.entry.tool for rule in read_policy(file).rules} == {f"t{number}" for number in range(20)}


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(texts, texts, texts)
@settings(max_examples=200, deadline=None)
def test_any_text_comes_back_as_it_was(server: str, tool: str, reason: str) -> None:
    entry = deny(server=server, tool=tool, reason=reason)

    (read,) = parse_policy(rule_text(entry)).rules

    assert read.entry == entry
