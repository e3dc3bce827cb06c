"""`toolcrib policy allow|ask|deny`: one more rule at the end of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from pydantic import ValidationError

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.policy.showing import rule_json, scope_words
from toolcrib_cli.screen import print_json, say, screen, tell
from toolcrib_cli.toolpack.grants import SERVER_NAME
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import RuleEntry, append_rule, policy_path, remarks_on
from toolcrib_mcp.policy.model import RiskName

if TYPE_CHECKING:
    from pathlib import Path

    from toolcrib_cli.wiring import Asked
    from toolcrib_mcp.config import ServerConfig
    from toolcrib_runtime import Decision


def add_rule(
    choice: Choice,
    decision: Decision,
    target: str,
    *,
    reason: str | None,
    risks: Sequence[str],
    principal: str | None,
    as_json: bool,
) -> None:
    """Add a rule to the policy of a configuration, whose file is made if need be, and print it.

    Raises:
        ConfigError: There is no configuration, or the file or the rule cannot be used.
    """
    asked = asked_for(choice, quietly=True)
    path = policy_file(asked)
    server, tool = split_target(target, asked.config.servers, by_id=bool(asked.toolpacks))
    named = tuple(each for each in get_args(RiskName) if each in set(risks))
    try:
        entry = RuleEntry(
            decision=decision, server=server, tool=tool, risk=named or None, principal=principal, reason=reason
        )
    except ValidationError as failure:
        wrong = str(failure.errors()[0]["loc"][0])
        raise ConfigError(f"The {wrong} of the rule is empty or too long.") from None
    policy, rule = append_rule(path, entry)
    if as_json:
        print_json({"file": str(path), "rule": rule_json(rule)})
    else:
        say(screen(), f"{path.name}, {rule.name}: {decision} {scope_words(rule.entry)}")
    for each in remarks_on(policy, list(asked.config.servers)):
        if each.startswith(f"{rule.name} "):
            tell(f"note: {each}")


def policy_file(asked: Asked) -> Path:
    """Where the policy of a configuration lies, or would.

    Raises:
        ConfigError: There is no configuration.
    """
    path = policy_path(asked.config)
    if path is None:
        raise ConfigError(
            "There is no configuration here that a policy could be for.",
            hint="Name one with `--config`, or make one with `toolcrib init`.",
        )
    return path


def split_target(
    target: str, servers: Mapping[str, ServerConfig], *, by_id: bool = False
) -> tuple[str | None, str | None]:
    """The server and the tool of `SERVER[:TOOL]`, or of the id of a tool in another form.

    The namespace of a server's ids is as good as its name. With `by_id` what names none of the servers is the id of a
    tool of another one, as `tracker:create_issue`.

    Raises:
        ConfigError: The one or the other is empty.
    """
    if target in servers:
        return target, None
    names = {*servers, *(each.namespace for each in servers.values())}
    mark = next((each for each in (":", "/", "__", ".") if target.partition(each)[0] in names), ":")
    name, colon, tool = target.partition(mark)
    if not name or (colon and not tool):
        raise ConfigError(
            f"{quoted(target)} names no server, or no tool behind the `:`.",
            hint="Write `SERVER`, `SERVER:TOOL` or `*:TOOL`.",
        )
    by_namespace = {each.namespace: each.name for each in servers.values()}
    server = name if name in servers else by_namespace.get(name, name)
    # The version and the hash of an id are for one definition; a rule is for the tool.
    if by_id and name not in {*names, "*", SERVER_NAME} and (colon or "." in name):
        namespace, _, rest = target.replace(".", ":", 0 if colon else 1).partition(":")
        return None, f"{namespace}:{rest.partition('@')[0].partition('#')[0]}"
    return (None if server == "*" else server), (tool.partition("@")[0].partition("#")[0] or None)
