"""What a template may say: names, conditions and a few filters; no calls, no loops, no arithmetic.

Jinja's sandbox alone stops neither `9**(9**9)` nor `'a' * 10**9`, so the syntax tree is checked before anything of it
is evaluated: what cannot be expressed need not be stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from jinja2 import nodes

from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_toolpacks.errors import TemplateError

MAX_TEMPLATE_CHARACTERS: Final = 8_192
MAX_NODES: Final = 400
MAX_DEPTH: Final = 24

FILTERS: Final = ("count", "d", "default", "first", "join", "last", "length", "lower", "tojson", "trim", "upper")
TESTS: Final = ("boolean", "defined", "false", "none", "number", "string", "true", "undefined")
ROOTS: Final = ("input", "context", "env")

_ALLOWED: Final = (
    nodes.Template,
    nodes.Output,
    nodes.TemplateData,
    nodes.If,
    nodes.CondExpr,
    nodes.And,
    nodes.Or,
    nodes.Not,
    nodes.Compare,
    nodes.Operand,
    nodes.Const,
    nodes.Name,
    nodes.Getattr,
    nodes.Getitem,
    nodes.Filter,
    nodes.Test,
)
_WORDS: Final[dict[type[nodes.Node], str]] = {
    nodes.For: "a loop",
    nodes.Call: "a call",
    nodes.BinExpr: "arithmetic",
    nodes.UnaryExpr: "arithmetic",
    nodes.Concat: "`~`",
    nodes.Macro: "a macro",
    nodes.Assign: "an assignment",
    nodes.Slice: "a slice",
    nodes.List: "a list",
    nodes.Tuple: "a list",
    nodes.Dict: "a mapping",
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
    """Refuse a template that says more than a template may, or names what there is not.

    Raises:
        TemplateError: The first thing that is refused, with its line in the template.
    """
    seen = 0
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > MAX_NODES or depth > MAX_DEPTH:
            raise TemplateError("The template is too large.", hint="Do the work in the tool instead.")
        _check_node(node)
        waiting += [(child, depth + 1) for child in _children(node, names)]


def _check_node(node: nodes.Node) -> None:
    if not isinstance(node, _ALLOWED):
        raise _refused(node)
    match node:
        case nodes.Name() if node.name not in ROOTS:
            raise _unknown(node.name, ROOTS, "a template knows only")
        case nodes.Filter() if node.name not in FILTERS:
            raise _unknown(node.name, FILTERS, "the filters are")
        case nodes.Test() if node.name not in TESTS:
            raise _unknown(node.name, TESTS, "the tests are")
        case nodes.Filter() if node.kwargs or node.dyn_args is not None or node.dyn_kwargs is not None:
            raise TemplateError(f"The filter `{node.name}` takes no named arguments here.")
        case nodes.Getattr() | nodes.Getitem():
            _check_private(node)
    if isinstance(node, nodes.Name):
        # What is named in a checked way is taken out by `_children`; so this one stands alone.
        raise TemplateError(
            f"`{node.name}` cannot be rendered as a whole.",
            hint=f"Name a part of it, as in `{node.name}.{'NAME' if node.name == 'env' else 'name'}`.",
        )


def _children(node: nodes.Node, names: TemplateNames) -> Iterator[nodes.Node]:
    for child in node.iter_child_nodes():
        if isinstance(node, nodes.Getattr | nodes.Getitem) and isinstance(child, nodes.Name) and child is node.node:
            _check_member(child.name, key_of(node), names)
        elif isinstance(node, nodes.Filter) and node.name == "tojson" and isinstance(child, nodes.Name):
            _check_whole(child.name)
        else:
            yield child


def key_of(node: nodes.Getattr | nodes.Getitem) -> object:
    """What is asked for in `thing.key` and `thing['key']`; None where only the call will tell."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None


def _check_private(node: nodes.Getattr | nodes.Getitem) -> None:
    key = key_of(node)
    if isinstance(key, str) and key.startswith("__"):
        raise TemplateError(f"{quoted(key)} is not a name that templates may use.")


def _check_whole(root: str) -> None:
    if root not in {"input", "context"}:
        raise _unknown(root, ("input", "context"), "as a whole there are only")


def _check_member(root: str, key: object, names: TemplateNames) -> None:
    if root not in ROOTS:
        raise _unknown(root, ROOTS, "a template knows only")
    known = {"context": names.context, "env": names.env, "input": names.inputs}[root]
    if root == "env" and key is None:
        raise TemplateError("A template must name each variable of `env` itself.", hint="Write `env.NAME`.")
    if known is None or key is None or key in known:
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


def _refused(node: nodes.Node) -> TemplateError:
    what = next((words for kind, words in _WORDS.items() if isinstance(node, kind)), f"`{type(node).__name__}`")
    return TemplateError(
        f"The template holds {what}, which templates may not.",
        hint="A template may hold names, conditions and a few filters; do the rest in the tool.",
    )


def _unknown(name: str, known: tuple[str, ...], lead: str) -> TemplateError:
    meant = nearest(name, known)
    question = f" Did you mean `{meant}`?" if meant else ""
    return TemplateError(f"{quoted(name)} is not known in templates.{question}", hint=f"Here {lead} {listed(known)}.")
