"""`toolcrib policy explain`: whether a tool may run, which rules say so, and what would change it."""

from __future__ import annotations

import asyncio
import glob
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolcrib_cli.asking import Choice, tell_warnings, usable_state
from toolcrib_cli.call_command import resolve
from toolcrib_cli.policy.opening import ChosenPolicy, chosen_policy
from toolcrib_cli.policy.showing import DEFAULTS, rule_json, scope_words
from toolcrib_cli.policy.subjects import subject_of
from toolcrib_cli.screen import print_json, say, screen, tell, working
from toolcrib_cli.session import open_hub, run
from toolcrib_core import ResolutionError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.policy import CONFIGURATION, DEFAULT, PolicyJudgement, PolicyRule, PolicySubject
from toolcrib_mcp.safeguards.call import LOCAL

if TYPE_CHECKING:
    from toolcrib_core import ToolRisk
    from toolcrib_mcp.hub import Hub

_VERBS: Final = {"allow": "may run", "ask": "needs somebody's approval", "deny": "may not run"}


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
            "default": self.chosen.policy.default,
            "risk": {
                "effects": risk.effects,
                "destructive": risk.destructive,
                "requiresApproval": risk.requires_approval,
                "source": self.risk_source,
            },
            "file": None if self.chosen.file is None else str(self.chosen.file),
            "changes": list(self.changes()),
        }

    def show(self) -> None:
        """For people."""
        console, judgement = screen(), self.judgement
        say(console, f"{self.subject.tool_id} {_VERBS[judgement.decision]}: {judgement.reason}.", style="bold")
        say(console, f"Decided by: {judgement.rule}. Asked for: {self.subject.principal}.")
        say(console, f"Risk: {_risk_words(self.subject.risk)}; {self.risk_source}.")
        for rule in self.matching:
            say(console, f"{rule.name}: {rule.entry.decision} {scope_words(rule.entry)}")
        if not self.matching:
            say(console, f"No rule is about it. {DEFAULTS[self.chosen.policy.default]}")
        for each in self.changes():
            say(console, f"To change it: {each}")

    def changes(self) -> Iterator[str]:
        """What would make another decision of it."""
        decision, rule, subject = self.judgement.decision, self.judgement.rule, self.subject
        target = shlex.quote(f"{glob.escape(subject.server)}:{glob.escape(subject.tool)}")
        if decision == "allow":
            yield f"toolcrib policy ask {target}, or toolcrib policy deny {target}"
            return
        if CONFIGURATION in rule:
            yield f"take `requiresApproval` out of the `risk` of {quoted(subject.server)} in the configuration"
        deciding = [each.name for each in self.matching if each.entry.decision == decision]
        if deciding:
            yield f"change {', '.join(deciding)} in {self.chosen.file}"
        if rule == DEFAULT:
            yield f"toolcrib policy allow {target}"
            yield f"toolcrib policy allow {shlex.quote(glob.escape(subject.server))}, which is for all of its tools"
            if decision == "ask" and self.chosen.policy.default == "by-risk" and subject.risk.effects == "unknown":
                yield (
                    f"say what it does by `risk` under `toolcrib.servers` for {quoted(subject.server)}, or set "
                    "`trusted` there if what the server says of its tools is to be believed"
                )


async def _found(hub: Hub, tool: str, *, seconds: float) -> str:
    """The id of the tool; servers whose tools are not known are asked only if it is none of the others.

    Raises:
        ResolutionError: There is no such tool.
    """
    try:
        return resolve(hub.catalog.snapshot(), tool)
    except ResolutionError:
        known = hub.catalog.snapshot().upstreams
        asking = [each for each in hub.servers.values() if each.name not in known]
        if not asking:
            raise
    named = [each.name for each in asking if each.namespace == tool.partition(":")[0]]
    with working("Asking for tools …"):
        await asyncio.gather(*(ask_for_tools(hub, name, seconds) for name in named or [each.name for each in asking]))
    return resolve(hub.catalog.snapshot(), tool)


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
    if settings.risk_of(tool.upstream_name) is not None:
        source = "the configuration says so"
    elif settings.trusted:
        source = "the server says so, and is trusted"
    elif tool.definition.risk.destructive:
        source = "the server is not trusted, and its hints only raise the risk: it says that the tool destroys"
    else:
        source = "the server is not trusted, so that what it says of its tools lowers no risk"
    return Explanation(
        chosen=chosen,
        subject=subject,
        judgement=chosen.policy.judge(subject),
        matching=chosen.policy.matching(subject),
        risk_source=source,
    )


def _risk_words(risk: ToolRisk) -> str:
    words = ["effects unknown" if risk.effects == "unknown" else f"effects {risk.effects}"]
    words += ["destructive"] if risk.destructive else []
    words += ["needs approval"] if risk.requires_approval else []
    return ", ".join(words)
