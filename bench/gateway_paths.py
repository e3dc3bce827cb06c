"""The gateways of the bench: ours and those of peers, each in front of the same servers over stdio."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from proxy_paths import OURS, PEERS, MetaTools, PathTo, allow_everything, installed_peers

from toolcrib_core import count_tokens

OUR_NAME = "toolcrib"
_FASTMCP_TOOLS = MetaTools(
    search="search_tools",
    execute="call_tool",
    tool_key="name",
    args_key="arguments",
    found=re.compile(r'"name":\s*"([^"]+)"'),
)
_FASTMCP = "import sys, json; from fastmcp.server import create_proxy; \
from fastmcp.server.transforms.search import BM25SearchTransform; \
server = create_proxy(json.loads(sys.argv[1]), mode='auto'); server.add_transform(BM25SearchTransform()); \
server.run(show_banner=False, log_level='error')"

# Peers that start their servers one after the other take a while with 56 of them.
_SECONDS = 300
# What the servers write to standard error is nobody's business here.
_NOWHERE = Path(os.devnull).open("w")  # noqa: SIM115  # as long as the bench runs


def gateways(folder: Path, servers: Mapping[str, Mapping[str, Any]], *, install: bool) -> list[PathTo]:
    """Ours, then every peer that is there; `servers` are the entries of a configuration by name."""
    ours = folder / "gateway.json"
    ours.write_text(json.dumps({"mcpServers": servers}))
    allow_everything(folder)
    state = {"TOOLCRIB_STATE_DIR": str(folder / "state"), "PATH": os.environ["PATH"]}
    command = [*OURS, "--mode", "gateway", "--config", str(ours)]
    paths = [PathTo(name=OUR_NAME, command=command, env=state, meta=MetaTools())]
    for name, bin_folder in installed_peers(("contextweaver", "fastmcp"), install=install):
        shown = PEERS[name].replace("==", " ")
        if name == "fastmcp":
            config = json.dumps({"mcpServers": servers})
            command = [str(bin_folder / "python"), "-c", _FASTMCP, config]
            paths.append(PathTo(name=shown, command=command, meta=_FASTMCP_TOOLS))
        else:
            command = [str(bin_folder / name), "mcp", "serve", "--config", str(_contextweaver(folder, servers))]
            paths.append(PathTo(name=shown, command=command, meta=MetaTools()))
    return paths


@asynccontextmanager
async def connected(path: PathTo) -> AsyncIterator[Client]:
    """The SDK's client at a gateway that is started for it."""
    target = StdioServerParameters(command=path.command[0], args=path.command[1:], env=dict(path.env))
    wire = stdio_client(target, errlog=_NOWHERE)
    # By handshake: the client's question which era it is has less patience than a peer with many servers needs.
    async with Client(wire, mode="legacy", read_timeout_seconds=_SECONDS) as client:
        yield client


def tokens_of(value: object) -> int:
    """What JSON costs a model, written without a space."""
    return count_tokens(orjson.dumps(value).decode())


def tools_as_json(listed: types.ListToolsResult) -> list[dict[str, Any]]:
    """The tools of a list, as they are sent."""
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]


def tokens_read(result: types.CallToolResult | Mapping[str, Any]) -> int:
    """What a result costs a model: its texts as they are, all else but pictures as JSON, the structure included."""
    whole = _as_json(result)
    blocks = [block for block in whole["content"] if block["type"] != "image"]
    texts = sum(count_tokens(block["text"]) if block["type"] == "text" else tokens_of(block) for block in blocks)
    return texts + (tokens_of(whole["structuredContent"]) if "structuredContent" in whole else 0)


def text_of(result: types.CallToolResult) -> str:
    """The text blocks of a result together."""
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


def _as_json(result: types.CallToolResult | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(result, types.CallToolResult):
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return result


def _contextweaver(folder: Path, servers: Mapping[str, Mapping[str, Any]]) -> Path:
    upstreams = {name: {"type": "stdio", "namespace": name, **entry} for name, entry in servers.items()}
    file = folder / "contextweaver.json"
    file.write_text(json.dumps({"mode": "gateway", "upstreams": upstreams}))
    return file
