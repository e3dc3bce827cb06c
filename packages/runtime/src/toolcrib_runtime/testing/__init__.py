"""Fakes and recorders for tests of tools, of toolboxes and of what calls them; for any test runner."""

from __future__ import annotations

from toolcrib_runtime.testing.fake_clock import FakeClock
from toolcrib_runtime.testing.fake_tools import FakeTool, fake_tool
from toolcrib_runtime.testing.recorders import CallRecorder, EventRecorder

__all__ = ["CallRecorder", "EventRecorder", "FakeClock", "FakeTool", "fake_tool"]
