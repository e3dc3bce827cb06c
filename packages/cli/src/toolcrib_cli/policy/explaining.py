"""`toolcrib policy explain`: whether a tool may run, which rules say so, and what would change it."""

from __future__ import annotations

import asyncio
import glob
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolcrib_cli.asking import Choice, tell_warnings, usable_state
from toolcrib_cli.policy.opening import ChosenPolicy, chosen_policy
from toolcrib_cli.policy.showing import DEFAULTS, answer_json, answer_words, rule_json, scope_words
from toolcrib_cli.policy.subjects import subject_of
from toolcrib_cli.screen import print_json, printable, say, screen, tell, working
from toolcrib_cli.session import open_hub, run
from toolcrib_core import ResolutionError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.policy import DEFAULT, REQUIRES_APPROVAL, SCAN, PolicyJudgement, PolicyRule, PolicySubject
from toolcrib_mcp.safeguards.call import LOCAL

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import Declared
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.policy import Answer

_VERBS: Final = {"allow": "runs", "ask": "needs your approval", "deny": "does not run"}
_DECLARES: Final[Mapping[Declared, str]] = {
    "nothing": "its server does not declare what it does",
    "read": "its server declares that it only reads",
    "write": "its server declares that it writes",
    "destructive": "its server declares it destructive",
}


def explain_tool(choice: Choice, tool: str, *, principal: str | None, timeout: float, as_json: bool) -> None:
    """Print what the policy of a catalogue says about a tool, and why.

    Raises:
        ToolError: The catalogue or its policy cannot be used, or there is no such tool.
    """
    chosen = chosen_policy(choice)
    tell_warnings(chosen.asked)
    state = usable_state(chosen.asked, named=choice.state_dir is not None)

    async def work() -> Explanation:
        async with open_hub(chosen.asked, state=state) as hub:
            tool_id = await _found(hub, tool, seconds=timeout)
            return _explained(hub, chosen, tool_id, principal=principal or LOCAL)

    explanation = run(work())
    if as_json:
        print_json(explanation.to_json())
    else:
        explanation.show()


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a policy says about a tool, and all that it goes by."""

    chosen: ChosenPolicy
    subject: PolicySubject
    judgement: PolicyJudgement
    matching: tuple[PolicyRule, ...]
    answers: tuple[Answer, ...]
    risk_source: str
    """Who says what the tool may do."""

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        risk = self.subject.risk
        return {
            "tool": self.subject.tool_id,
            "server": self.subject.server,
            "principal": self.subject.principal,
            "decision": self.judgement.decision,
            "reason": self.judgement.reason,
            "rule": self.judgement.rule,
            "matching": [rule_json(rule) for rule in self.matching],
            "answers": [answer_json(each) for each in self.answers],
            "default": self.chosen.policy.default,
            "risk": {
                "effects": risk.effects,
                "destructive": risk.destructive,
                "requiresApproval": risk.requires_approval,
                "declared": self.subject.declared,
                "class": self.subject.risk_class,
                "source": self.risk_source,
            },
            "flags": list(self.subject.flags),
            "file": None if self.chosen.file is None else str(self.chosen.file),
            "changes": list(self.changes()),
        }

    def show(self) -> None:
        """For people."""
        console, judgement = screen(), self.judgement
        say(console, f"{self.subject.tool_id} {_VERBS[judgement.decision]}: {judgement.reason}.", style="bold")
        say(console, f"Decided by: {judgement.rule}. Caller: {self.subject.principal}.")
        say(console, f"Risk: {_risk_words(self.subject)}; {self.risk_source}.")
        for flag in self.subject.flags:
            say(console, f"The scan flags it: {printable(flag)}")
        for rule in self.matching:
            say(console, f"{rule.name}: {rule.entry.decision} {scope_words(rule.entry)}")
        for answer in self.answers:
            say(console, answer_words(answer))
        if not self.matching:
            say(console, f"No rule matches. {DEFAULTS[self.chosen.policy.default]}")
        for each in self.changes():
            say(console, f"To change it: {each}")

    def changes(self) -> Iterator[str]:
        """What would make another decision of it."""
        decision, rule, subject = self.judgement.decision, self.judgement.rule, self.subject
        target = shlex.quote(f"{glob.escape(subject.server)}:{glob.escape(subject.tool)}")
        deciding_answers = [each for each in self.answers if each.name in rule]
        yield from (f"toolcrib policy forget {each.id}" for each in deciding_answers)
        if decision == "allow":
            yield f"toolcrib policy ask {target}, or toolcrib policy deny {target}"
            return
        if REQUIRES_APPROVAL in rule:
            yield f"set `requiresApproval` to false for it in the `risk` of {quoted(subject.server)} (configuration)"
        if SCAN in rule:
            yield f"toolcrib policy allow {target}, after a look at its description"
        deciding = [each.name for each in self.matching if each.entry.decision == decision]
        if deciding:
            yield f"change {', '.join(deciding)} in {self.chosen.file}"
        if rule == DEFAULT:
            yield f"toolcrib policy allow {target}"
            yield f"toolcrib policy allow {shlex.quote(glob.escape(subject.server))}, which is for all of its tools"


async def _found(hub: Hub, tool: str, *, seconds: float) -> str:
    """The id of the tool; servers whose tools are not known are asked only if it is none of the others.

    Raises:
        ResolutionError: There is no such tool.
    """
    try:
        return hub.catalog.resolve(tool)
    except ResolutionError:
        known = hub.catalog.snapshot().upstreams
        asking = [each for each in hub.servers.values() if each.name not in known]
        if not asking:
            raise
    named = [each.name for each in asking if each.namespace == tool.partition(":")[0]]
    with working("Asking for tools …"):
        await asyncio.gather(*(ask_for_tools(hub, name, seconds) for name in named or [each.name for each in asking]))
    return hub.catalog.resolve(tool)


async def ask_for_tools(hub: Hub, name: str, seconds: float) -> None:
    """Ask a server for its tools; that it cannot be asked is told, and it is left out."""
    try:
        await hub.tools(name, timeout=seconds)
    except GatewayError as failure:
        tell(f"warning: The server {quoted(name)} is left out: {failure.message} See `toolcrib doctor`.")


def _explained(hub: Hub, chosen: ChosenPolicy, tool_id: str, *, principal: str) -> Explanation:
    tool = hub.catalog.snapshot().hydrate(tool_id)
    settings = hub.servers[tool.upstream].settings
    subject = subject_of(hub, tool, principal=principal)
    source = _DECLARES[tool.declared]
    if settings.risk_of(tool.upstream_name) is not None:
        source = f"the configuration says so, and {source}"
    elif settings.trusted:
        source = f"{source}, and is trusted"
    return Explanation(
        chosen=chosen,
        subject=subject,
        judgement=chosen.policy.judge(subject),
        matching=chosen.policy.matching(subject),
        answers=chosen.policy.matching_answers(subject),
        risk_source=source,
    )


def _risk_words(subject: PolicySubject) -> str:
    risk = subject.risk
    words: list[str] = [subject.risk_class]
    words += ["requires approval"] if risk.requires_approval else []
    return ", ".join(words)
