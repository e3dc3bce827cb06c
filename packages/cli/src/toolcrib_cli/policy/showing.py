"""`toolcrib policy show`: the rules in their order, and what happens where none is about a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_cli.asking import Choice
from toolcrib_cli.policy.opening import ChosenPolicy, chosen_policy
from toolcrib_cli.screen import print_json, say, screen
from toolcrib_mcp.policy import CallCount, PolicyRule, RuleEntry

DEFAULTS: Final[Mapping[str, str]] = {
    "by-risk": "What no rule is about is judged by risk: what reads or writes is allowed, and somebody is asked about "
    "what may destroy, or of which nobody has said what it does.",
    "allow": "What no rule is about is allowed.",
    "ask": "What no rule is about needs somebody's approval.",
    "deny": "What no rule is about is denied.",
}
_STYLES: Final = {"allow": "green", "ask": "yellow", "deny": "red"}


def show_policy(choice: Choice, *, as_json: bool) -> None:
    """Print the policy of a catalogue.

    Raises:
        ConfigError: It cannot be used.
    """
    chosen = chosen_policy(choice)
    if as_json:
        print_json(_told(chosen))
    else:
        _show(chosen)


def scope_words(entry: RuleEntry) -> str:
    """What a rule is about, in the words of the file."""
    fields = {
        "server": entry.server,
        "tool": entry.tool,
        "risk": "|".join(entry.risk or ()),
        "principal": entry.principal,
    }
    return " ".join(f"{name}={_word(value)}" for name, value in fields.items() if value) or "everything"


def rule_json(rule: PolicyRule) -> dict[str, Any]:
    """A rule for programs."""
    told = {"number": rule.number, "line": rule.line, **rule.entry.model_dump(mode="json")}
    return {name: value for name, value in told.items() if value is not None}


def _show(chosen: ChosenPolicy) -> None:
    console, policy = screen(), chosen.policy
    if chosen.file is None:
        say(console, "There is no policy file.")
    else:
        say(console, str(chosen.file), style="bold")
    for rule in policy.rules:
        say(
            console, f"{rule.name}: {rule.entry.decision} {scope_words(rule.entry)}", style=_STYLES[rule.entry.decision]
        )
        if rule.entry.reason:
            say(console, rule.entry.reason, indent=4)
    for each in (*policy.limits, *policy.budgets):
        say(console, f"{each.name}: {_count_words(each)}")
    say(console, DEFAULTS[policy.default])
    if chosen.file is None and console.is_terminal:
        say(console, "Next: toolcrib policy allow SERVER, or toolcrib policy deny SERVER:TOOL", style="dim")


def _word(value: str) -> str:
    return f'"{value}"' if " " in value else value


def _count_words(count: CallCount) -> str:
    fields = count.entry.model_dump(include={"server", "tool", "principal"}, exclude_none=True)
    about = "".join(f" {name}={_word(value)}" for name, value in fields.items())
    each = " and ".join(dict.fromkeys(count.entry.each))
    return f"{count}{about}, {f'for each {each}' if each else 'for all together'}"


def _told(chosen: ChosenPolicy) -> dict[str, Any]:
    policy = chosen.policy
    return {
        "file": None if chosen.file is None else str(chosen.file),
        "default": policy.default,
        "rules": [rule_json(rule) for rule in policy.rules],
        "limits": [_count_json(each) for each in policy.limits],
        "budgets": [_count_json(each) for each in policy.budgets],
        "digest": policy.digest,
    }


def _count_json(count: CallCount) -> dict[str, Any]:
    return {"name": count.name, **count.entry.model_dump(mode="json", exclude_none=True)}
