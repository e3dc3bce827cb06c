"""A tool that forks must not bring a second runtime to life.

In the copy, the code that called the tool would go on as well: write the same answer to the same connection, run the
same loop on the same file descriptors. So the copy ends where the tool's own code ends.
"""

from __future__ import annotations

import os
from typing import NoReturn

_EXIT_STATUS = 70  # EX_SOFTWARE: whoever waits for the copy sees that it was not meant to live on.


generation = 0
"""How often this process is the copy of another; read it before the tool's code runs, and compare it afterwards."""


def _count() -> None:  # pragma: no cover  # only ever in a copy, which is not measured
    global generation  # noqa: PLW0603  # read on the way of every call, where a function would cost more than the check
    generation += 1


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has none
    os.register_at_fork(after_in_child=_count)


def end_copy() -> NoReturn:  # pragma: no cover  # as above
    """End this process, which a tool made by forking."""
    os._exit(_EXIT_STATUS)
