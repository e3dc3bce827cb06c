"""One rule per keyword: when what is given implies what the keyword demands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from toolcrib_core.schema.compare_facts import NUMBERS, Facts, Given, Node, is_valid_value, json_key, type_atoms

if TYPE_CHECKING:
    from toolcrib_core.schema.compare_inclusion import Inclusion

Rule: TypeAlias = "Callable[[Inclusion, Given, Facts, Node], bool]"

_REFERENCES = frozenset({"$ref", "$dynamicRef"})
# Whether `format` is checked is for the validator to say, so no proof may rest on evaluating it.
_UNEVALUABLE = _REFERENCES | {"format"}


def is_same(one: Node, other: Node) -> bool:
    """Whether two schemas are the same, word for word, and mean the same wherever they stand."""
    # Python alone would take `true` for `1`, hence the keys; `==` is the cheaper question and comes first.
    equal = one.schema == other.schema and json_key(one.schema) == json_key(other.schema)
    return equal and not mentions_reference(one.schema)


def mentions_reference(schema: Any) -> bool:
    """Whether the meaning of a schema depends on the document it stands in."""
    return _mentions(schema, _REFERENCES)


def holds_for_values(facts: Facts, wanted: Node) -> bool:
    """Whether the values can be listed and each of them satisfies the schema."""
    if facts.values is None or _mentions(wanted.schema, _UNEVALUABLE):
        return False
    return all(is_valid_value(wanted.schema, value) for value in facts.values)


def _mentions(value: Any, keywords: frozenset[str]) -> bool:
    if isinstance(value, Mapping):
        return any(key in keywords or _mentions(each, keywords) for key, each in value.items())
    return isinstance(value, list) and any(_mentions(each, keywords) for each in value)


def _reference(proof: Inclusion, given: Given, _: Facts, wanted: Node) -> bool:
    return wanted.target is not None and proof.holds(given, wanted.target)


def _never(_: Inclusion, __: Given, ___: Facts, ____: Node) -> bool:
    return False


def _type(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
    return facts.types <= type_atoms(wanted.keywords["type"])


def _enum(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
    return _among(facts, wanted.keywords["enum"])


def _const(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
    return _among(facts, [wanted.keywords["const"]])


def _among(facts: Facts, values: list[Any]) -> bool:
    allowed = {json_key(value) for value in values}
    return facts.values is not None and all(json_key(value) in allowed for value in facts.values)


def _bound(keyword: str, types: frozenset[str], sign: int, inclusive: str, exclusive: str = "") -> Rule:
    """The rule of a bound; `sign` is 1 for a lower and -1 for an upper one."""

    def rule(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
        if facts.types.isdisjoint(types):
            return True
        bound = sign * wanted.keywords[keyword]
        known = [(sign * value, False) for value in facts.all_of(inclusive)]
        known += [(sign * value, True) for value in facts.all_of(exclusive)]
        if inclusive in {"minLength", "minItems", "minProperties"}:
            known.append((len(facts.required) if inclusive == "minProperties" else 0, False))
        strict = keyword == exclusive
        return any(value > bound or (value == bound and (open_end or not strict)) for value, open_end in known)

    return rule


def _multiple_of(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
    step = wanted.keywords["multipleOf"]
    # Only whole numbers: engines do not agree on multiples of fractions.
    steps = [each for each in facts.all_of("multipleOf") if isinstance(each, int)]
    steps += [1] if "fraction" not in facts.types else []
    whole = isinstance(step, int) and any(each % step == 0 for each in steps)
    return facts.types.isdisjoint(NUMBERS) or whole or step in facts.all_of("multipleOf")


def _word_for_word(keyword: str, types: frozenset[str] = frozenset()) -> Rule:
    def rule(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
        foreign = bool(types) and facts.types.isdisjoint(types)
        return foreign or wanted.keywords[keyword] in facts.all_of(keyword)

    return rule


def _unique_items(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
    short = any(each <= 1 for each in facts.all_of("maxItems"))
    unique = short or True in facts.all_of("uniqueItems") or not wanted.keywords["uniqueItems"]
    return unique or "array" not in facts.types


def _required(_: Inclusion, __: Given, facts: Facts, wanted: Node) -> bool:
    return "object" not in facts.types or facts.required.issuperset(wanted.keywords["required"])


def _dependent_required(proof: Inclusion, _: Given, facts: Facts, wanted: Node) -> bool:
    def met(name: str, needed: list[str]) -> bool:
        had = facts.required.union(*(each.get(name, ()) for each in facts.all_of("dependentRequired")))
        return had.issuperset(needed) or proof.impossible(facts.property_nodes(name))

    with proof.inside():
        return "object" not in facts.types or all(met(*each) for each in wanted.keywords["dependentRequired"].items())


def _dependent_schemas(proof: Inclusion, given: Given, facts: Facts, wanted: Node) -> bool:
    def met(name: str, schema: Any) -> bool:
        triggered = [
            each.child(each.keywords["dependentSchemas"].get(name, True))
            for each in facts.nodes
            if "dependentSchemas" in each.keywords
        ]
        return proof.holds((*given, proof.named("required", name), *triggered), wanted.child(schema))

    return "object" not in facts.types or all(met(*each) for each in wanted.keywords["dependentSchemas"].items())


def _properties(proof: Inclusion, _: Given, facts: Facts, wanted: Node) -> bool:
    if "object" not in facts.types:
        return True
    named = sorted(facts.names | set(wanted.keywords.get("properties", ())))
    with proof.inside():
        return (
            all(proof.holds(facts.property_nodes(name), each) for name in named for each in wanted.property_nodes(name))
            and all(
                proof.holds(facts.matching_nodes(each), wanted.child(wanted.patterns[each])) for each in wanted.patterns
            )
            and all(proof.holds(facts.unnamed_nodes(wanted.patterns), each) for each in wanted.unnamed_nodes())
        )


def _property_names(proof: Inclusion, _: Given, facts: Facts, wanted: Node) -> bool:
    if "object" not in facts.types:
        return True
    names = wanted.child(wanted.keywords["propertyNames"])
    known = facts.children("propertyNames")
    with proof.inside():
        if proof.holds(known, names):
            return True
        closed = proof.impossible(facts.unnamed_nodes(()))
        return closed and all(proof.holds((proof.named("const", name),), names) for name in sorted(facts.names))


def _items(proof: Inclusion, _: Given, facts: Facts, wanted: Node) -> bool:
    if "array" not in facts.types:
        return True
    prefixes = [*facts.all_of("prefixItems"), wanted.keywords.get("prefixItems", ())]
    places = min([max(map(len, prefixes)) + 1, *facts.all_of("maxItems")])
    with proof.inside():
        return all(
            proof.holds(facts.item_nodes(at), each) for at in range(int(places)) for each in wanted.item_nodes(at)
        )


def _contains(proof: Inclusion, _: Given, facts: Facts, wanted: Node) -> bool:
    least, most = wanted.keywords.get("minContains", 1), wanted.keywords.get("maxContains")
    sought = wanted.child(wanted.keywords["contains"])
    with proof.inside():
        enough = least == 0 or any(
            each.keywords.get("minContains", 1) >= least
            and proof.holds((each.child(each.keywords["contains"]),), sought)
            for each in facts.nodes
            if "contains" in each.keywords
        )
        few = most is None or any(
            each.keywords.get("maxContains", most + 1) <= most
            and proof.holds((sought,), each.child(each.keywords["contains"]))
            for each in facts.nodes
            if "contains" in each.keywords
        )
    return "array" not in facts.types or (enough and few)


def _all_of(proof: Inclusion, given: Given, _: Facts, wanted: Node) -> bool:
    return all(proof.holds(given, wanted.child(each)) for each in wanted.keywords["allOf"])


def _any_of(proof: Inclusion, given: Given, _: Facts, wanted: Node) -> bool:
    return any(proof.holds(given, wanted.child(each)) for each in wanted.keywords["anyOf"])


def _one_of(proof: Inclusion, given: Given, _: Facts, wanted: Node) -> bool:
    choices = [wanted.child(each) for each in wanted.keywords["oneOf"]]
    return any(
        proof.holds(given, choice)
        and all(proof.impossible((*given, other)) for at, other in enumerate(choices) if at != chosen)
        for chosen, choice in enumerate(choices)
    )


def _not(proof: Inclusion, given: Given, facts: Facts, wanted: Node) -> bool:
    refused = wanted.child(wanted.keywords["not"])
    return proof.impossible((*given, refused)) or any(proof.holds((refused,), each) for each in facts.children("not"))


def _if(proof: Inclusion, given: Given, facts: Facts, wanted: Node) -> bool:
    then, otherwise = (wanted.child(wanted.keywords.get(each, True)) for each in ("then", "else"))
    if proof.holds(given, then) and proof.holds(given, otherwise):
        return True
    condition = wanted.child(wanted.keywords["if"])
    for node in facts.nodes:
        if "if" in node.keywords and is_same(node.child(node.keywords["if"]), condition):
            known_then, known_else = (node.child(node.keywords.get(each, True)) for each in ("then", "else"))
            if proof.holds((*given, condition, known_then), then) and proof.holds((*given, known_else), otherwise):
                return True
    return False


_STRINGS, _ARRAYS, _OBJECTS = (frozenset({each}) for each in ("string", "array", "object"))

RULES: Mapping[str, Rule] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound("minimum", NUMBERS, 1, "minimum", "exclusiveMinimum"),
    "exclusiveMinimum": _bound("exclusiveMinimum", NUMBERS, 1, "minimum", "exclusiveMinimum"),
    "maximum": _bound("maximum", NUMBERS, -1, "maximum", "exclusiveMaximum"),
    "exclusiveMaximum": _bound("exclusiveMaximum", NUMBERS, -1, "maximum", "exclusiveMaximum"),
    "multipleOf": _multiple_of,
    "minLength": _bound("minLength", _STRINGS, 1, "minLength"),
    "maxLength": _bound("maxLength", _STRINGS, -1, "maxLength"),
    "pattern": _word_for_word("pattern", _STRINGS),
    "format": _word_for_word("format"),
    "minItems": _bound("minItems", _ARRAYS, 1, "minItems"),
    "maxItems": _bound("maxItems", _ARRAYS, -1, "maxItems"),
    "uniqueItems": _unique_items,
    "minProperties": _bound("minProperties", _OBJECTS, 1, "minProperties"),
    "maxProperties": _bound("maxProperties", _OBJECTS, -1, "maxProperties"),
    "required": _required,
    "dependentRequired": _dependent_required,
    "properties": _properties,
    "patternProperties": _properties,
    "additionalProperties": _properties,
    "propertyNames": _property_names,
    "prefixItems": _items,
    "items": _items,
    "contains": _contains,
    "$ref": _reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "dependentSchemas": _dependent_schemas,
    # These depend on what other keywords have seen, which no rule here follows: only the same words prove them.
    "unevaluatedProperties": _never,
    "unevaluatedItems": _never,
    "$dynamicRef": _never,
}
"""A keyword without a rule demands nothing."""
