"""What a docstring says about a tool and its parameters: Google, NumPy, reST."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import docstring_parser


@dataclass(frozen=True, kw_only=True)
class ParsedDocstring:
    """A docstring taken apart; a part it does not have is empty."""

    description: str = ""
    """The prose before the first section."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    returns: str = ""


def parse_docstring(text: str | None) -> ParsedDocstring:
    """Read a docstring of any of the known styles; one that fits none is all description."""
    if not text or not text.strip():
        return ParsedDocstring()
    # Imported here: only those who define tools from Python sources pay for it.
    import docstring_parser

    parsed = docstring_parser.parse(text)
    prose = [part.strip() for part in (parsed.short_description, parsed.long_description) if part]
    return ParsedDocstring(
        description="\n\n".join(prose),
        parameters=_parameters(parsed),
        returns=_one_line(parsed.returns.description) if parsed.returns else "",
    )


def _parameters(parsed: docstring_parser.Docstring) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter in parsed.params:
        text = _one_line(parameter.description)
        # NumPy lets one entry describe several: `x, y : float`.
        for name in parameter.arg_name.split(","):
            if text:
                found.setdefault(name.strip().lstrip("*"), text)
    return found


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
