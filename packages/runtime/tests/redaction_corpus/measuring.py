"""How much of the corpus is recognised: what of the secrets is left, and which other texts are changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from redaction_corpus.samples import Sample

_PIECE = 16
_TELLING = 8


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a scrubber made of some samples and some clean texts."""

    found: Counter[str]
    """By format: samples of which nothing is left that tells anything."""
    missed: list[Sample]
    wrong: list[tuple[str, str]]
    """Clean texts that were changed, and what they became."""
    clean: int

    @property
    def recall(self) -> float:
        """Of the samples, how many lost their secret."""
        return self.found.total() / max(1, self.found.total() + len(self.missed))

    @property
    def precision(self) -> float:
        """Of the texts that were changed, how many had a secret."""
        return self.found.total() / max(1, self.found.total() + len(self.wrong))


def measured(scrub: Callable[[str], str], samples: Iterable[Sample], clean: Iterable[str]) -> Figures:
    """Scrub everything, and look."""
    found: Counter[str] = Counter()
    missed = []
    for sample in samples:
        if is_out(sample, scrub(sample.text)):
            found[sample.format] += 1
        else:
            missed.append(sample)
    texts = list(clean)
    wrong = [(text, scrubbed) for text in texts if (scrubbed := scrub(text)) != text]
    return Figures(found=found, missed=missed, wrong=wrong, clean=len(texts))


def is_out(sample: Sample, scrubbed: str) -> bool:
    """Whether no piece of the secret that tells anything is left."""
    lines = [line for line in sample.secret.splitlines() if "PRIVATE" not in line]
    pieces = [line[start : start + _PIECE] for line in lines for start in range(0, len(line), _PIECE)]
    return not any(piece in scrubbed for piece in pieces if len(piece) >= min(_TELLING, len(sample.secret)))
