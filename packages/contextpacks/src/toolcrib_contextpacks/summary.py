"""What a compact page begins with: its subject or what to do, the verdict, risks, gaps, and where to go on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolcrib_contextpacks.document import Document, Pack
from toolcrib_contextpacks.finalize import verdict_of
from toolcrib_contextpacks.freshness import Freshness
from toolcrib_contextpacks.profiles import Profile
from toolcrib_contextpacks.quoting import one_line
from toolcrib_contextpacks.refs import RefState

_RISKS: Final = re.compile(
    r"\b(?:risks?|risky|blockers?|critical|incidents?|warnings?|danger(?:ous)?)\b", re.IGNORECASE
)
_GAPS: Final = re.compile(r"\b(?:gaps?|missing|unknown|todo|tbd|follow-?ups?|fixme|untested)\b", re.IGNORECASE)
_TASKS: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[ ?\]\s*)?(.+)$")
_OPEN_TASKS: Final = re.compile(r"^\s*[-*+]\s+\[ ?\]\s*(.+)$")
_TASK_SECTIONS: Final = frozenset(
    "plan todo todos tasks task steps next next_steps next-steps actions remaining".split()
)
_FEW, _SOME = 3, 5
_MANY = 8
_NOTE_TOKENS = 45


def summary(
    pack: Pack, states: Sequence[RefState], fresh: Freshness, profile: Profile, *, is_partial: bool
) -> list[str]:
    """The lines of the summary."""
    document = pack.document
    verdict = verdict_of(document) or "none"
    lines = ["## Handoff summary [handoff]", "", f"- objective: {one_line(pack.heading)}"]
    if profile.is_actionable:
        lines += _bullets("what_to_do", _tasks(document), "nothing is listed; see the sections below")
        lines += _bullets("where", _places(states), "no references")
    else:
        lines.append(f"- scope: {_scope(document)}")
    lines.append(f"- verdict_status: status={pack.status}, verdict={verdict}, freshness_state={fresh.state}")
    lines.append(f"- freshness: expires_at={fresh.expires_at}, ttl_remaining={fresh.remaining}")
    risks = "open_risks" if profile.is_actionable else "top_risks"
    lines += _bullets(risks, _risks(document, states, fresh), "none explicitly signaled")
    lines += _bullets("top_gaps", _gaps(document, is_partial=is_partial), "none explicitly tagged")
    return [*lines, *_bullets("deep_nav_hints", _hints(pack, is_partial=is_partial), ""), ""]


def _bullets(name: str, texts: Sequence[str], otherwise: str) -> list[str]:
    return [f"- {name}:", *(f"  - {each}" for each in texts or [otherwise])]


def _scope(document: Document) -> str:
    if (document.brief or "").strip():
        return one_line(document.brief or "", tokens=120)
    titles = [one_line(each.title, tokens=20) for each in document.sections[:_SOME]]
    return f"sections in scope: {', '.join(titles)}" if titles else "scope is not explicitly documented in pack brief"


def _risks(document: Document, states: Sequence[RefState], fresh: Freshness) -> list[str]:
    found = [fresh.warning] if fresh.warning else []
    for word, keys in (
        ("stale", [each.ref.key for each in states if each.lines is None]),
        ("drifted", [each.ref.key for each in states if each.drifted]),
    ):
        if keys:
            more = f" and {len(keys) - _SOME} more" if len(keys) > _SOME else ""
            found.append(f"{word} refs: {', '.join(keys[:_SOME])}{more}")
    return _few([*found, *_noted(document, _RISKS)])


def _gaps(document: Document, *, is_partial: bool) -> list[str]:
    partial = ["this page is partial; go on with `next_page_token`"] if is_partial else []
    return _few([*_noted(document, _GAPS)][: _FEW - len(partial)] + partial)


def _noted(document: Document, words: re.Pattern[str]) -> Iterator[str]:
    """The lines that speak of something, shortened."""
    for text in _said(document):
        for line in text.splitlines():
            if words.search(line):
                yield one_line(line.strip().lstrip("-*+# "), tokens=_NOTE_TOKENS)


def _said(document: Document) -> Iterator[str]:
    yield document.brief or ""
    for section in document.sections:
        yield section.title
        yield section.description or ""
        for ref in section.refs:
            yield ref.title or ""
            yield ref.why or ""
        for diagram in section.diagrams:
            yield diagram.title
            yield diagram.why or ""


def _few(texts: Sequence[str]) -> list[str]:
    unique = {each.casefold(): each for each in reversed(texts)}
    return list(reversed(unique.values()))[:_FEW]


def _tasks(document: Document) -> list[str]:
    """The steps that a section of tasks lists, and whatever is left to tick elsewhere."""
    found: list[str] = []
    for section in document.sections:
        pattern = _TASKS if section.key in _TASK_SECTIONS else _OPEN_TASKS
        for line in (section.description or "").splitlines():
            task = pattern.match(line)
            if task:
                found.append(one_line(task[1], tokens=_NOTE_TOKENS))
    more = [f"and {len(found) - _MANY} more, in the sections below"] if len(found) > _MANY else []
    return found[:_MANY] + more


def _places(states: Sequence[RefState]) -> list[str]:
    def place(state: RefState) -> str:
        ref = state.ref
        why = f" — {one_line(ref.why or ref.title or '', tokens=30)}" if ref.why or ref.title else ""
        marker = " (stale)" if state.lines is None else " (drifted)" if state.drifted else ""
        return f"{one_line(ref.path, tokens=60)}:{ref.line_start}-{ref.line_end}{marker}{why}"

    more = [f"and {len(states) - _MANY} more, in the sections below"] if len(states) > _MANY else []
    return [place(each) for each in states[:_MANY]] + more


def _hints(pack: Pack, *, is_partial: bool) -> list[str]:
    def call(**more: str) -> str:
        return json.dumps({"action": "read", "id": pack.id, **more})

    hints = [f"full_evidence: output {call(profile='reviewer')}"]
    if is_partial:
        hints.append(f"continue: output {call(page_token='<next_page_token>')}")  # noqa: S106  # a placeholder
    sections = pack.document.sections
    if sections:
        named = ", ".join(f"{one_line(each.title, tokens=20)}[{each.key}]" for each in sections[:_SOME])
        more = f" and {len(sections) - _SOME} more" if len(sections) > _SOME else ""
        hints.append(f"sections: {named}{more}")
    return hints
