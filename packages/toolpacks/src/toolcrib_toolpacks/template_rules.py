"""What a template may name, judged from its syntax tree before anything of it is evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from jinja2 import nodes
from jinja2.meta import find_undeclared_variables
from jinja2.tests import TESTS

from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_toolpacks.defaults import subschemas
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.template_engine import FILTERS, METHOD_NAMES

MAX_TEMPLATE_CHARACTERS: Final = 8_192
MAX_NODES: Final = 1_000
MAX_DEPTH: Final = 60
MAX_LOOPS: Final = 8
"""How deep loops may stand in each other."""

ROOTS: Final = ("input", "context", "env")
_GLOBALS: Final = ("range", "dict", "namespace", "cycler", "joiner")

_OF_OBJECTS: Final = frozenset({"get", "items", "keys", "values"})

# With one output in one place there is nothing to name, to include or to collect.
_REFUSED: Final[dict[type[nodes.Node], str]] = {
    nodes.Macro: "a macro",
    nodes.CallBlock: "a `call` block",
    nodes.FilterBlock: "a `filter` block",
    nodes.AssignBlock: "a `set` block",
    nodes.Block: "a `block`",
    nodes.Extends: "`extends`",
    nodes.Include: "`include`",
    nodes.Import: "`import`",
    nodes.FromImport: "`import`",
    nodes.ScopedEvalContextModifier: "`autoescape`",
}


@dataclass(frozen=True, kw_only=True)
class TemplateNames:
    """What there is to refer to: the constants of the pack, the variables it allows, and the inputs its schema knows.

    `inputs` is None where the schema takes any input.
    """

    context: Mapping[str, object] = field(default_factory=dict)
    env: frozenset[str] = frozenset()
    inputs: frozenset[str] | None = None


def check_tree(tree: nodes.Template, names: TemplateNames) -> None:
    """Refuse a template that is too large, or that names what there is not.

    Raises:
        TemplateError: The first thing that is refused.
    """
    _check_size(tree)
    for node in (tree, *tree.find_all(nodes.Node)):
        _check_node(node, names)
    used = {each.name for each in tree.find_all(nodes.Name)}
    unknown = sorted(find_undeclared_variables(tree) - {*ROOTS, *_GLOBALS} | used & {"self"})
    if unknown:
        raise _unknown(unknown[0], ROOTS, "a template knows only")


def key_of(node: nodes.Getattr | nodes.Getitem) -> object:
    """What is asked for in `thing.key` and `thing['key']`; None where only the call will tell."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None


def _check_size(tree: nodes.Template) -> None:
    seen = 0
    waiting: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    while waiting:
        node, depth, loops = waiting.pop()
        seen += 1
        loops += isinstance(node, nodes.For)
        if seen > MAX_NODES or depth > MAX_DEPTH or loops > MAX_LOOPS:
            raise TemplateError("The template is too large.", hint="Do the work in the tool instead.")
        waiting += [(child, depth + 1, loops) for child in node.iter_child_nodes()]


def _check_node(node: nodes.Node, names: TemplateNames) -> None:
    refused = next((words for kind, words in _REFUSED.items() if isinstance(node, kind)), None)
    if isinstance(node, nodes.For) and node.recursive:
        refused = "a recursive loop"
    if refused:
        raise TemplateError(
            f"The template holds {refused}, which templates of tools do not have.",
            hint="Expressions, filters, tests, `if`, `for`, `set` and `with` are there; do the rest in the tool.",
        )
    match node:
        case nodes.Filter() if node.name not in FILTERS:
            raise _unknown(node.name, FILTERS, "the filters are")
        case nodes.Test() if node.name not in TESTS:
            raise _unknown(node.name, tuple(TESTS), "the tests are")
        case nodes.Const(value=float()) if not isfinite(node.value):
            raise TemplateError("The template holds a number that is too large.")
        case nodes.Name() if node.name in ROOTS and node.ctx != "load":
            raise TemplateError(f"{quoted(node.name)} is the template's own, and cannot be assigned to.")
    for root in _bare_roots(node):
        if root == "env":
            raise TemplateError("A template must name each variable of `env` itself.", hint="Write `env.NAME`.")
        if isinstance(node, nodes.Output):
            raise TemplateError(
                f"{quoted(root)} cannot be rendered as a whole.",
                hint=f"Name a part of it, as in `{root}.name`, or write `{root} | tojson`.",
            )
    if isinstance(node, nodes.Getattr | nodes.Getitem):
        _check_member(node, names)


