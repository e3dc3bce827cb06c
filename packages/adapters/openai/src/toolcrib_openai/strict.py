"""What the schemas of the OpenAI APIs can say, strictly and not."""

from __future__ import annotations

from typing import Final

from toolcrib_core import VendorDialect

STRICT: Final = VendorDialect(
    name="OpenAI strict mode",
    keywords=frozenset(
        "type properties required additionalProperties items anyOf enum const $ref title description pattern format "
        "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split()
    ),
    formats=frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split()),
    closed_objects=True,
    all_required=True,
    typed=True,
    root_combinators=False,
    ref_siblings=False,
    max_depth=10,
    max_properties=5_000,
    max_enum_values=1_000,
    max_text=120_000,
)
"""With `strict: true`: the model can write nothing else than what the schema says."""

PLAIN: Final = VendorDialect(name="OpenAI", root_combinators=False, array_items=True)
"""With `strict: false`: any schema of an object, with no alternatives at the root and with `items` in every array; both
APIs refuse a request that has them otherwise."""
