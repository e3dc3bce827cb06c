"""Jinja in its sandbox: which filters and methods there are, and that each of them is bounded."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import StrictUndefined, Undefined, nodes, pass_context
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.filters import _GroupTuple
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Cycler, Joiner, Namespace
from jinja2.visitor import NodeTransformer

from toolcrib_core.wording import kind_of
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.template_bounds import (
    CHECKS,
    MAX_STEPS,
    check_fields,
    check_operator,
    check_size,
    looped,
    settled,
    spend,
)

_MAX_INDENT = 16
_NOT_OFFERED = frozenset({"attr", "pprint", "random", "urlize", "xmlattr"})
_OF_TEXT = frozenset(
    "capitalize center e escape forceescape format indent lower replace striptags title trim truncate upper wordcount "
    "wordwrap".split()
)
# The names of filters that the engine puts into a tree: no template can write them.
_EACH, _MADE, _JOINED, _LITERAL = "for", "[]", "~", "literal"

_METHODS: Final[Mapping[type, frozenset[str]]] = {
    str: frozenset(
        "capitalize casefold center count endswith find format index isalnum isalpha isascii isdecimal isdigit islower "
        "isnumeric isspace istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind "
        "rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill".split()
    ),
    Mapping: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}
METHOD_NAMES: Final = frozenset().union(*_METHODS.values())
"""The methods that can be called."""

_ATTRIBUTES: Final[Mapping[type, frozenset[str]]] = {
    LoopContext: frozenset(
        "changed cycle depth depth0 first index index0 last length nextitem previtem revindex revindex0".split()
    ),
    Cycler: frozenset({"current", "next", "reset"}),
    _GroupTuple: frozenset({"grouper", "list"}),
    Joiner: frozenset(),
}


class Value(str):
    """A text that comes from a value, and not from the template; `raw` is the value."""

    __slots__ = ("raw",)
    raw: object

    def __str__(self) -> str:
        return self


class JsonText(str):
    """What `tojson` made."""

    __slots__ = ()


class Missing(StrictUndefined):
    """Something that is not there: using it in any way but asking whether it is defined is an error."""

    @property
    def _undefined_message(self) -> str:
        return f"`{self._undefined_name}`"


class Nothing(Value):
    """What an `if` without an `else` gives where it does not hold."""

    __slots__ = ()


class Environment(ImmutableSandboxedEnvironment):
    """Jinja in which `.` and `[]` look into JSON, and every method that can be called changes nothing."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, finalize: Callable[[object], object]) -> None:
        super().__init__(
            undefined=Missing,
            autoescape=False,  # nothing here is HTML; what is written is escaped for its place by `finalize`
            keep_trailing_newline=True,
            # It takes the context so that nothing is written while the template is compiled.
            finalize=pass_context(lambda _context, value: finalize(value)),
            cache_size=0,
            optimized=False,
        )
        del self.globals["lipsum"]
        self.globals["range"] = _range
        own = {name: function for name, function in JINJA_FILTERS.items() if name not in _NOT_OFFERED} | _FILTERS
        self.filters.clear()
        self.filters.update({name: _guarded(name, function) for name, function in own.items()})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """What stands behind a `.`: a key, or a method that changes nothing."""
        spend()
        for kind, names in _ATTRIBUTES.items():
            if isinstance(obj, kind):
                return super().getattr(obj, attribute) if attribute in names else Missing(name=attribute)
        if isinstance(obj, Namespace):
            return super().getattr(obj, attribute)
        found = self.getitem(obj, attribute)
        names = next((each for kind, each in _METHODS.items() if isinstance(obj, kind)), frozenset())
        return self._method(obj, attribute) if isinstance(found, Missing) and attribute in names else found

    def getitem(self, obj: Any, argument: Any) -> Any:
        """What stands in brackets: a key, an index or a slice."""
        spend()
        if isinstance(obj, Undefined):
            return obj
        if isinstance(obj, _GroupTuple) and argument in _ATTRIBUTES[_GroupTuple]:
            return super().getattr(obj, argument)
        if isinstance(obj, Mapping) and isinstance(argument, str | int) and argument in obj:
            return obj[argument]
        if isinstance(obj, list | tuple | str | range):
            if isinstance(argument, slice):
                return obj[argument]
            if type(argument) is int and -len(obj) <= argument < len(obj):
                return obj[argument]
        return Missing(name=str(argument) if isinstance(argument, str | int) else "a part")

    def call(self, __context: Any, __obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call, for a step of the budget."""
        spend()
        return settled(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operator, unless it would make something too large."""
        spend()
        check_operator(operator, left, right)
        return settled(super().call_binop(context, operator, left, right))

    def _method(self, obj: Any, name: str) -> Callable[..., object]:
        def call(*args: Any, **kwargs: Any) -> object:
            if name == "join":
                return _join(args[0], obj)
            if name in CHECKS:
                CHECKS[name](obj, *args, **kwargs)
            if name == "format":
                check_fields(obj, (*args, *kwargs.values()))
                return SandboxedFormatter(self).vformat(obj, args, kwargs)
            found = getattr(obj, name)(*args, **kwargs)
            return list(found) if name in {"items", "keys", "values"} else found

        return call


def bound_tree(tree: nodes.Template, *, by_author: Callable[[nodes.Node | None], bool] | None) -> nodes.Template:
    """Put the engine's own filters around loops, `~` and lists, and around expressions that the author wrote."""
    found: nodes.Template = _Bounding(by_author or (lambda _node: False)).visit(tree)
    return found


class _Bounding(NodeTransformer):
    def __init__(self, by_author: Callable[[nodes.Node | None], bool]) -> None:
        self._by_author = by_author

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  # the name NodeTransformer calls
        self.generic_visit(node)
        node.iter = _filtered(_EACH, node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  # the name NodeTransformer calls
        self.generic_visit(node)
        return _filtered(_JOINED, *node.nodes)

    def _made(self, node: nodes.Expr) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") != "load" else _filtered(_MADE, node)

    visit_List = visit_Tuple = visit_Dict = _made  # noqa: N815  # names NodeTransformer calls

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802  # the name NodeTransformer calls
        marked = [self._by_author(each) for each in node.nodes]
        self.generic_visit(node)
        node.nodes = [
            _filtered(_LITERAL, each) if mark and not isinstance(each, nodes.TemplateData) else each
            for each, mark in zip(node.nodes, marked, strict=True)
        ]
        return node


def is_text(node: nodes.Node | None) -> bool:
    """Whether all that an expression can give was written by the author of the template."""
    match node:
        case nodes.Const():
            return isinstance(node.value, str)
        case nodes.Concat():
            return all(map(is_text, node.nodes))
        case nodes.Add():
            return is_text(node.left) and is_text(node.right)
        case nodes.CondExpr():
            return is_text(node.expr1) and (node.expr2 is None or is_text(node.expr2))
    return False


def starts_with_text(node: nodes.Node | None) -> bool:
    """Whether what an expression gives begins with what the author of the template wrote."""
    match node:
        case nodes.Concat(nodes=[nodes.Const(value=str(first)), *_]) | nodes.Add(left=nodes.Const(value=str(first))):
            return bool(first)
        case nodes.Add():
            return starts_with_text(node.left)
        case nodes.CondExpr():
            return starts_with_text(node.expr1) and (node.expr2 is None or starts_with_text(node.expr2))
    return is_text(node)


def plain(value: object) -> str:
    """A value as it is written into a text: text as it is, numbers and booleans as in JSON."""
    if isinstance(value, Undefined):
        return str(value)
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value, allow_nan=False)
    raise TemplateError(
        f"A template would write {kind_of(value)}, and can write only text, numbers and booleans.",
        hint="Write `| tojson` behind it, or `| default('…')` where it may be null.",
    )


def to_json(value: object, indent: int | None = None) -> JsonText:
    """A value as JSON."""
    if isinstance(value, Undefined):
        str(value)
    separators = (",", ":") if indent is None else (",", ": ")
    depth = None if indent is None else min(indent, _MAX_INDENT)
    return JsonText(json.dumps(value, ensure_ascii=False, separators=separators, allow_nan=False, indent=depth))


def _filtered(name: str, node: nodes.Node, *args: nodes.Node) -> nodes.Filter:
    made = nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)
    made.environment = node.environment
    return made


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that spends of the budget, and whose result is measured."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> object:
        spend()
        first = 1 if hasattr(function, "jinja_pass_arg") else 0
        value, *others = args[first:]
        if name in _OF_TEXT:
            value = plain(value)
        if name in CHECKS:
            CHECKS[name](value, *others, **kwargs)
        return settled(function(*args[:first], value, *others, **kwargs))

    return run


