"""`toolcrib toolpack plan`: what a call would do and what models would see, without running or reaching anything."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from toolcrib_cli.call_arguments import read_arguments
from toolcrib_cli.screen import print_json, say, screen
from toolcrib_cli.toolpack.grants import Grants
from toolcrib_cli.toolpack.loading import load_tool
from toolcrib_cli.toolpack.showing import risk_json
from toolcrib_core import ToolError, count_tokens, validate_arguments
from toolcrib_core.json_values import thaw
from toolcrib_core.wording import count, shown
from toolcrib_toolpacks import Toolpack, plan_of

_ADAPTERS: Final[Mapping[str, tuple[str, str]]] = {
    "openai": ("toolcrib_openai", "to_openai_tools"),
    "anthropic": ("toolcrib_anthropic", "to_anthropic_tools"),
    "gemini": ("toolcrib_gemini", "to_gemini_tools"),
    "claude-agent": ("toolcrib_claude_agent", "to_claude_agent_tools"),
}


def run_plan(
    tool: str, pairs: Sequence[str], args: str | None, *, folders: Sequence[Path], grants: Grants, as_json: bool
) -> None:
    """Print the plan of a call.

    Raises:
        ToolError: There is no such tool, the arguments are not valid, or the call would be refused.
        BadParameter: The arguments cannot be read.
    """
    pack = load_tool(tool, folders)
    arguments = arguments_for(pack, pairs, args)
    plan = plan_of(pack, validate_arguments(pack.definition, arguments), settings=grants.settings())
    told = {**plan.to_dict(), "risk": risk_json(pack), "arguments": arguments}
    forms = provider_forms(pack)
    if as_json:
        print_json({**told, "providers": forms})
    else:
        _show(told, forms)


def arguments_for(pack: Toolpack, pairs: Sequence[str], args: str | None) -> dict[str, Any]:
    """The arguments that were given; none at all stand for those of the first example.

    Raises:
        BadParameter: They cannot be read.
    """
    if pairs or args is not None:
        return read_arguments(pairs, args, pack.input_schema)
    first = next((each.input for each in pack.examples if each.error is None), {})
    example: dict[str, Any] = thaw(first)
    return example


def provider_forms(pack: Toolpack) -> dict[str, Any]:
    """The tool as each provider's API takes it, by provider; those whose adapter is not installed are left out."""
    forms: dict[str, Any] = {}
    for name, (module, function) in _ADAPTERS.items():
        if find_spec(module) is None:
            continue
        try:
            made = getattr(import_module(module), function)([pack.definition])
        except ToolError as failure:
            forms[name] = {"error": failure.to_dict()}
            continue
        lost = [line for report in made.losses.values() for line in report.lines()]
        forms[name] = {"tools": _plain(made.tools), "lost": lost}
    return forms


def _plain(value: Any) -> Any:
    # An adapter may give its vendor's own objects, where these are what its API takes.
    return json.loads(json.dumps(value, default=lambda each: each.model_dump(mode="json", exclude_none=True)))


def _show(told: Mapping[str, Any], forms: Mapping[str, Any]) -> None:
    console = screen()
    say(console, f"{told['tool']} ({told['kind']}, {told['way']})", style="bold")
    if "url" in told:
        say(console, f"request: {told['method']} {told['url']}")
        say(console, f"headers: {_names(told['headers'])}")
    else:
        say(console, f"command: {shlex.join(told['argv'])}")
        say(console, f"may read: {_names(told['reads'])}")
        say(console, f"may write: {_names(told['writes'])}")
    if told["body"] is not None:
        say(console, f"{'body' if 'url' in told else 'standard input'}: {shown(told['body'])}")
    say(console, f"folder: {told['folder']}")
    say(console, f"variables: {_names([_variable(name, told['ungranted']) for name in told['env']])}")
    say(console, f"network: {told['network']}; children: {told['children']}")
    limits = f"{told['timeoutMs']:,} ms, {told['maxInputBytes']:,} bytes in, {told['maxOutputBytes']:,} bytes out"
    say(console, f"limits: {limits}; {'remembered' if told['cached'] else 'not remembered'}")
    say(console, f"risk: {json.dumps(told['risk'])}")
    for name, form in forms.items():
        if "error" in form:
            say(console, f"{name}: {form['error']['message']}")
            continue
        tokens = count_tokens(json.dumps(form["tools"], ensure_ascii=False))
        lost = f"; {count(len(form['lost']), 'thing')} that it cannot say" if form["lost"] else ""
        say(console, f"{name}: {count(tokens, 'token')}{lost}")
    say(console, "Nothing was run. `--json` shows the forms of the providers in full.")


def _variable(name: str, ungranted: Sequence[str]) -> str:
    return f"{name} (a call needs `--grant-env {name}`)" if name in ungranted else name


def _names(texts: Sequence[str]) -> str:
    return ", ".join(texts) if texts else "none"
