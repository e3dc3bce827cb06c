"""`toolcrib view`: a part of a large result that was kept, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import typer

from toolcrib_cli.asking import Choice
from toolcrib_cli.screen import print_json, print_text, tell
from toolcrib_cli.session import with_gateway
from toolcrib_core import ToolError, parse_json
from toolcrib_core.wording import kind_of, quoted

if TYPE_CHECKING:
    from toolcrib_mcp.gateway import Gateway
    from toolcrib_mcp.views import View

_TEXTS: Final = frozenset({"text", "pattern", "pointer", "path"})
"""The fields of selectors that are text, also where it looks like a number."""

_MAX_PAGES: Final = 10_000


def run_view(
    *,
    choice: Choice,
    handle: str,
    part: str,
    fields: Sequence[str],
    selector: str | None,
    cursor: str | None,
    every_page: bool,
    as_json: bool,
) -> None:
    """Print a part, or with `every_page` all of it from the cursor on.

    Raises:
        ToolError: There is no such result, or it cannot be looked at like that.
        BadParameter: The selector cannot be read.
    """
    wanted = read_fields(part, fields) if selector is None else _whole(selector)

    async def work(gateway: Gateway) -> list[View]:
        pages = [await gateway.view(handle, wanted, cursor=cursor)]
        while every_page and pages[-1].cursor is not None and len(pages) < _MAX_PAGES:
            pages.append(await gateway.view(handle, wanted, cursor=pages[-1].cursor))
        return pages

    pages = with_gateway(choice, work, timeout=0.1, keeping=True, learning=False)
    if as_json:
        print_json({"handle": handle, "selector": wanted, "pages": [_page_json(each) for each in pages]})
        return
    for page in pages:
        print_text(page.text)
        if page.block is not None:
            tell("The content itself is not text: `--json` has it.")


def read_fields(part: str, fields: Sequence[str]) -> dict[str, Any]:
    """A selector from its type and `key=value` fields; values are JSON where they read as such, else text.

    Raises:
        BadParameter: A field is no `KEY=VALUE`.
    """
    read: dict[str, Any] = {"type": part}
    for field in fields:
        key, mark, value = field.partition("=")
        if not (key and mark):
            raise typer.BadParameter(f"{quoted(key)} is no `KEY=VALUE`, as in `count=5`.", param_hint="KEY=VALUE")
        read[key] = value if key in _TEXTS else _value(key, value)
    return read


def _value(key: str, text: str) -> Any:
    try:
        return parse_json(text)
    except ToolError:
        return text.split(",") if key == "columns" else text


def _whole(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ToolError as failure:
        raise typer.BadParameter(failure.message, param_hint="--selector") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"A selector is a JSON object, and this is {kind_of(value)}.", param_hint="--selector")
    return value


def _page_json(page: View) -> dict[str, Any]:
    told: dict[str, Any] = {"text": page.text, "cursor": page.cursor, "facts": page.facts}
    return told if page.block is None else told | {"block": page.block}
