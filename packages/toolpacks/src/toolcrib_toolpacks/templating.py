"""Templates of a pack: Jinja2 in its sandbox, strict about what is missing, bounded, and escaped for where they go.

A template is compiled when its pack is loaded and rendered into exactly one place: an item of a command line, the
value of a header, a URL, or a cache key. Values are data: nothing of them is ever read as a template or by a shell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined, UndefinedError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from toolcrib_core.wording import count, kind_of
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.template_rules import (
    FILTERS,
    MAX_TEMPLATE_CHARACTERS,
    ROOTS,
    TESTS,
    TemplateNames,
    check_tree,
    key_of,
)

TemplateUse: TypeAlias = Literal["argument", "header", "url", "key"]

MAX_RENDERED_CHARACTERS: Final = 64 * 1024
"""What one template may become; Linux takes no item of a command line over 128 KiB."""

_MARKS: Final = ("{{", "{%", "{#")
_ANY_NAMES: Final = TemplateNames()


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

    @cached_property
    def starts_with_value(self) -> bool:
        """Whether its first character may come from a value, so that a value such as `--force` could pass for more."""
        first = next(iter(self._tree.body), None) if self._tree else None
        if isinstance(first, nodes.Output):
            return not (isinstance(first.nodes[0], nodes.TemplateData) and bool(first.nodes[0].data))
        return first is not None

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The properties of the input that it names."""
        return self._named("input")

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables of the environment that it names."""
        return self._named("env")

    def render(self, values: Mapping[str, object]) -> str:
        """The text for one call; `values` has `input` and `env`, and may have a `context` in place of the pack's.

        Raises:
            TemplateError: A value is missing, is null or is no plain value, the text would be too long, or a value
                holds what may not stand in this place. The message names no value.
        """
        if self._tree is None:
            return self.text
        known = {"context": self._context, "env": {}, **values}
        try:
            return self._checked(self._filled({name: known.get(name, {}) for name in ROOTS}))
        except UndefinedError as failure:
            raise TemplateError(
                f"A template has no value for {failure.message}.",
                hint="Give it, or write `| default('…')` behind it in the template.",
            ) from None
        except (TypeError, ValueError, RecursionError):
            raise TemplateError("A template compares values that cannot be compared.") from None

    @cached_property
    def _template(self) -> Template:
        return _environment(self.use).from_string(self._tree or self.text)

    def _filled(self, values: dict[str, object]) -> str:
        parts, length = [], 0
        # Piece by piece, so that what grows too long is stopped on the way.
        for part in self._template.generate(values):
            length += len(part)
            if length > MAX_RENDERED_CHARACTERS:
                raise _too_long()
            parts.append(part)
        return "".join(parts)

    def _checked(self, text: str) -> str:
        if self.use == "argument" and "\x00" in text:
            raise TemplateError("A value for a command line holds a NUL character, which ends the text there.")
        if self.use == "header" and any(ord(each) < ord(" ") or each == "\x7f" for each in text):
            raise TemplateError("A value for a header holds a line break or another control character.")
        # The slashes of values are escaped, so a value is a whole segment or a part of one.
        if self.use == "url" and not {".", ".."}.isdisjoint(re.split(r"[/?#]", text)):
            raise TemplateError("A value for a URL is `.` or `..`, which would lead to another place.")
        return text

    def _named(self, root: str) -> frozenset[str]:
        if self._tree is None:
            return frozenset()
        members: list[nodes.Getattr | nodes.Getitem] = [*self._tree.find_all(nodes.Getattr)]
        members += self._tree.find_all(nodes.Getitem)
        return frozenset(
            key
            for each in members
            if isinstance(each.node, nodes.Name) and each.node.name == root and isinstance(key := key_of(each), str)
        )


def compile_template(
    text: str, *, use: TemplateUse = "argument", names: TemplateNames = _ANY_NAMES
) -> CompiledTemplate:
    """Check a template and make it ready; a text without `{{`, `{%` and `{#` stands for itself.

    Raises:
        TemplateError: It is not a template, says more than a template may, or names what there is not.
    """
    if len(text) > MAX_TEMPLATE_CHARACTERS:
        raise TemplateError(f"A template may have {count(MAX_TEMPLATE_CHARACTERS, 'character')}.")
    if not any(mark in text for mark in _MARKS):
        return CompiledTemplate(text, use=use, tree=None, names=names)
    try:
        tree = _environment(use).parse(text)
    except TemplateSyntaxError as failure:
        raise TemplateError(f"The template cannot be read: {_reason(failure)}.") from None
    except RecursionError:
        raise TemplateError("The template is nested too deep.") from None
    check_tree(tree, names)
    return CompiledTemplate(text, use=use, tree=tree, names=names)


class _Missing(StrictUndefined):
    """Something that is not there: using it in any way but asking whether it is defined is an error."""

    @property
    def _undefined_message(self) -> str:
        return f"`{self._undefined_name}`"


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja in which `.` and `[]` look into JSON and nothing else: no attribute of any object is ever read."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: str | Any) -> Any:
        if isinstance(obj, Undefined):
            return obj
        if isinstance(obj, Mapping) and isinstance(argument, str) and argument in obj:
            return obj[argument]
        if isinstance(obj, list | tuple) and type(argument) is int and -len(obj) <= argument < len(obj):
            return obj[argument]
        return _Missing(name=str(argument) if isinstance(argument, str | int) else "a part")


@cache
def _environment(use: TemplateUse) -> _Environment:
    made = _Environment(
        undefined=_Missing,
        autoescape=False,  # nothing here is HTML; a URL is escaped by `finalize`
        keep_trailing_newline=True,
        finalize=_escaped if use == "url" else _plain,
        cache_size=0,
    )
    made.globals.clear()
    filters = {name: _FILTERS[name] for name in FILTERS}
    tests = {name: made.tests[name] for name in TESTS}
    made.filters.clear()
    made.filters.update(filters)
    made.tests.clear()
    made.tests.update(tests)
    return made


def _plain(value: object) -> str:
    """A value as it is written into a text: text as it is, numbers and booleans as in JSON."""
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise TemplateError(
        f"A template would write {kind_of(value)}, and can write only text, numbers and booleans.",
        hint="Write `| tojson` behind it, or `| default('…')` where it may be null.",
    )


def _escaped(value: object) -> str:
    return quote(_plain(value), safe="")


def _default(value: object, other: object = "") -> object:
    return other if value is None or isinstance(value, Undefined) else value


def _join(value: object, between: str = "") -> str:
    items = [_plain(each) for each in _items(value)]
    if sum(map(len, items)) + len(between) * len(items) > MAX_RENDERED_CHARACTERS:
        raise _too_long()
    return between.join(items)


def _first(value: object) -> object:
    items = _items(value)
    return items[0] if items else _Missing(name="the first item")


def _last(value: object) -> object:
    items = _items(value)
    return items[-1] if items else _Missing(name="the last item")


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | dict) else len(_items(value))


def _items(value: object) -> list[object] | tuple[object, ...]:
    if isinstance(value, Undefined):
        str(value)
    if isinstance(value, list | tuple):
        return value
    raise TemplateError(f"A template needs a list, and got {kind_of(value)}.")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


_FILTERS: Final[dict[str, Any]] = {
    "count": _length,
    "d": _default,
    "default": _default,
    "first": _first,
    "join": _join,
    "last": _last,
    "length": _length,
    "lower": lambda value: _plain(value).lower(),
    "tojson": _to_json,
    "trim": lambda value: _plain(value).strip(),
    "upper": lambda value: _plain(value).upper(),
}


def _reason(failure: TemplateSyntaxError) -> str:
    message = (failure.message or "it is malformed").rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _too_long() -> TemplateError:
    return TemplateError(
        f"A template would become longer than {count(MAX_RENDERED_CHARACTERS, 'character')}.",
        hint="Pass large values through the input of the program, not through its command line.",
    )
