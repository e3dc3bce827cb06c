"""How the clients of the Python package index are started: each is a program of ours in its own environment."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Final

from tests.clients.place import Launch, Place
from tests.reference.parts import installed

_PROGRAMS: Final = Path(__file__).parent / "programs"


def _launch(part: str, program: str, place: Place) -> Launch:
    python = installed(part).folder / "bin" / "python"
    job = json.dumps({"entry": place.entry.as_json, "model": place.model})
    line = [str(python), "-W", "ignore", str(_PROGRAMS / program), job]
    return Launch(line=line, environment=place.environment(PYTHONDONTWRITEBYTECODE="1"))


pydantic_ai: Final = partial(_launch, "pydantic-ai", "pydantic_ai_agent.py")
openai_agents: Final = partial(_launch, "openai-agents", "openai_agent.py")
langchain: Final = partial(_launch, "langchain", "langchain_agent.py")
mcp_sdk: Final = partial(_launch, "mcp-sdk", "mcp_sdk_caller.py")
fastmcp: Final = partial(_launch, "fastmcp", "fastmcp_caller.py")
