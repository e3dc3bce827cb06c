"""The JSON Schema of the file format, made from the models, for editors and other readers."""

from __future__ import annotations

from typing import Any

from toolcrib_toolpacks.model import ToolpackFile


def toolpack_schema() -> dict[str, Any]:
    """The schema of a `*.tool.yaml` file, in draft 2020-12.

    It says what one file alone can say; what the parts must be to each other, and files on disk, the loader checks.
    """
    schema = ToolpackFile.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Toolpack",
        "description": "One tool of toolcrib, declared in a `*.tool.yaml` file.",
    }
