"""The constants of ranking, and how they were found.

All were chosen on the development sets of `bench/retrieval.py` by coordinate steps. `bench/retrieval_constants.py`
moves each by itself, also with one set left out of the choice: most lie on plateaus, where halving or doubling one
moves the mean recall@5 by less than a point.
"""

from __future__ import annotations

from typing import Final

from toolcrib_core.search.document import Field

FIELD_WEIGHTS: Final[dict[Field, float]] = {
    "name": 3.0,
    "title": 2.0,
    "summary": 1.0,
    "description": 0.5,
    "tags": 2.0,
    "examples": 1.0,
    "parameters": 0.7,
    "parameterDescriptions": 0.4,
    "namespace": 1.5,
    "serverDescription": 1.0,
}

# Usual lengths in words. Fixed ones, not the averages of the catalogue: what a tool scores then depends on the tool and
# on document frequencies only, so adding one server leaves every other tool's postings as they are.
FIELD_LENGTHS: Final[dict[Field, float]] = {
    "name": 3.0,
    "title": 3.0,
    "summary": 10.0,
    "description": 30.0,
    "tags": 3.0,
    "examples": 10.0,
    "parameters": 6.0,
    "parameterDescriptions": 40.0,
    "namespace": 2.0,
    "serverDescription": 10.0,
}

SATURATION: Final = 1.5
LENGTH_NORMALISATION: Final = 0.3

FILLER_WEIGHT: Final = 0.5
RELATED_WEIGHT: Final = 0.6
SYNONYM_WEIGHT: Final = 0.5
PHRASE_WEIGHT: Final = 0.3
TRANSLATION_WEIGHT: Final = 0.8
SPELLING_WEIGHT: Final = 0.8
PREFIX_WEIGHT: Final = 0.4

ABSENT_BOOST: Final = 1.3
"""For the relatives of a word that no tool has: then they are all there is to go by."""

CLAUSE_WEIGHT: Final = 0.35
"""For the best clause, times the number of clauses: the more steps, the less a tool need answer the others."""
MAX_CLAUSES_WEIGHT: Final = 1.5
MIN_CLAUSE_WORDS: Final = 2

PRODUCT_BOOST: Final = 1.0
"""A tool of a server that the request names counts up to this much more."""

NAME_PREFIX_BONUS: Final = 3.0
"""For a request that is the beginning of a tool's name, times the share of the name it covers."""
