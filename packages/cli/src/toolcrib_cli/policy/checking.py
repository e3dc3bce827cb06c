"""`toolcrib policy check`: what is wrong with a file, and what its author may not expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.edge import UNUSABLE
from toolcrib_cli.screen import print_json, say, screen
from toolcrib_core.wording import count
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import Policy, policy_path, read_policy, remarks_on


def check_policy(choice: Choice, file: Path | None, *, as_json: bool) -> int:
    """Print what there is to say about a policy file, and give the exit code.

    Raises:
        ConfigError: The configuration cannot be used, or there is no file.
    """
    # With a file it is about that file, whether there is a configuration or not.
    asked = asked_for(choice, quietly=file is not None)
    path = policy_path(asked.config) if file is None else file
    if path is None or (file is None and asked.config.settings.policy is None and not path.exists()):
        raise ConfigError(
            "There is no policy file here, so calls are judged by risk.",
            hint="Name a file, or make one with `toolcrib policy deny SERVER:TOOL`.",
        )
    try:
        policy = read_policy(path)
    except ConfigError as failure:
        problems = failure.details.get("problems")
        found = [each for each in problems if isinstance(each, dict)] if isinstance(problems, list) else []
        _tell_problems(path, found or [{"message": failure.message, "hint": failure.hint}], as_json=as_json)
        return UNUSABLE
    _tell_remarks(path, policy, remarks_on(policy, list(asked.config.servers)), as_json=as_json)
    return 0


def _tell_problems(path: Path, problems: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(path), "ok": False, "problems": problems, "remarks": []})
        return
    console = screen()
    for each in problems:
        where = f"{path.name}, line {each['line']}" if each.get("line") else path.name
        say(console, f"{where}: {' '.join(filter(None, (each['message'], each.get('hint'))))}")


def _tell_remarks(path: Path, policy: Policy, remarks: tuple[str, ...], *, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(path), "ok": True, "problems": [], "remarks": list(remarks)})
        return
    console = screen()
    for each in remarks:
        say(console, f"note: {each}")
    parts = {"rule": policy.rules, "limit": policy.limits, "budget": policy.budgets}
    say(console, f"{path.name} can be used: {', '.join(count(len(found), what) for what, found in parts.items())}.")
