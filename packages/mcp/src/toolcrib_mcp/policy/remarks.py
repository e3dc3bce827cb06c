"""What the author of a policy may not expect of it, though nothing of it is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_mcp.policy.rules import Policy, PolicyRule
from toolcrib_mcp.policy.subjects import matcher


def remarks_on(policy: Policy, servers: Collection[str]) -> tuple[str, ...]:
    """What is odd about a policy, for a configuration with these servers; one sentence or two each."""
    return (*_about_servers(policy, servers), *_about_unknown(policy), *_about_order(policy))


def _about_servers(policy: Policy, servers: Collection[str]) -> Iterator[str]:
    """A rule for a server that does not exist looks like one that does something."""
    entries = [(rule.name, rule.entry.server) for rule in policy.rules]
    entries += [(each.name, each.entry.server) for each in (*policy.limits, *policy.budgets)]
    for name, pattern in entries:
        if pattern is None or any(map(matcher(pattern), servers)):
            continue
        meant = nearest(pattern, servers)
        hint = f"Was {quoted(meant)} meant?" if meant else f"There are {listed(sorted(servers))}."
        fits = f"{name} is for the server {quoted(pattern)}, and no server has that name."
        yield f"{fits} {hint}" if servers else fits


def _about_unknown(policy: Policy) -> Iterator[str]:
    """Of most servers nobody has said what their tools do, and a rule about destruction alone is not about those."""
    for rule in policy.rules:
        named = set(rule.entry.risk or ())
        if rule.entry.decision != "allow" and named & {"write", "destructive"} and "unknown" not in named:
            yield (
                f"{rule.name} is not about tools of which nobody has said what they do. "
                "Add `unknown` to its `risk` if it should be."
            )


def _about_order(policy: Policy) -> Iterator[str]:
    """An author who expects the first or the last rule to win is in for a surprise."""
    seen: dict[object, PolicyRule] = {}
    for rule in policy.rules:
        same = rule.entry.model_copy(update={"reason": None, "decision": "allow"})
        first = seen.setdefault(same, rule)
        if first is rule:
            continue
        if first.entry.decision == rule.entry.decision:
            yield f"{rule.name} says the same as {first.name}."
        else:
            yield f"{rule.name} and {first.name} are about the same calls. The stricter one counts, in any order."
