"""What the schemas of the Claude Agent SDK can say: MCP takes every keyword, the SDK's own validation does not."""

from __future__ import annotations

import re
from typing import Final

from toolcrib_core.providers.dialects import ANNOTATIONS, ASSERTIONS, VendorDialect

SERVED: Final = VendorDialect(
    name="The Claude Agent SDK",
    root_combinators=False,
    parameters=re.compile(r"[a-zA-Z0-9_.-]{1,64}"),
    parameter_rule="letters, digits, `_`, `.` and `-`, at most 64 characters.",
)
"""Every keyword is taken. At the root, Claude's API behind the SDK refuses `anyOf`, `oneOf` and `allOf`."""

CHECKED_BY_SDK: Final = VendorDialect(
    name="The validation of the Claude Agent SDK",
    keywords=(ASSERTIONS | ANNOTATIONS | {"$defs"}) - {"pattern", "patternProperties"},
    root_combinators=False,
)
"""As `SERVED`, without regular expressions: the SDK matches them with Python's `re`, which does not know all that
JSON Schema knows, and which a hostile pattern can keep busy for hours."""
