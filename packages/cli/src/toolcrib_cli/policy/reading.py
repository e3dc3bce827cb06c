"""`toolcrib policy allow --read-only`: a rule for each tool whose server says that it only reads."""

from __future__ import annotations

import asyncio
import glob
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from toolcrib_cli.asking import Choice, tell_warnings, usable_state
from toolcrib_cli.policy.adding import policy_file, split_target
from toolcrib_cli.policy.explaining import ask_for_tools
from toolcrib_cli.policy.opening import chosen_policy
from toolcrib_cli.policy.showing import rule_json
from toolcrib_cli.policy.subjects import subject_of
from toolcrib_cli.screen import print_json, say, screen, working
from toolcrib_cli.session import open_hub, run
from toolcrib_core.wording import count
from toolcrib_mcp.policy import RuleEntry, append_rule

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import HydrationResult
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.policy import Policy


def allow_reading(
    choice: Choice, target: str, *, reason: str | None, principal: str | None, timeout: float, as_json: bool
) -> None:
    """Add a rule for each tool that is asked about though its server says that it only reads, and print them.

    A rule names its tool, so that one which a server brings later is asked about; pins withhold one that changes.

    Raises:
        ToolError: There is no configuration, or it or its policy cannot be used.
    """
    chosen = chosen_policy(choice)
    path = policy_file(chosen.asked)
    tell_warnings(chosen.asked)
    server, pattern = split_target(target, chosen.asked.config.servers)
    state = usable_state(chosen.asked, named=choice.state_dir is not None)

    async def work() -> _Found:
        async with open_hub(chosen.asked, state=state) as hub:
            names = [name for name in hub.servers if server is None or fnmatchcase(name, server)]
            known = hub.catalog.snapshot().upstreams
            with working("Asking for tools …"):
                await asyncio.gather(*(ask_for_tools(hub, name, timeout) for name in names if name not in known))
            return _found(hub, chosen.policy, servers=names, pattern=pattern or "*")

    found = run(work())
    rules = [
        append_rule(
            path,
            RuleEntry(
                decision="allow",
                server=glob.escape(each.upstream),
                tool=glob.escape(each.upstream_name),
                principal=principal,
                reason=reason,
            ),
        )[1]
        for each in found.reading
    ]
    if as_json:
        print_json({"file": str(path), "rules": [rule_json(each) for each in rules], "asked": len(found.others)})
        return
    console = screen()
    for each in found.reading:
        say(console, f"allowed: {each.upstream}:{each.upstream_name}")
    said = f"{path.name}: {count(len(rules), 'rule')} more, for tools whose servers say that they only read."
    say(console, f"{said} Still asked about: {count(len(found.others), 'other tool')}.")


@dataclass(frozen=True, kw_only=True)
class _Found:
    reading: list[HydrationResult]
    others: list[HydrationResult]


def _found(hub: Hub, policy: Policy, *, servers: list[str], pattern: str) -> _Found:
    """The tools that somebody is asked about: those that say they only read, and the others."""
    snapshot = hub.catalog.snapshot()
    tools = [snapshot.hydrate(each) for each in snapshot.ids]
    asked = [
        each
        for each in tools
        if each.upstream in servers
        and fnmatchcase(each.upstream_name, pattern)
        and policy.judge(subject_of(hub, each)).decision == "ask"
    ]
    reading = [each for each in asked if _only_reads(each)]
    return _Found(reading=reading, others=[each for each in asked if each not in reading])


def _only_reads(tool: HydrationResult) -> bool:
    hints = tool.tool.get("annotations")
    return isinstance(hints, dict) and hints.get("readOnlyHint") is True and not hints.get("destructiveHint")
