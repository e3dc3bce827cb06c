"""The ways in which a path is opened beneath a root: what holds for one must hold for the other."""

from __future__ import annotations

import pytest

from toolcrib_runtime.guards.paths.beneath import best_mechanism

_NO_OPENAT2 = pytest.mark.skipif(best_mechanism() != "openat2", reason="this kernel has no openat2: the walk runs here")

MECHANISMS = [pytest.param("openat2", marks=_NO_OPENAT2), "walk"]
