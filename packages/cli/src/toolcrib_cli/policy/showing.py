"""`toolcrib policy show` and `forget`: rules in their order, remembered answers, and the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.policy.opening import ChosenPolicy, chosen_policy, opened_answers
from toolcrib_cli.screen import print_json, printable, say, screen
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import Answer, CallCount, PolicyRule, RuleEntry

DEFAULTS: Final[Mapping[str, str]] = {
    "by-risk": "Default: a tool runs if its server declares that it only reads, or if the configuration says what it "
    "does and that is not destructive. You are asked about every other tool.",
    "allow": "Default: a call that no rule matches is allowed.",
    "ask": "Default: you are asked about a call that no rule matches.",
    "deny": "Default: a call that no rule matches is denied.",
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
    if policy.answers:
        where = "the shared database" if chosen.answers_path is None else chosen.answers_path.name
        say(console, f"Remembered answers ({where}); to take one back: toolcrib policy forget ID", style="bold")
    for answer in policy.answers:
        say(console, answer_words(answer), style=_STYLES[answer.decision])
    if chosen.file is None and console.is_terminal:
        say(console, "Next: toolcrib policy allow SERVER, or toolcrib policy deny SERVER:TOOL", style="dim")


def forget(choice: Choice, names: Sequence[str], *, every: bool, as_json: bool) -> None:
    """Take remembered answers back, and print them: by id, by `SERVER[:TOOL]`, or all.

    Raises:
        ConfigError: No answer is called that, or the answers cannot be written.
        StoreError: The database that replicas share failed.
    """
    asked = asked_for(choice, quietly=True)
    with opened_answers(asked) as answers:
        known = answers.current()
        unknown = [name for name in names if not any(_is_meant(each, name) for each in known)]
        if unknown or not (names or every):
            message = f"No remembered answer is called {quoted(unknown[0])}." if unknown else "Name an answer."
            raise ConfigError(message, hint="`toolcrib policy show` lists them; `--all` takes all of them back.")
        gone = answers.remove(lambda each: every or any(_is_meant(each, name) for name in names))
    if as_json:
        print_json({"forgotten": [answer_json(each) for each in gone]})
        return
    console = screen()
    for answer in gone:
        say(console, f"forgotten: {answer_words(answer)}")
    if not gone:
        say(console, "No answers are remembered.")


def answer_words(answer: Answer) -> str:
    """A remembered answer in a line."""
    about = f"server={_word(answer.server)}" + ("" if answer.tool is None else f" tool={_word(answer.tool)}")
    ceiling = f", up to risk {answer.risk}" if answer.decision == "allow" else ""
    return printable(f"{answer.name}: {answer.decision} {about} principal={_word(answer.principal)}{ceiling}")


def answer_json(answer: Answer) -> dict[str, Any]:
    """A remembered answer for programs."""
    return answer.model_dump(mode="json", exclude_none=True)


def _is_meant(answer: Answer, name: str) -> bool:
    place = answer.server if answer.tool is None else f"{answer.server}:{answer.tool}"
    return name.upper() == answer.id or name == place


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
        "answers": [answer_json(each) for each in policy.answers],
        "digest": policy.digest,
    }


def _count_json(count: CallCount) -> dict[str, Any]:
    return {"name": count.name, **count.entry.model_dump(mode="json", exclude_none=True)}
