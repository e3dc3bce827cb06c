"""Why a tool got its score: which words in which fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.search.document import Field, document_fields
from toolcrib_core.search.results import Explanation, TermMatch
from toolcrib_core.search.segment import field_terms
from toolcrib_core.search.weights import FIELD_WEIGHTS

if TYPE_CHECKING:
    from toolcrib_core.search.index import SearchIndex
    from toolcrib_core.search.ranking import LexicalScores, Meaning
    from toolcrib_core.search.segment import Segment

_DECIMALS = 6


def explain_hit(index: SearchIndex, lexical: LexicalScores, row: int) -> Explanation:
    """The words that earned a tool its score, the fields they stand in, and what the tool does not answer."""
    segment, place = index.place(row)
    fields = _fields_of_terms(index, row)
    answered = [(meaning, _best_match(meaning, segment, place, fields)) for meaning in lexical.meanings]
    matches = [match for _, match in answered if match is not None]
    return Explanation(
        matches=tuple(sorted(matches, key=lambda match: (-match.score, match.said))),
        exact_name=bool(lexical.name_tiers[row] > 0),
        names_product=bool(lexical.product_boosts[row] > 0),
        unmatched=tuple(meaning.concept.text for meaning, match in answered if match is None),
    )


def _best_match(
    meaning: Meaning, segment: Segment, place: int, fields: dict[str, tuple[Field, ...]]
) -> TermMatch | None:
    worth = [
        (value * segment.impact(expansion.term, place), expansion)
        for expansion, value in zip(meaning.expansions, meaning.values, strict=True)
    ]
    score, expansion = max(worth, key=lambda pair: pair[0], default=(0.0, None))
    if expansion is None or score <= 0:
        return None
    return TermMatch(
        said=meaning.concept.text,
        matched=expansion.term,
        relation=expansion.relation,
        fields=fields.get(expansion.term, ()),
        score=round(score, _DECIMALS),
    )


def _fields_of_terms(index: SearchIndex, row: int) -> dict[str, tuple[Field, ...]]:
    found: dict[str, tuple[Field, ...]] = {}
    texts = document_fields(index.definitions[row])
    for field in sorted(texts, key=lambda field: (-FIELD_WEIGHTS[field], field)):
        for term in set(field_terms(field, texts[field])):
            found[term] = (*found.get(term, ()), field)
    return found
