"""The checklist of a finalized pack: everything that is missing is reported at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from toolcrib_contextpacks.document import Document, Section
from toolcrib_contextpacks.errors import FinalizeRefused
from toolcrib_contextpacks.refs import RefState
from toolcrib_core.wording import count, listed

REQUIRED: Final = ("scope", "findings", "qa")
"""The sections that a finalized pack has."""

VERDICTS: Final = ("pass", "passed", "fail", "failed", "blocked", "partial", "conditional", "approved", "rejected")
"""What `verdict:` may say; `verdict_other:` takes any word."""

_MAX_IN_MESSAGE: Final = 10
_VERDICT_FIELD: Final = "qa.verdict"
# `verdict: pass`, `**Verdict**: pass`, `- verdict = fail`, on a line of its own; not "no verdict yet".
_VERDICT = re.compile(rf"^[\s>*_#-]*verdict[*_`]*\s*[:=][\s*_`]*({'|'.join(VERDICTS)})\b", re.IGNORECASE | re.MULTILINE)
# One word, which ends the line or comes before a comma or the like: `not done` is no word.
_OTHER = re.compile(
    r"^[\s>*_#-]*verdict_other[*_`]*[ \t]*[:=][ \t*_`]*([^\W\d_][\w-]{0,63})[*_`]*[ \t]*(?:$|[.,;(])",
    re.IGNORECASE | re.MULTILINE,
)


def verdict_of(document: Document) -> str | None:
    """The verdict that the section `qa` states, in lower case: a known one, else that of `verdict_other`, else None."""
    for section in document.sections:
        if section.key == "qa":
            return _verdict_in(section)
    return None


def check_finalize(document: Document, refs: Iterable[RefState]) -> None:
    """Refuse to finalize a document that is not ready.

    Raises:
        FinalizeRefused: `details` lists the sections, fields and references, all of them.
    """
    by_key = {section.key: section for section in document.sections}
    missing_sections = [key for key in REQUIRED if key not in by_key]
    missing_fields = [
        f"{key}.content" for key in ("scope", "findings") if key in by_key and not by_key[key].has_substance
    ]
    if "qa" in by_key and _verdict_in(by_key["qa"]) is None:
        missing_fields.append(_VERDICT_FIELD)
    invalid_refs = [_invalid(each) for each in refs if each.lines is None]
    if missing_sections or missing_fields or invalid_refs:
        raise _refused(missing_sections, missing_fields, invalid_refs)


def _verdict_in(section: Section) -> str | None:
    texts = [section.description, section.title]
    texts += [text for ref in section.refs for text in (ref.title, ref.why)]
    texts += [text for diagram in section.diagrams for text in (diagram.title, diagram.why)]
    for pattern in (_VERDICT, _OTHER):
        for text in texts:
            found = pattern.search(text or "")
            if found:
                return found[1].rstrip("_").lower()
    return None


def _invalid(state: RefState) -> dict[str, Any]:
    return {
        "section_key": state.section_key,
        "ref_key": state.ref.key,
        "path": state.ref.path,
        "line_start": state.ref.line_start,
        "line_end": state.ref.line_end,
        "reason": state.problem,
    }


def _refused(sections: list[str], fields: list[str], refs: list[dict[str, Any]]) -> FinalizeRefused:
    said = []
    if sections:
        said.append(f"there is no section {listed(sections)}")
    empty = [each for each in fields if each != _VERDICT_FIELD]
    if empty:
        said.append(f"nothing is said in {listed(empty)}")
    if _VERDICT_FIELD in fields:
        said.append("`qa` states no known verdict")
    if refs:
        shown = ", ".join(f"`{each['section_key']}/{each['ref_key']}`" for each in refs[:_MAX_IN_MESSAGE])
        said.append(f"{count(len(refs), 'reference')} cannot be resolved: {shown}")
    return FinalizeRefused(
        f"The pack is not ready to be finalized: {'; '.join(said)}.",
        hint="Add what is missing, with a line such as `verdict: pass` or `verdict_other: deferred` in `qa`; or keep "
        "status='draft'.",
        details={
            "missing_sections": sections,
            "missing_fields": fields,
            "invalid_refs": refs,
            "allowed_verdicts": list(VERDICTS),
        },
    )
