"""Two tools that the conversations of the adapters' tests use, and one that is only described."""

from __future__ import annotations

from toolcrib_core import ToolDefinition
from toolcrib_runtime import create_toolbox, tool


@tool(effects="none", namespace="math", version="1.0.0")
def add(a: int, b: int, note: str = "") -> int:
    """Add two numbers."""
    return a + b + len(note)


@tool(effects="none", namespace="math", version="1.0.0")
def divide(a: float, b: float) -> float:
    """Divide one number by another."""
    return a / b


TOOLBOX = create_toolbox([add, divide])
DEFINITIONS = [add.definition, divide.definition]
FIND = ToolDefinition(
    name="find_tools",
    description="Find tools.",
    input_schema={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
"""A search that the test itself answers."""
