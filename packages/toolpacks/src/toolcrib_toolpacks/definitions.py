"""A pack as a tool definition, so that everything that knows tools knows packs."""

from __future__ import annotations

from typing import Final

from toolcrib_core import HARMLESS, ToolDefinition, ToolRisk, merge_risks
from toolcrib_core.json_values import thaw
from toolcrib_core.search.findability import CASES_KEY
from toolcrib_toolpacks.model import HttpExecution, PythonExecution, ToolpackFile

PACK_KEY: Final = "toolpack"
"""The key of a definition's metadata under which the pack it comes from is named."""

_READING: Final = frozenset({"GET", "HEAD"})


def definition_of(pack: ToolpackFile, *, content_hash: str) -> ToolDefinition:
    """The definition of a pack's tool: the first segment of the id is the namespace, what stands behind is the name.

    The content hash is in the metadata, so whoever pins the definition pins the pack with its script.

    Raises:
        ToolError: A text cannot be carried by JSON, or a tag is malformed.
    """
    namespace, _, name = pack.id.partition(".")
    origin = {"id": pack.id, "kind": pack.execution.kind, "deterministic": pack.deterministic}
    cases = {CASES_KEY: list(pack.search_cases)} if pack.search_cases else {}
    return ToolDefinition(
        namespace=namespace,
        name=name,
        version=pack.version,
        title=pack.title or pack.name,
        description=pack.description,
        input_schema=pack.input_schema,
        output_schema=pack.output_schema,
        tags=pack.tags,
        examples=tuple(each.request for each in pack.examples if each.request is not None),
        input_examples=tuple(each.input for each in pack.examples if each.error is None),
        risk=risk_of(pack),
        metadata={**thaw(pack.metadata), **cases, PACK_KEY: {**origin, "contentHash": content_hash}},
    )


def risk_of(pack: ToolpackFile) -> ToolRisk:
    """What the author says of the risk, and never less than what the capabilities allow."""
    return merge_risks(pack.risk or ToolRisk(), _implied(pack))


def _implied(pack: ToolpackFile) -> ToolRisk:
    files, execution = pack.caps.filesystem, pack.execution
    starts_process = pack.caps.subprocess or not isinstance(execution, HttpExecution | PythonExecution)
    reaches_out = bool(pack.caps.network) or isinstance(execution, HttpExecution)
    if files.write or (isinstance(execution, HttpExecution) and execution.method not in _READING | {"POST"}):
        effects = ToolRisk(effects="write")
    elif files.read or reaches_out or starts_process:
        effects = ToolRisk(effects="read")
    else:
        effects = HARMLESS
    return HARMLESS.model_copy(
        update={"effects": effects.effects, "external_network": reaches_out, "system_access": starts_process}
    )
