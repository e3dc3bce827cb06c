"""Texts with variables: `${VAR}`, `${VAR:-default}` and `${env:VAR}`, replaced only where the text is used.

Places such as `${workspaceFolder}` are known when the file is read, and become words of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolcrib_core.json_values import FrozenDict
from toolcrib_core.wording import quoted
from toolcrib_runtime.guards.secrets import Secret

ConfigText: TypeAlias = str | Secret
"""A text of a configuration; a secret, unless everybody may see it. An empty text is never a secret."""

INPUT_PREFIX: Final = "TOOLCRIB_INPUT_"
"""What an `${input:id}` of VS Code is asked for by: `${input:api-key}` is the variable `TOOLCRIB_INPUT_API_KEY`."""

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{(?P<inner>[^{}]*)\}|\$\{")
_INNER: Final = re.compile(
    r"(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?|input:(?P<input>[^:]+)", re.DOTALL
)
_OF_EDITORS: Final = re.compile(r"(?:cwd|file\w*|relativeFile\w*|(?:workspaceFolder|command|config):.*)")
_BARE: Final = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*")


class TemplateFault(ValueError):
    """A text cannot be used: one sentence that does not repeat it, and a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A place in a text where the value of an environment variable goes."""

    name: str
    default: ConfigText | None = None
    """For a variable that is not set, or empty, as in a shell."""


@dataclass(frozen=True, kw_only=True)
class Template:
    """A text as it was written, taken apart at its variables."""

    parts: tuple[ConfigText | Variable, ...]
    hidden: bool
    """Whether the text stands where secrets do; its own words are secrets then."""

    @property
    def variables(self) -> Iterator[Variable]:
        """The variables of the text, in order."""
        return (part for part in self.parts if isinstance(part, Variable))

    def missing(self, values: Mapping[str, ConfigText]) -> list[str]:
        """The variables that have neither a value nor a default."""
        names = dict.fromkeys(each.name for each in self.variables if each.default is None)
        return [name for name in names if name not in values]

    def filled(self, values: Mapping[str, ConfigText]) -> ConfigText:
        """The text with these values in place of its variables; a secret as soon as it has a variable.

        Raises:
            TemplateFault: A variable has no value, or the text is one that no secret may be.
        """
        missing = self.missing(values)
        if missing:
            raise TemplateFault(f"The variable {quoted(missing[0])} is not set.", "Set it, or give it a default.")
        text = "".join(reveal(part_value(part, values)) for part in self.parts)
        return hide(text) if self.hidden or any(self.variables) else text


def parse_template(text: str, *, hidden: bool, public: int = 0, places: Mapping[str, str] = FrozenDict()) -> Template:
    """Take a text apart; `$${` stands for `${` itself, and `${name}` of a place for that place.

    The first `public` characters of a hidden text are no secret: they say what the secret behind them is for.

    Raises:
        TemplateFault: A `${` does not begin a variable that we know how to replace.
    """
    parts: list[ConfigText | Variable] = []
    words, end = "", public
    if public:
        parts.append(text[:public])
    for reference in _REFERENCE.finditer(text, public):
        words += text[end : reference.start()]
        end = reference.end()
        if reference[0] == "$${":
            words += "${"
            continue
        if reference["inner"] in places:
            words += places[reference["inner"]]
            continue
        variable = _variable(reference["inner"], hidden=hidden)
        parts += [*_words(words, hidden=hidden), variable]
        words = ""
    parts += _words(words + text[end:], hidden=hidden)
    return Template(parts=tuple(parts), hidden=hidden)


def part_value(part: ConfigText | Variable, values: Mapping[str, ConfigText]) -> ConfigText:
    """What stands for one part of a template that misses no variable."""
    if not isinstance(part, Variable):
        return part
    value = values.get(part.name, "")
    return part.default if value == "" and part.default is not None else value


def escaped(text: str) -> str:
    """The text as a template that has no variable."""
    return text.replace("${", "$${")


def hide(text: str) -> ConfigText:
    """The text as a secret.

    Raises:
        TemplateFault: It is the bullets that stand for a secret, or is not text that UTF-8 can carry.
    """
    try:
        return Secret(text) if text else ""
    except ValueError:
        raise TemplateFault(
            "The value is not one that a secret can have.",
            "It must be UTF-8 text, and not the bullets that are shown in place of a secret.",
        ) from None


def reveal(text: ConfigText) -> str:
    """The text itself; call it where the text is used, and keep it in no variable."""
    return text.reveal() if isinstance(text, Secret) else text


def looks_like_variable(text: str) -> bool:
    """Whether somebody may expect this text to be replaced, as some clients do: `$VAR`."""
    return _BARE.fullmatch(text) is not None


def _words(text: str, *, hidden: bool) -> list[ConfigText | Variable]:
    return [hide(text) if hidden else text] if text else []


def _variable(inner: str | None, *, hidden: bool) -> Variable:
    if inner is None:
        raise TemplateFault(
            "A `${` has no matching `}`, or holds another brace.",
            "Write `${NAME}` or `${NAME:-default}`, and `$${` for the characters themselves.",
        )
    match = _INNER.fullmatch(inner)
    if _OF_EDITORS.fullmatch(inner):
        raise TemplateFault(
            f"The variable {quoted(inner)} has a meaning only in an editor.", "Write what it stands for."
        )
    if match is None:
        raise TemplateFault(
            "A `${…}` holds something that is not the name of a variable.",
            "Write `${NAME}` or `${NAME:-default}`, and `$${` for the characters themselves.",
        )
    if match["input"]:
        return Variable(name=INPUT_PREFIX + re.sub(r"[^A-Za-z0-9]+", "_", match["input"]).upper())
    default = match["default"]
    if default is None:
        return Variable(name=match["name"])
    text = default.removeprefix(":-")
    return Variable(name=match["name"], default=hide(text) if hidden else text)
