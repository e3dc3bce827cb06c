"""What a Python type says that its JSON Schema cannot.

Each node of pydantic's core schema is asked once. The answers travel through the generation as a mark on the JSON
Schema that the node became, because only there does pydantic know where a node ends up; `take_marks` takes them off
again and reads their pointers.
"""

from __future__ import annotations

from enum import Enum
from functools import reduce
from typing import TYPE_CHECKING, Any

from toolcrib_core.definition import LossyFeature
from toolcrib_core.json_values import pointer_join
from toolcrib_core.schema.rebuilding import with_subschemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic.json_schema import JsonSchemaMode

MARK = "x-toolcrib-lossy"

_BOUNDS = ("gt", "ge", "lt", "le")
_TEMPORAL = (*_BOUNDS, "now_op", "tz_constraint")
# Options of a core schema node that pydantic leaves out of the JSON Schema.
_UNSAID_CONSTRAINTS = {
    "date": _TEMPORAL,
    "datetime": _TEMPORAL,
    "time": _TEMPORAL,
    "timedelta": _TEMPORAL,
    "decimal": (*_BOUNDS, "multiple_of", "max_digits", "decimal_places"),
    "fraction": _BOUNDS,
    "url": ("allowed_schemes", "host_required"),
    "multi-host-url": ("allowed_schemes", "host_required"),
    "str": ("ascii_only",),
}
_STRING_TRANSFORMS = ("strip_whitespace", "to_lower", "to_upper")
_TEXT_LIKE_KEYS = frozenset({"any", "definition-ref", "enum", "json-or-python", "literal", "str"})
_NOTICES = {
    "non-serializable-default": ("non-json-default", "The default is not a JSON value and is left out."),
    "skipped-choice": ("arbitrary-type", "One alternative has no JSON form and is left out."),
    "arbitrary-type": ("arbitrary-type", "The type has no JSON form; any value is allowed here."),
    "arbitrary-field": ("arbitrary-type", "A field whose type has no JSON form is left out; it keeps its default."),
    "pattern": ("python-regex", "The pattern uses what only Python's `re` knows and is left out."),
}


def lossy_features(node: Mapping[str, Any], mode: JsonSchemaMode) -> list[tuple[str, str]]:
    """The features, each with a sentence, that this one node of a core schema has and its JSON Schema has not.

    Validators and defaults count where values come in (`validation`), serializers where they go out.
    """
    found = [*_unsaid_constraints(node), *_transforms(node), *_strictness(node), *_by_kind(node)]
    return found + (list(_on_the_way_in(node)) if mode == "validation" else list(_on_the_way_out(node)))


def notice(kind: str) -> tuple[str, str] | None:
    """The feature behind something that the generator had to leave out, or nothing when nothing is lost."""
    return _NOTICES.get(kind)


