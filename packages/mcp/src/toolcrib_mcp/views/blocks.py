"""Images, sounds and files given back as the content blocks that they were."""

from __future__ import annotations

from base64 import b64encode
from typing import Final

from toolcrib_core import JsonObject
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views.failing import wrong
from toolcrib_mcp.views.pages import View
from toolcrib_mcp.views.visible import visible

MAX_MEDIA_BYTES: Final = 5 * 1024 * 1024
"""What an image or a sound may have to be given back whole; models take no larger images."""

MAX_FILE_BYTES: Final = 1024 * 1024
"""What any other file may have."""

_DEFAULT_TYPES = {ContentKind.IMAGE: "image/png", ContentKind.AUDIO: "audio/wav"}
_MAX_TYPE_LENGTH = 100


def raw_view(content: bytes, kind: ContentKind, *, media_type: str | None, handle: str) -> View:
    """The content as one block.

    Raises:
        ViewFailed: It is too large to be given back whole.
    """
    limit = MAX_FILE_BYTES if kind is ContentKind.BINARY else MAX_MEDIA_BYTES
    if len(content) > limit:
        raise wrong(
            f"The content has {len(content):,} bytes, and at most {limit:,} are given back whole.",
            hint="Read it in parts.",
            type_="bytes",
        )
    mime = media_type or _DEFAULT_TYPES.get(kind, "application/octet-stream")
    data = b64encode(content).decode()
    facts: JsonObject = {"unit": "bytes", "first": 0, "last": max(0, len(content) - 1), "total": len(content)}
    return View(
        text=f"[{visible(mime[:_MAX_TYPE_LENGTH])}, all of {len(content):,} bytes]",
        facts=facts,
        block=_block(kind, data=data, mime=mime, handle=handle),
    )


def _block(kind: ContentKind, *, data: str, mime: str, handle: str) -> JsonObject:
    if kind is ContentKind.BINARY:
        resource: JsonObject = {"uri": f"toolcrib://artifacts/{handle}", "mimeType": mime, "blob": data}
        return {"type": "resource", "resource": resource}
    return {"type": kind.value, "data": data, "mimeType": mime}
