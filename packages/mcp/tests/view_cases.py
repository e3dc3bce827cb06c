"""What tests of views share: following cursors to the end, with every answer checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

from toolcrib_core import count_tokens
from toolcrib_mcp.errors import ViewFailed
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.views import View, read_selector, view

HANDLE = "art_abcdefghij234567"
MAX_PAGES = 5_000


def seen(
    content: bytes | str, selector: Mapping[str, object], kind: ContentKind = ContentKind.PROSE, *, budget: int = 1_500
) -> View:
    """The first page."""
    raw = content.encode() if isinstance(content, str) else content
    answer = view(raw, kind, read_selector(selector), handle=HANDLE, budget=budget)
    assert count_tokens(answer.text) <= budget
    return answer


def pages(
    content: bytes | str,
    selector: Mapping[str, object],
    kind: ContentKind = ContentKind.PROSE,
    *,
    budgets: Sequence[int] = (200,),
) -> Iterator[View]:
    """Every page, each within the next of the budgets; the last one has no cursor."""
    raw = content.encode() if isinstance(content, str) else content
    chosen = read_selector(selector)
    cursor = None
    for number, budget in enumerate(cycle(budgets)):
        answer = view(raw, kind, chosen, handle=HANDLE, cursor=cursor, budget=budget)
        assert count_tokens(answer.text) <= budget
        assert (answer.cursor is not None) == ("[more: cursor" in answer.text.rpartition("\n")[2])
        yield answer
        if answer.cursor is None:
            return
        assert number < MAX_PAGES
        cursor = answer.cursor


def body(answer: View) -> str:
    """What stands between the line that says where it is and the line with the cursor."""
    lines = answer.text.split("\n")[1:]
    return "\n".join(lines[:-1] if answer.cursor is not None else lines)


def attempted(
    content: bytes | str, selector: object, kind: ContentKind = ContentKind.PROSE, *, budget: int = 1_500
) -> View | ViewFailed:
    """The answer, or the error that the selector is answered with; any other error passes."""
    raw = content.encode() if isinstance(content, str) else content
    try:
        return view(raw, kind, read_selector(selector), handle=HANDLE, budget=budget)
    except ViewFailed as error:
        return error


def refusal(
    content: bytes | str, selector: object, kind: ContentKind = ContentKind.PROSE, *, budget: int = 1_500
) -> ViewFailed:
    """The error that the selector is answered with."""
    error = attempted(content, selector, kind, budget=budget)
    assert isinstance(error, ViewFailed)
    return error
