"""Adding a rule to a policy file: behind what is there, every comment of which stays."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.config.files import TOML_LIMITS, Document
from toolcrib_mcp.config.findings import unusable_file
from toolcrib_mcp.policy.files import lock_folder, replace_file, toml_value
from toolcrib_mcp.policy.model import RuleEntry
from toolcrib_mcp.policy.reading import policy_document, policy_of
from toolcrib_mcp.policy.rules import Policy, PolicyRule

HEADER: Final = """\
# What may run. `toolcrib policy show` prints it, `toolcrib policy explain TOOL` says why a call may run or not.
#
# Every rule is asked: deny counts more than ask, ask more than allow, in any order.
# What no rule is about is for the default: "by-risk", "allow", "ask" or "deny". By risk, a tool runs if its server
# declares that it only reads, or if you say what it does; toolcrib asks about the others, and can remember the answer.

version = 1
default = "by-risk"

# [[limit]]           # how fast calls may come; with `each`, counted apart
# calls = 60
# per = "minute"      # second, minute, hour or day
# each = ["principal", "server"]

# [[budget]]          # how many there may be; a restart refills nothing
# calls = 1000
# per = "day"
"""
"""How a file begins that is made here."""

_FIELDS: Final = ("decision", "server", "tool", "risk", "principal", "reason")


def append_rule(path: Path, entry: RuleEntry) -> tuple[Policy, PolicyRule]:
    """Put a rule at the end of a file, which is made if it is not there; gives the policy with it, and the rule.

    The file is replaced as a whole, once what it will be was read and found to be usable.

    Raises:
        ConfigError: The file cannot be used, as it is or with the rule; it stays as it is.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        with lock_folder(target.parent):
            before = policy_document(target).text if os.path.lexists(target) else HEADER
            document = _with_rule(target, before, entry)
            policy = policy_of(document)
            replace_file(target, document.text, mode=target.stat().st_mode & 0o777 if target.exists() else 0o644)
    except OSError as failure:
        raise unusable_file(path, f"{quoted(path.name)} cannot be written: {failure.strerror}.") from None
    return policy, policy.rules[-1]


def rule_text(entry: RuleEntry) -> str:
    """A rule as it stands in a file."""
    told = entry.model_dump(mode="json", exclude_none=True)
    lines = [f"{field} = {toml_value(_plain(told[field]))}" for field in _FIELDS if field in told]
    return "\n".join(["[[rule]]", *lines, ""])


def _with_rule(path: Path, before: str, entry: RuleEntry) -> Document:
    text = f"{before.rstrip()}\n\n{rule_text(entry)}"
    if len(text.encode(errors="replace")) > TOML_LIMITS.max_bytes:
        hint = "Take rules out that are no longer needed, or join some by a pattern."
        raise unusable_file(path, f"With the rule, {quoted(path.name)} would be too large.", hint=hint)
    try:
        text.encode()
        return Document(path=path, text=text, value=tomllib.loads(text))
    except UnicodeEncodeError:
        raise unusable_file(path, "The rule has something in it that is not text.") from None
    except tomllib.TOMLDecodeError:
        message = f"The rule cannot be put at the end of {quoted(path.name)}, where rules are written in another way."
        hint = f"Write each rule under `[[rule]]`, or put this one in yourself: {_inline(entry)}"
        raise unusable_file(path, message, hint=hint) from None


def _inline(entry: RuleEntry) -> str:
    return f"{{{', '.join(rule_text(entry).splitlines()[1:])}}}"


def _plain(value: str | list[str]) -> str | list[str]:
    return value[0] if isinstance(value, list) and len(value) == 1 else value
