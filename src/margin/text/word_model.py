"""What Word2Vec and GloVe share: a vocabulary with a vector per word, and texts as mean vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, ListOf, StringOf
from margin.core.parameters import attribute
from margin.text.sentences import sentences_of, vocabulary_of
from margin.text.text_input import TextInput
from margin.text.word_vectors import analogy, nearest_words

if TYPE_CHECKING:
    from margin.neural.estimators.fine_tuning import PretrainedNetwork

__all__ = ["WordVectorModel"]


class WordVectorModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TextInput, IterativeEstimator):
    """Vectors of words learned from texts; a text becomes the mean of the vectors of its known words."""

    vocabulary_: list[str] = attribute(ListOf(StringOf(), size="n_words"), "The words, the commonest first.")
    counts_: np.ndarray = attribute(
        ArrayOf("n_words", kind="int64", low=1), "How often each word occurs in the texts of training."
    )
    vectors_: np.ndarray = attribute(ArrayOf("n_words", "vector_size"), "One row per word.")

    def vector(self, word: str) -> np.ndarray:
        """The vector of a word."""
        check_is_fitted(self)
        position = self._position()
        if word not in position:
            raise KeyError(f"{type(self).__name__}: {word!r} is not in the vocabulary of {len(position)} words.")
        return self.vectors_[position[word]]

    def most_similar(self, word: str, n: int = 10) -> list[tuple[str, float]]:
        """The ``n`` words with the largest cosine to ``word``, and the cosines."""
        return nearest_words(self.vectors_, self.vocabulary_, self.vector(word), n=n, without=[word])

    def analogy(self, a: str, b: str, c: str, n: int = 1) -> list[tuple[str, float]]:
        """What is to ``c`` as ``b`` is to ``a`` (:func:`margin.text.word_vectors.analogy`)."""
        check_is_fitted(self)
        return analogy(self.vectors_, self.vocabulary_, a, b, c, n=n)

    def transform(self, X: Any) -> np.ndarray:
        """The mean vector of the known words of each text, zero where there is none."""
        check_is_fitted(self)
        position = self._position()
        rows = np.zeros((0, self.vectors_.shape[1]))
        means = []
        for sentence in sentences_of(type(self).__name__, X):
            known = [position[word] for word in sentence if word in position]
            means.append(self.vectors_[known].mean(axis=0) if known else np.zeros(self.vectors_.shape[1]))
        return np.vstack([rows, *means])

    def as_pretrained(self) -> PretrainedNetwork:
        """The vectors as where a fit begins: ``TextClassifier.from_encoder(model)``."""
        check_is_fitted(self)
        from margin.text.word_starts import word_start

        return word_start(type(self).__name__, self.vocabulary_, self.vectors_)

    def _refuse_diverged(self, vectors: np.ndarray, iteration: int) -> None:
        """A pass whose vectors overflow is not kept: the model has those of the pass before."""
        if not np.isfinite(vectors).all():
            raise FloatingPointError(
                f"{type(self).__name__}: vectors are not finite after pass {iteration}; those of the pass before are "
                "kept; a smaller learning_rate_init keeps them finite."
            )

    def _position(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.vocabulary_)}

    def _learn_vocabulary(self, sentences: list[list[str]], min_count: int) -> None:
        vocabulary, counts = vocabulary_of(sentences, min_count)
        if len(vocabulary) < 2:
            raise ValueError(
                f"{type(self).__name__}: at least two different words must occur min_count={min_count} times; "
                f"there are {len(vocabulary)}."
            )
        self.vocabulary_, self.counts_ = vocabulary, counts

    @property
    def _n_features_out(self) -> int:
        return int(self.vectors_.shape[1])
