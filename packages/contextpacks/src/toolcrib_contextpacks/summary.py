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
    r"\b(?:risks?|risky|blockers?|critical|incidents?|warnings?|dangers?|dangerous)\b(?!-free)", re.IGNORECASE
)
_GAPS: Final = re.compile(r"\b(?:gaps?|missing|unknowns?|todos?|tbd|follow-?ups?|fixmes?|untested)\b", re.IGNORECASE)
_TASKS: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[ ?\]\s*)?(?!\[[xX]\])(.+)$")
_OPEN_TASKS: Final = re.compile(r"^\s*[-*+]\s+\[ ?\]\s*(.+)$")
_DONE: Final = re.compile(r"^\s*[-*+]\s+\[[xX]\]")
_TASK_SECTIONS: Final = frozenset(
    "plan todo todos tasks task steps next next_steps next-steps actions remaining".split()
)

# A title of nothing but these announces risks or gaps, as "Known risks" or "Risks and open gaps:".
_RISK_NOUNS: Final = frozenset("risk risks blocker blockers warning warnings danger dangers incidents".split())
_GAP_NOUNS: Final = frozenset("gap gaps unknowns todo todos tbd follow-up follow-ups followups".split())
_BESIDE_NOUNS: Final = frozenset(
    "all and current key known main major open other possible potential remaining residual security the top".split()
)
_HEADING: Final = re.compile(r"^\s*#{1,6}\s")