def _range(*args: int) -> range:
    made = range(*args)
    spend(len(made[: MAX_STEPS + 1]))
    return made


def _default(value: object, other: object = "", boolean: bool = False) -> object:  # noqa: FBT001, FBT002  # Jinja's
    missing = value is None or isinstance(value, Undefined) or (boolean and not value)
    return other if missing else value


def _join(values: object, between: str = "", attribute: str | None = None) -> str:
    items = list(looped(values if not isinstance(values, str) else _no_list(values)))
    if attribute is not None:
        items = [each.get(attribute) if isinstance(each, Mapping) else each for each in items]
    texts = [plain(each) for each in items]
    check_size(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _first(values: Any) -> object:
    return next(looped(values), Missing(name="the first item"))


def _last(values: Any) -> object:
    items = list(looped(values))
    return items[-1] if items else Missing(name="the last item")


def _length(value: Any) -> int:
    if isinstance(value, Undefined):
        str(value)
    return len(value) if hasattr(value, "__len__") else _no_list(value)


def _no_list(value: object) -> Any:
    raise TemplateError(f"A template needs a list, and got {kind_of(value)}.")


def _written_together(*values: object) -> str:
    texts = [plain(each) for each in values]
    check_size(sum(map(len, texts)))
    return "".join(texts)


class AuthorText(str):
    """A text whose beginning the author of the template wrote."""

    __slots__ = ()


_FILTERS: Final[dict[str, Any]] = {
    "count": _length,
    "d": _default,
    "default": _default,
    "first": _first,
    "join": _join,
    "last": _last,
    "length": _length,
    "string": lambda value: plain(value) if isinstance(value, Undefined | str | int | float) else to_json(value),
    "tojson": to_json,
    _EACH: looped,
    _MADE: lambda value: value,
    _JOINED: _written_together,
    _LITERAL: lambda value: value if isinstance(value, Undefined) else AuthorText(plain(value)),
}
FILTERS: Final = tuple(sorted(({*JINJA_FILTERS} - _NOT_OFFERED) | {"default", "join", "tojson"}))
"""The filters that templates may name."""
