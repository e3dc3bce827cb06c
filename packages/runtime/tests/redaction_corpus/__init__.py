"""Texts with and without secrets, to measure what is taken out of them.

No secret stands in these files, and nothing that a scanner would take for one: they are assembled when they are asked
for, from parts and from a random source with a fixed seed. What is `seen` the patterns were written against;
`held_out` was written after them, with other surroundings and other values.
"""

from __future__ import annotations

from redaction_corpus.clean import CLEAN
from redaction_corpus.formats import FORMATS
from redaction_corpus.held_out import HELD_OUT_CLEAN, held_out_samples
from redaction_corpus.measuring import Figures, measured
from redaction_corpus.samples import Sample, samples
from redaction_corpus.second_round import SECOND_CLEAN, second_samples

__all__ = [
    "FORMATS",
    "HELD_OUT_CLEAN",
    "SEEN_CLEAN",
    "Figures",
    "Sample",
    "held_out_samples",
    "measured",
    "seen_samples",
]

SEEN_CLEAN = (*CLEAN, *SECOND_CLEAN)
"""Texts without a secret that the patterns were written against."""


def seen_samples() -> list[Sample]:
    """Texts with a secret that the patterns were written against."""
    return [*samples(), *second_samples()]
