"""Templates of a pack: Jinja2 in its sandbox, strict about what is missing, bounded, and escaped for where they go.

A template is compiled when its pack is loaded and rendered into exactly one place: an item of a command line, the
value of a header, a URL, a body, or a cache key. Values are data: nothing of them is ever read as a template or by a
shell.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from jinja2 import Template, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.exceptions import TemplateRuntimeError

from toolcrib_core.wording import count
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.template_bounds import Clock, bounded, too_long
from toolcrib_toolpacks.template_engine import (
    AuthorText,
    Environment,
    JsonText,
    Nothing,
    Value,
    bound_tree,
    is_text,
    plain,
    starts_with_text,
    to_json,
)
from toolcrib_toolpacks.template_rules import MAX_TEMPLATE_CHARACTERS, ROOTS, TemplateNames, check_tree

TemplateUse: TypeAlias = Literal["argument", "header", "url", "key", "json", "form", "text"]

MAX_RENDERED_CHARACTERS: Final = 64 * 1024
"""What one template may become; Linux takes no item of a command line over 128 KiB."""

MAX_BODY_CHARACTERS: Final = 1024 * 1024
"""What the template of a body may become."""

_MARKS: Final = ("{{", "{%", "{#")
_BODIES: Final = frozenset({"json", "form", "text"})
# Whose texts pass for the template's own: on a command line a `--force`, in JSON a comma.
_BY_AUTHOR: Final = {"argument": starts_with_text, "json": is_text}
_ANY_NAMES: Final = TemplateNames()


class Rendered(NamedTuple):
    """A text, and where its beginning comes from."""

    text: str
    starts_with_value: bool
    """Whether its first character comes from a value, so that a value such as `--force` could pass for more."""
    is_nothing: bool
    """Whether the template wrote nothing, not even an empty value: all of it stands in an `if` that does not hold."""


class CompiledTemplate:
    """A template that was checked; `render` fills it in.

    It is immutable, and may be used from several threads at once.
    """

    def __init__(self, text: str, *, use: TemplateUse, tree: nodes.Template | None, names: TemplateNames) -> None:
        self.text: Final = text
        self.use: Final[TemplateUse] = use
        self._tree = tree
        self._context = names.context

    @property
    def is_literal(self) -> bool:
        """Whether there is nothing to fill in."""
        return self._tree is None

    def render(self, values: Mapping[str, object]) -> str:
        """The text for one call; see `fill`.

        Raises:
            TemplateError: As for `fill`.
        """
        return self.fill(values).text

    def fill(self, values: Mapping[str, object], *, clock: Clock = time.thread_time) -> Rendered:
        """The text for one call; `values` has `input` and `env`, and may have a `context` in place of the pack's.

        Raises:
            TemplateError: A value is missing, is null or is no plain value, the template takes too long or would become
                too long, or a value holds what may not stand in this place. The message names no value.
        """
        if self._tree is None:
            return Rendered(self.text, starts_with_value=False, is_nothing=False)
        known = {"context": self._context, "env": {}, **values}
        try:
            with bounded(clock):
                return self._filled({name: known.get(name, {}) for name in ROOTS})
        except UndefinedError as failure:
            raise TemplateError(
                f"A template has no value for {failure.message}.",
                hint="Give it, or write `| default('…')` behind it in the template.",
            ) from None
        except ArithmeticError:
            raise TemplateError("A template divides by zero, or computes a number that is too large.") from None
        except (TypeError, ValueError, LookupError, AttributeError, TemplateRuntimeError):
            raise TemplateError(
                "A template compares, computes or filters values whose kinds do not allow it.",
                hint="Convert them first, as in `| int` or `| string`.",
            ) from None
        except (RecursionError, SyntaxError, MemoryError):
            raise TemplateError("The template is nested too deep.") from None

    @cached_property
    def _template(self) -> Template:
        return _environment(self.use).from_string(self._tree or self.text)

    def _filled(self, values: dict[str, object]) -> Rendered:
        limit = MAX_BODY_CHARACTERS if self.use in _BODIES else MAX_RENDERED_CHARACTERS
        parts: list[str] = []
        length = 0
        # Piece by piece, so that what grows too long is stopped on the way.
        for part in self._template.generate(values):
            length += len(part)
            if length > limit:
                raise too_long(limit)
            if not isinstance(part, Nothing):
                parts.append(part)
        first = next((each for each in parts if each), "")
        text = _json_body(parts) if self.use == "json" else "".join(parts)
        return Rendered(self._checked(text), isinstance(first, Value), not parts)

    def _checked(self, text: str) -> str:
        if self.use == "argument" and "\x00" in text:
            raise TemplateError("A value for a command line holds a NUL character, which ends the text there.")
        if self.use == "header" and any(ord(each) < ord(" ") or each == "\x7f" for each in text):
            raise TemplateError("A value for a header holds a line break or another control character.")
        # The slashes of values are escaped, so a value is a whole segment or a part of one.
        if self.use == "url" and not {".", ".."}.isdisjoint(re.split(r"[/?#]", text)):
            raise TemplateError("A value for a URL is `.` or `..`, which would lead to another place.")
        return text


def compile_template(
    text: str, *, use: TemplateUse = "argument", names: TemplateNames = _ANY_NAMES
) -> CompiledTemplate:
    """Check a template and make it ready; a text without `{{`, `{%` and `{#` stands for itself.

    Raises:
        TemplateError: It is not a template, is too large, or names what there is not.
    """
    tree = parse_template(text)
    if tree is not None:
        check_tree(tree, names)
        tree = bound_tree(tree, by_author=_BY_AUTHOR.get(use))
    return CompiledTemplate(text, use=use, tree=tree, names=names)


def parse_template(text: str) -> nodes.Template | None:
    """The syntax tree of a template; None for a text that stands for itself.

    Raises:
        TemplateError: It is not a template.
    """
    if len(text) > MAX_TEMPLATE_CHARACTERS:
        raise TemplateError(f"A template may have {count(MAX_TEMPLATE_CHARACTERS, 'character')}.")
    if not any(mark in text for mark in _MARKS):
        return None
    try:
        return _environment("text").parse(text)
    except TemplateSyntaxError as failure:
        raise TemplateError(f"The template cannot be read: {_reason(failure)}.") from None
    except ValueError:
        raise TemplateError("The template cannot be read: it holds a number with too many digits.") from None
    except RecursionError:
        raise TemplateError("The template is nested too deep.") from None


@cache
def _environment(use: TemplateUse) -> Environment:
    return Environment(_writer(_WRITERS.get(use, _written)))


def _writer(write: Callable[[object], str]) -> Callable[[object], str]:
    def written(value: object) -> str:
        # Only an `if` without an `else` gives something undefined that may be written.
        return Nothing(value) if isinstance(value, Undefined) else write(value)

    return written


def _written(value: object) -> str:
    return str(value) if isinstance(value, AuthorText) else Value(plain(value))


def _escaped(value: object) -> str:
    return Value(quote(plain(value), safe=""))


def _kept(value: object) -> str:
    """A value of a JSON body, which is written when it is known whether it stands within a string."""
    if isinstance(value, AuthorText):
        return str(value)
    kept = Value(to_json(value))
    kept.raw = value
    return kept


_WRITERS: Final[dict[str, Callable[[object], str]]] = {"url": _escaped, "form": _escaped, "json": _kept}


def _json_body(parts: Iterable[str]) -> str:
    """A body of JSON: a value between quotes is a part of that string, any other is a JSON value of its own.

    Raises:
        TemplateError: What the template makes is not JSON.
    """
    written: list[str] = []
    in_string = False
    for part in parts:
        if not isinstance(part, Value):
            written.append(part)
            in_string = _ends_in_string(part, in_string=in_string)
        elif in_string:
            written.append(json.dumps(plain(part.raw), ensure_ascii=False)[1:-1])
        else:
            written.append(part.raw if isinstance(part.raw, JsonText) else str(part))
    text = "".join(written).strip()
    try:
        json.loads(text)
    except ValueError:
        raise TemplateError(
            "The body that the template makes is not JSON.",
            hint="Values need no quotes and no `tojson` there; look at the commas and brackets between them.",
        ) from None
    return text


def _ends_in_string(text: str, *, in_string: bool) -> bool:
    for each in re.finditer(r'\\.|"', text, re.DOTALL):
        if each[0] == '"':
            in_string = not in_string
    return in_string


def _reason(failure: TemplateSyntaxError) -> str:
    message = (failure.message or "it is malformed").rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"