# "no known risks" says that there are none, "no validation of critical input" does not: only these may stand between.
_NO: Final = re.compile(
    r"\b(?:no|not|non|without|never|zero|nothing|neither|nor|free of|isn't|aren't|wasn't)[\s-]+"
    r"(?:(?:a|an|and|any|are|blockers?|further|gaps?|identified|immediate|important|is|known|major|more|new|notable|obvious|of"
    r"|open|or|other|outstanding|particular|remaining|risks?|security|serious|significant|such|the|was|were)[\s,/]+)*[*_`]*$",
    re.IGNORECASE,
)
_NONE: Final = re.compile(
    r"[\s*_`]*(?:(?:none|nil|n/a|nothing|no known|no other)\b(?!\s+of\b|[^.;]*\b(?:but|except|beyond|besides|than)\b)"
    r"|(?:no|0|-|—|)[\s*_`]*(?=[.,;]|$))",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(r"[*_`]*\s*[:=](?P<content>[^.,;:!?()]*)")
_CLAUSE_END: Final = re.compile(r"[.;:!?()]|\b(?:but|however)\b", re.IGNORECASE)
_NEARBY: Final = 120
"""So many characters before a word are searched for a negation."""
_MAX_JUDGED: Final = 1_000
"""So many characters of a line are searched for words; a note shows fewer."""

_FEW, _SOME = 3, 5
_MANY = 8
_NOTE_TOKENS = 45
_SCOPE_TOKENS = 120


def summary(
    pack: Pack, states: Sequence[RefState], fresh: Freshness, profile: Profile, *, is_partial: bool
) -> list[str]:
    """The lines of the summary."""
    document = pack.document
    verdict = verdict_of(document) or "none"
    lines = ["## Handoff summary [handoff]", "", f"- objective: {one_line(pack.heading)}"]
    lines.append(f"- scope: {_scope(document)}")
    if profile.is_actionable:
        lines += _bullets("what_to_do", _tasks(document), "nothing is listed; see the sections below")
        lines += _bullets("where", _places(states), "no references")
    lines.append(f"- verdict_status: status={pack.status}, verdict={verdict}, freshness_state={fresh.state}")
    lines.append(f"- freshness: expires_at={fresh.expires_at}, ttl_remaining={fresh.remaining}")
    risks = "open_risks" if profile.is_actionable else "top_risks"
    lines += _bullets(risks, _risks(document, states, fresh), "none explicitly signaled")
    lines += _bullets("top_gaps", _gaps(document, is_partial=is_partial), "none explicitly tagged")
    return [*lines, *_bullets("deep_nav_hints", _hints(pack, is_partial=is_partial), ""), ""]


def _bullets(name: str, texts: Sequence[str], otherwise: str) -> list[str]:
    return [f"- {name}:", *(f"  - {each}" for each in texts or [otherwise])]


def _scope(document: Document) -> str:
    """What the section `scope` says; without one, the brief."""
    section = next((each for each in document.sections if each.key == "scope" and each.has_substance), None)
    if section is not None and (section.description or "").strip():
        return one_line(section.description or "", tokens=_SCOPE_TOKENS)
    if section is not None:
        shown = [each.title or each.path for each in section.refs] + [each.title for each in section.diagrams]
        return f"see section [scope]: {one_line(', '.join(shown), tokens=_SCOPE_TOKENS)}"
    if (document.brief or "").strip():
        return one_line(document.brief or "", tokens=_SCOPE_TOKENS)
    return "not stated: the pack has no section `scope` and no brief"


def _risks(document: Document, states: Sequence[RefState], fresh: Freshness) -> list[str]:
    found = [fresh.warning] if fresh.warning else []
    for word, keys in (
        ("stale", [each.ref.key for each in states if each.lines is None]),
        ("drifted", [each.ref.key for each in states if each.drifted]),
    ):
        if keys:
            more = f" and {len(keys) - _SOME} more" if len(keys) > _SOME else ""
            found.append(f"{word} refs: {', '.join(keys[:_SOME])}{more}")
    return _few([*found, *_noted(document, _RISKS, _RISK_NOUNS)])


def _gaps(document: Document, *, is_partial: bool) -> list[str]:
    partial = ["this page is partial; go on with `next_page_token`"] if is_partial else []
    return _few([*_noted(document, _GAPS, _GAP_NOUNS)], most=_FEW - len(partial)) + partial


def _noted(document: Document, words: re.Pattern[str], nouns: frozenset[str]) -> Iterator[str]:
    """The lines that speak of something, and the lists below a title that announces it, shortened."""
    for text, title in _texts(document):
        announced = _announces(title, nouns)
        for line in (each[:_MAX_JUDGED] for each in text.splitlines()):
            if _announces(line, _RISK_NOUNS | _GAP_NOUNS) or _HEADING.match(line):
                announced = _announces(line, nouns)
            if not _DONE.match(line) and (_speaks_of(line, words) or (announced and _lists_one(line, words))):
                item = _TASKS.match(line)
                yield one_line(item[1] if item else line.strip().lstrip("# "), tokens=_NOTE_TOKENS)


def _texts(document: Document) -> Iterator[tuple[str, str]]:
    """Every text but titles of sections, with the title that it stands under."""
    yield document.brief or "", ""
    for section in document.sections:
        yield section.description or "", section.title
        for ref in section.refs:
            yield ref.title or "", ""
            yield ref.why or "", ""
        for diagram in section.diagrams:
            yield diagram.title, ""
            yield diagram.why or "", ""


def _announces(title: str, nouns: frozenset[str]) -> bool:
    """Whether a title is of these, and of nothing but risks and gaps."""
    named = set(re.findall(r"[\w-]+", title[:_NEARBY].casefold())) - _BESIDE_NOUNS - {"-"}
    return bool(named & nouns) and named <= _RISK_NOUNS | _GAP_NOUNS


def _lists_one(line: str, words: re.Pattern[str]) -> bool:
    item = _TASKS.match(line)
    return item is not None and not words.search(line) and not _NONE.match(item[1])


def _speaks_of(line: str, words: re.Pattern[str]) -> bool:
    """Whether a line says that there is something: not "no known risks", not "Gaps: none", not a title alone."""
    if _announces(line, _RISK_NOUNS | _GAP_NOUNS):
        return False
    for found in words.finditer(line):
        before = _CLAUSE_END.split(line[max(0, found.start() - _NEARBY) : found.start()])[-1]
        label = _LABEL.match(line, found.end())
        if _NO.search(before):
            continue
        if label is None or not (_NONE.match(line, label.start("content")) or words.search(label["content"])):
            return True
    return False


def _few(texts: Sequence[str], *, most: int = _FEW) -> list[str]:
    unique = [*{each.casefold(): each for each in reversed(texts)}.values()][::-1]
    more = [f"and {len(unique) - most} more, in the sections below"] if len(unique) > most else []
    return unique[:most] + more


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
