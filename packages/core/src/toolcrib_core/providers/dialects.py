"""`VendorDialect`: what a vendor's schemas can say in one mode, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

IDENTIFIERS: Final = frozenset({"$schema", "$id", "$anchor", "$dynamicAnchor", "$vocabulary", "$defs", "definitions"})
"""Keywords that only name things; references are rewritten, so that none of them is needed any more."""

ANNOTATIONS: Final = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "$comment",
    }
)
"""Keywords that inform and refuse nothing. A keyword that draft 2020-12 does not know is one, too."""

ASSERTIONS: Final = frozenset(
    {
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "items",
        "prefixItems",
        "maxItems",
        "minItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "unevaluatedItems",
        "properties",
        "patternProperties",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "maxProperties",
        "minProperties",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "$ref",
        "$dynamicRef",
    }
)
"""Keywords that may refuse a value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VendorDialect:
    """What the schemas of one vendor can say in one mode.

    `convert_schema` rewrites any schema into it and reports what that loses. Add the vendor's name and mode, for
    messages, and describe the rest by the fields below. With `keywords=None` the vendor takes every keyword, and a
    schema stays as it is but for the rules of the root and of arrays.
    """

    name: str
    keywords: frozenset[str] | None = None
    """The keywords that are kept. Others are translated where that can be done (`const` into `enum`, `oneOf` into
    `anyOf`, `allOf` by merging, `prefixItems` into a union), and otherwise left out and reported."""
    formats: frozenset[str] | None = None
    """The values of `format` that are kept, if `format` is among the keywords; None is all of them."""
    closed_objects: bool = False
    """Every object gets `additionalProperties: false`."""
    all_required: bool = False
    """Every property is required; one that was optional may be null instead, and `restore_arguments` takes the null
    out again."""
    typed: bool = False
    """Every schema must say what it takes: by `type`, `enum`, `const`, `anyOf` or `$ref`."""
    type_lists: bool = True
    """`type` may be a list; if not, a list becomes an `anyOf`."""
    enum_types: frozenset[str] | None = None
    """The JSON types (`string`, `integer`, `number`, `boolean`, `null`, `object`, `array`) that values of an `enum` may
    have; None is all. An enum with another value is left out."""
    root_combinators: bool = True
    """`anyOf`, `oneOf`, `allOf`, `not` and `enum` may stand at the root; if not, alternatives are merged into one."""
    ref_siblings: bool = True
    """Other keywords may stand beside a `$ref`."""
    recursion: bool = True
    """A schema may refer to itself."""
    array_items: bool = False
    """Every array must have `items`."""
    max_min_items: int | None = None
    """The largest `minItems` that is kept."""
    tell: bool = True
    """What is left out is said in the description of the place."""
    max_depth: int | None = None
    """How deep objects and arrays may be nested; the root counts."""
    max_properties: int | None = None
    """How many properties there may be in all."""
    max_enum_values: int | None = None
    """How many values there may be in all enums together."""
    max_text: int | None = None
    """How many characters all names of properties and definitions and all values of enums and consts may have."""

    parameters: re.Pattern[str] | None = None
    """What the name of a parameter must match as a whole; the vendor refuses the whole request for another one."""
    parameter_rule: str = ""
    """The same as a sentence."""

    def takes_parameter(self, name: str) -> bool:
        """Whether a parameter may have that name."""
        return self.parameters is None or self.parameters.fullmatch(name) is not None

    def keeps(self, keyword: str) -> bool:
        """Whether the keyword can stay."""
        return self.keywords is None or keyword in self.keywords
