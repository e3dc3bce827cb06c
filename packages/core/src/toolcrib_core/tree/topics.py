"""What a tool is about, read from its own name: the nouns, without the verb."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from toolcrib_core.tree.inflection import singular
from toolcrib_core.tree.word_lists import (
    COMPOUNDS,
    CONJUNCTIONS,
    OPENERS,
    PREPOSITIONS,
    QUALIFIERS,
    SOMETIMES_VERBS,
    VERBS,
)

MAX_TOPIC_WORDS = 3

_SEPARATORS = re.compile(r"[_-]+")
_NUMBERING = re.compile(r"v?\d+")
_SILENT = QUALIFIERS | PREPOSITIONS | CONJUNCTIONS
_UNDOABLE = VERBS | SOMETIMES_VERBS


@dataclass(frozen=True, slots=True)
class TopicWord:
    """One noun of a topic, in the singular, and whether the name shows that it can be counted."""

    key: str
    countable: bool


def topic_of(segment: str, *, namespace_words: AbstractSet[str] = frozenset()) -> tuple[TopicWord, ...]:
    """The topic of the tool with that segment, from the general to the particular; empty when its name has no noun.

    `create_issue` is about issues, `jira_get_issue` about issues of jira, `add_issue_to_project` about issues again.
    What the namespace says already (`namespace_words`, in the singular) is left out. Nothing but the name counts, so
    tools that come and go never change the topic of another.
    """
    words = [word for word in _words(segment) if singular(word) not in namespace_words]
    verb = _verb_index(words)
    if verb is None:
        # The last noun of a name without a verb is the tool itself: `directory_tree` is about directories.
        return _topic(words[:-1], head=None)
    before = [word for word in words[:verb] if word not in OPENERS]
    thing = _object(words[verb + 1 :])
    return _topic([*before, *thing], head=len(before) + len(thing) - 1 if thing else None)


def words_of(segment: str) -> frozenset[str]:
    """The words of a segment in the singular."""
    return frozenset(map(singular, _words(segment)))


def _words(segment: str) -> list[str]:
    words: list[str] = []
    for word in _SEPARATORS.split(segment):
        if words and (words[-1], singular(word)) in COMPOUNDS:
            words[-1] = f"{words[-1]}_{word}"
        elif word:
            words.append(word)
    return words


def _verb_index(words: list[str]) -> int | None:
    for index, word in enumerate(words):
        if word in VERBS or _undoes(word):
            return index
    if words and words[0] in SOMETIMES_VERBS:
        return 0
    return len(words) - 1 if words and words[-1] in SOMETIMES_VERBS else None


def _undoes(word: str) -> bool:
    return word.startswith("un") and word[2:] in _UNDOABLE


def _object(words: list[str]) -> list[str]:
    start = 0
    while start + 1 < len(words) and words[start] in CONJUNCTIONS:
        start += 2
    end = next((at for at in range(start, len(words)) if words[at] in PREPOSITIONS), len(words))
    return words[start:end]


def _topic(words: list[str], *, head: int | None) -> tuple[TopicWord, ...]:
    topic = [
        TopicWord(key=singular(word), countable=at == head or singular(word) != word)
        for at, word in enumerate(words)
        if word not in _SILENT and not _NUMBERING.fullmatch(word)
    ]
    return tuple(topic[:MAX_TOPIC_WORDS])