def marked(schema: dict[str, Any], features: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """A copy of the JSON Schema that carries these features beside those it has."""
    marks = [*schema.get(MARK, ()), *(list(each) for each in features)]
    unique = [each for index, each in enumerate(marks) if each not in marks[:index]]
    return {**schema, MARK: unique} if unique else schema


def take_marks(schema: dict[str, Any]) -> tuple[dict[str, Any], list[LossyFeature]]:
    """The JSON Schema without marks, and the features they stood for, in document order."""
    found: list[LossyFeature] = []

    def take(inner: Any, where: str) -> Any:
        if not isinstance(inner, dict):
            return inner
        found.extend(LossyFeature(pointer=where, feature=each[0], message=each[1]) for each in inner.get(MARK, ()))
        clean = with_subschemas(inner, lambda each, keys: take(each, reduce(pointer_join, keys, where)))
        clean.pop(MARK, None)
        return clean

    return take(schema, ""), found


def _unsaid_constraints(node: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    # pydantic wraps a URL and describes the inside without asking for it as a node.
    if node["type"] == "function-wrap" and node["schema"]["type"] in {"url", "multi-host-url"}:
        node = node["schema"]
    names = [name for name in _UNSAID_CONSTRAINTS.get(node["type"], ()) if node.get(name) not in (None, False)]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        yield "constraint", f"JSON Schema cannot say {listed} of a {node['type']}."


def _transforms(node: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    config = node.get("config", {})
    names = [
        name for name in _STRING_TRANSFORMS if (node["type"] == "str" and node.get(name)) or config.get(f"str_{name}")
    ]
    if names:
        yield "transform", f"Texts are changed before they are used: {', '.join(f'`{name}`' for name in names)}."


def _strictness(node: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    if node.get("strict") is True or node.get("config", {}).get("strict") is True:
        yield "strict", "In strict mode `1.0` is not an integer; JSON Schema says it is."


def _by_kind(node: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    match node["type"]:
        case "tagged-union" if callable(node["discriminator"]):
            yield "callable-discriminator", "A function chooses the alternative; the schema only lists them."
        case "dict" | "ordered-dict" | "counter" if node.get("keys_schema", node)["type"] not in _TEXT_LIKE_KEYS | {
            node["type"]
        }:
            yield "dict-keys", f"JSON keys are text; that they must read as {node['keys_schema']['type']} is not said."
        case "chain" if len(node["steps"]) > 1:
            yield "transform", "The value passes through several steps; the schema describes one of them."


def _on_the_way_in(node: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    match node["type"]:
        case "function-before" | "function-after" | "function-wrap" | "function-plain":
            function = node["function"]["function"]
            if not _is_pydantics_own(function):
                yield "validator", f"`{_name_of(function)}` may refuse or change the value."
        case "default" if "default_factory" in node:
            yield "default-factory", "The default is made when the tool is called."
        case "enum" if node["cls"]._missing_.__func__ is not Enum._missing_.__func__:  # type: ignore[attr-defined]  # a classmethod has it
            yield "enum-missing", "The enumeration takes further values through its `_missing_`."
        case "model" if node.get("custom_init") or _own_post_init(node):
            yield "post-init", f"`{node['cls'].__name__}` runs code of its own when it is made."
        case "dataclass" if node.get("post_init"):
            yield "post-init", f"`{node['cls'].__name__}` runs code of its own when it is made."
        case "model-fields" | "dataclass-args" | "typed-dict":
            for field in node.get("computed_fields", ()):
                yield "computed-field", f"`{field['property_name']}` is computed; it is no argument."
        case "model-field" | "dataclass-field" | "typed-dict-field" if _has_several_aliases(node):
            yield "alias", "The field has further names or a path; the schema has the first name only."


def _on_the_way_out(node: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    serializer = node.get("serialization", {})
    by_function = serializer.get("type") in {"function-plain", "function-wrap"}
    if by_function and "return_schema" not in serializer and not _is_pydantics_own(serializer["function"]):
        yield "serializer", f"`{_name_of(serializer['function'])}` writes the value and does not say as what."


def _own_post_init(node: Mapping[str, Any]) -> bool:
    # A model with private attributes has pydantic's own hook.
    return bool(node.get("post_init")) and not _is_pydantics_own(getattr(node["cls"], node["post_init"]))


def _has_several_aliases(node: Mapping[str, Any]) -> bool:
    alias = node.get("validation_alias")
    return isinstance(alias, list) and (
        len(alias) > 1 or any(isinstance(path, list) and len(path) > 1 for path in alias)
    )


def _is_pydantics_own(function: Callable[..., object]) -> bool:
    bare = _bare(function)
    module = getattr(bare, "__module__", None) or type(bare).__module__
    # `annotated_types.Predicate` becomes a function of pydantic's that calls the author's.
    return module.split(".")[0] in {"pydantic", "pydantic_core"} and getattr(bare, "__name__", "") != "val_func"


def _name_of(function: Callable[..., object]) -> str:
    bare = _bare(function)
    name = getattr(bare, "__name__", type(bare).__name__)
    return "a predicate" if name in {"val_func", "<lambda>"} else name


def _bare(function: Any) -> Any:
    inner = getattr(function, "func", function)
    return getattr(inner, "__func__", inner)
