"""What all taggers share: sentences and tags as they come, the best sequence, probabilities of tags, and scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from margin.core.invariants import ListOf, StringOf
from margin.core.parameters import Declared, attribute
from margin.text.chain import TagChain, decode_chain, sum_chain
from margin.text.entities import entity_scores
from margin.text.sentences import sentences_of

__all__ = ["ChainTagger", "tagged_sentences"]


def tagged_sentences(owner: str, X: Any, y: Any) -> tuple[list[list[str]], list[list[str]]]:
    """The words of every sentence and as many tags, both from strings or sequences of strings."""
    sentences, tags = sentences_of(owner, X), sentences_of(owner, y, "y")
    if len(sentences) != len(tags):
        raise ValueError(
            f"{owner}: there must be tags for every text; got {len(sentences)} texts, {len(tags)} sequences of tags."
        )
    for i, (words, marks) in enumerate(zip(sentences, tags)):
        if len(words) != len(marks):
            raise ValueError(f"{owner}: text {i} has {len(words)} words and {len(marks)} tags.")
    return sentences, tags


class ChainTagger(Declared):
    """Tags of words by a chain; a subclass scores the tags of words and has the chain."""

    tags_: list[str] = attribute(ListOf(StringOf(), size="n_tags"), "The tags, in alphabetical order.")

    @abstractmethod
    def _scores(self, sentences: list[list[str]]) -> np.ndarray:
        """The score of every tag at every word, (N, K)."""

    @abstractmethod
    def _chain(self) -> TagChain:
        """The scores of neighboring tags."""

    def predict(self, X: Any) -> list[list[str]]:
        """The most probable sequence of tags of each sentence."""
        sentences, ends = self._check(X)
        best, _ = decode_chain(self._scores(sentences), ends, self._chain())
        return [[self.tags_[tag] for tag in part] for part in np.split(best, ends[:-1])]

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """For each sentence the probability of every tag at every word, (words, tags)."""
        sentences, ends = self._check(X)
        return np.split(sum_chain(self._scores(sentences), ends, self._chain()).marginals, ends[:-1])

    def score(self, X: Any, y: Any) -> float:
        """F1 of entities if tags are B-, I- and O, otherwise the fraction of right tags."""
        sentences, true = tagged_sentences(type(self).__name__, X, y)
        predicted = self.predict(sentences)
        if any(tag.startswith("B-") for tag in self.tags_):
            return entity_scores(true, predicted).f1
        return float(np.mean([a == b for tags, guess in zip(true, predicted) for a, b in zip(tags, guess)]))

    def _check(self, X: Any) -> tuple[list[list[str]], np.ndarray]:
        check_is_fitted(self)
        sentences = sentences_of(type(self).__name__, X)
        return sentences, np.cumsum([len(sentence) for sentence in sentences])

    def _checked_pairs(self, X: Any, y: Any) -> tuple[list[list[str]], list[np.ndarray], list[str]]:
        """Sentences, for each the numbers of its tags, and the tags."""
        owner = type(self).__name__
        if y is None:
            raise ValueError(f"{owner}: requires y to be passed, but the target y is None.")
        sentences, tags = tagged_sentences(owner, X, y)
        known = sorted({tag for marks in tags for tag in marks})
        if not known:
            raise ValueError(f"{owner}: X must hold at least one word; all texts are empty.")
        number = {tag: k for k, tag in enumerate(known)}
        return sentences, [np.array([number[tag] for tag in marks], dtype=np.int64) for marks in tags], known
