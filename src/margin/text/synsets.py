"""Concepts as sets of synonyms with what they are: a small lexicon in the manner of WordNet.

The lexicon is our own sample of a few dozen concepts, written for this library; nothing of it is copied from WordNet,
which is a data set of its own and is not included. The functions need only its structure.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

__all__ = [
    "WORDNET",
    "Synset",
    "class_hierarchy",
    "common_hypernym",
    "hypernyms",
    "hyponyms",
    "path_similarity",
    "synsets",
]

# How large WordNet 3.0 is by its published statistics (117,659 synsets in all): quoted, not counted here.
WORDNET: Mapping[str, int] = {"noun": 82_115, "verb": 13_767, "adjective": 18_156, "adverb": 3_621}


@dataclass(frozen=True)
class Synset:
    """One concept: its name, the words for it, an explanation, and the concepts it is a kind of."""

    name: str
    lemmas: tuple[str, ...]
    gloss: str
    is_a: tuple[str, ...] = ()


@cache
def lexicon() -> Mapping[str, Synset]:
    """All concepts by name."""
    content = tomllib.loads(resources.files("margin.text").joinpath("synsets.toml").read_text(encoding="utf-8"))
    return {
        name: Synset(name, tuple(entry["lemmas"]), entry["gloss"], tuple(entry.get("is_a", ())))
        for name, entry in content.items()
    }


def synsets(word: str) -> list[Synset]:
    """The concepts that ``word`` can mean.

    >>> [concept.name for concept in synsets("crane")]
    ['crane_bird', 'crane_machine']
    """
    return [concept for concept in lexicon().values() if word.lower() in concept.lemmas]


def _find(name: str) -> Synset:
    if name not in lexicon():
        raise KeyError(f"synsets: there is no concept {name!r}; synsets(word) gives the concepts of a word.")
    return lexicon()[name]


def hypernyms(name: str) -> dict[str, int]:
    """Everything that the concept is a kind of, itself included, and in how few steps.

    >>> hypernyms("chair")
    {'chair': 0, 'furniture': 1, 'artifact': 2, 'entity': 3}
    """
    steps = {_find(name).name: 0}
    queue = [name]
    for concept in queue:  # grows while it is read: breadth first, so the first way found is the shortest
        for above in _find(concept).is_a:
            if above not in steps:
                steps[above] = steps[concept] + 1
                queue.append(above)
    return steps


def hyponyms(name: str) -> list[str]:
    """All concepts that are a kind of this one, in alphabetical order, without itself."""
    _find(name)
    return sorted(other for other in lexicon() if other != name and name in hypernyms(other))


def common_hypernym(a: str, b: str) -> str:
    """The concept that both are a kind of and that is nearest to them: the fewest steps in all, ties by alphabet.

    >>> common_hypernym("dog", "ship")
    'entity'
    """
    up, other = hypernyms(a), hypernyms(b)
    return min(up.keys() & other.keys(), key=lambda name: (up[name] + other[name], name))


def path_similarity(a: str, b: str) -> float:
    """1 / (1 + steps from a to b over their nearest common concept).

    >>> path_similarity("dog", "cat"), path_similarity("dog", "dog")
    (0.3333333333333333, 1.0)
    """
    meeting = common_hypernym(a, b)
    return 1 / (1 + hypernyms(a)[meeting] + hypernyms(b)[meeting])


def class_hierarchy(names: Iterable[str]) -> dict[str, list[str]]:
    """For each class of a data set the concepts above it, the nearest first; a name is read by its first meaning.

    >>> class_hierarchy(["automobile", "frog"])
    {'automobile': ['vehicle', 'artifact', 'entity'], 'frog': ['animal', 'living_thing', 'entity']}
    """
    hypernyms_of = {}
    for name in names:
        meanings = synsets(name)
        if not meanings:
            raise KeyError(f"class_hierarchy: the lexicon has no word {name!r}.")
        hypernyms_of[name] = list(hypernyms(meanings[0].name))[1:]
    return hypernyms_of