def _bare_roots(node: nodes.Node) -> Iterator[str]:
    """The roots that a node uses as they are, and not by one of their members."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Name) and child.name in ROOTS:
            is_member = isinstance(node, nodes.Getattr | nodes.Getitem) and child is node.node
            if not (is_member and key_of(node) is not None):  # type: ignore[arg-type]  # narrowed in the line above
                yield child.name


def _check_member(node: nodes.Getattr | nodes.Getitem, names: TemplateNames) -> None:
    key = key_of(node)
    if isinstance(key, str) and key.startswith("__"):
        raise TemplateError(f"{quoted(key)} is not a name that templates may use.")
    if not isinstance(node.node, nodes.Name) or node.node.name not in ROOTS or key is None:
        return
    root = node.node.name
    known = {"context": names.context, "env": names.env, "input": names.inputs}[root]
    if known is None or key in known or (isinstance(node, nodes.Getattr) and root != "env" and key in _OF_OBJECTS):
        return
    where = {
        "context": "`templating.context` has no such key",
        "env": "`env` of the pack neither passes nor sets it",
        "input": "`inputSchema` has no such property",
    }[root]
    meant = nearest(str(key), sorted(map(str, known)))
    raise TemplateError(
        f"The template names {quoted(f'{root}.{key}')}, and {where}.",
        hint=f"Did you mean `{root}.{meant}`?" if meant else None,
    )


def _unknown(name: str, known: tuple[str, ...], lead: str) -> TemplateError:
    meant = nearest(name, known)
    question = f" Did you mean `{meant}`?" if meant else ""
    return TemplateError(f"{quoted(name)} is not known in templates.{question}", hint=f"Here {lead} {listed(known)}.")


def named_inputs(tree: nodes.Template) -> frozenset[str]:
    """The properties of the input that a template names."""
    members: list[nodes.Getattr | nodes.Getitem] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    paths = (_path_of(each) for each in members)
    return frozenset(path[1] for path in paths if path is not None)


def absent_inputs(tree: nodes.Template, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of the input that a template uses as if they were there, although a call may leave them out."""
    return tuple(dict.fromkeys(_absent(tree, schema, frozenset())))


def _absent(node: nodes.Node, schema: Mapping[str, Any], sure: frozenset[str]) -> Iterator[str]:
    match node:
        case nodes.If() | nodes.CondExpr():
            yield from _absent(node.test, schema, sure)
            then, otherwise = sure | _sure_if(node.test, holds=True), sure | _sure_if(node.test, holds=False)
            for children, known in _branches(node, then, otherwise):
                for child in children:
                    yield from _absent(child, schema, known)
        case nodes.And() | nodes.Or():
            yield from _absent(node.left, schema, sure)
            yield from _absent(node.right, schema, sure | _sure_if(node.left, holds=isinstance(node, nodes.And)))
        case nodes.Test(name="defined" | "undefined"):
            return
        case nodes.Filter(name="default" | "d"):
            for child in node.args:
                yield from _absent(child, schema, sure)
        case nodes.Getattr() | nodes.Getitem():
            path = _path_of(node)
            if path is None:
                yield from _absent_in_children(node, schema, sure)
            elif (missing := _absent_on(path, schema, sure)) is not None:
                yield missing
        case _:
            yield from _absent_in_children(node, schema, sure)


def _absent_in_children(node: nodes.Node, schema: Mapping[str, Any], sure: frozenset[str]) -> Iterator[str]:
    for child in node.iter_child_nodes():
        yield from _absent(child, schema, sure)


def _branches(
    node: nodes.If | nodes.CondExpr, then: frozenset[str], otherwise: frozenset[str]
) -> Iterator[tuple[Sequence[nodes.Node], frozenset[str]]]:
    if isinstance(node, nodes.If):
        yield node.body, then
        yield [*node.elif_, *node.else_], otherwise
    else:
        yield [node.expr1], then
        yield [] if node.expr2 is None else [node.expr2], otherwise


def _sure_if(test: nodes.Node, *, holds: bool) -> frozenset[str]:
    """What must be there if a test holds, or if it does not."""
    match test:
        case nodes.Not():
            return _sure_if(test.node, holds=not holds)
        case nodes.Test(name="defined" | "undefined") if (test.name == "defined") == holds:
            path = _path_of(test.node)
            return frozenset() if path is None else frozenset({".".join(path)})
        case nodes.And() if holds:
            return _sure_if(test.left, holds=True) | _sure_if(test.right, holds=True)
        case nodes.Or() if not holds:
            return _sure_if(test.left, holds=False) | _sure_if(test.right, holds=False)
    return frozenset()


def _path_of(node: nodes.Node) -> tuple[str, ...] | None:
    """The keys from `input` on, as in `input.place.city`; None for anything else."""
    keys: list[str] = []
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        key = key_of(node)
        if not isinstance(key, str):
            return None
        keys.append(key)
        node = node.node
    return ("input", *reversed(keys)) if isinstance(node, nodes.Name) and node.name == "input" else None


def _absent_on(path: tuple[str, ...], schema: Mapping[str, Any], sure: frozenset[str]) -> str | None:
    described: object = schema
    for at, key in enumerate(path[1:], start=2):
        known = subschemas(described, schema)
        declared = [each["properties"][key] for each in known if key in each.get("properties", {})]
        if not declared and key in METHOD_NAMES:
            return None
        is_there = any(key in each.get("required", ()) for each in known) or any(
            "default" in one for each in declared for one in subschemas(each, schema)
        )
        name = ".".join(path[:at])
        if not is_there and name not in sure:
            return name
        described = declared[0] if declared else {}
    return None
