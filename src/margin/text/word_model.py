"""What Word2Vec and GloVe share: a vocabulary with a vector per word, and texts as mean vectors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, ListOf, Real, StringOf, sometimes
from margin.core.parameters import attribute
from margin.text.sentences import sentences_of, vocabulary_of
from margin.text.text_input import TextInput
from margin.text.word_vector_file import read_word_vectors, write_word_vectors
from margin.text.word_vectors import analogy, nearest_words

if TYPE_CHECKING:
    from margin.neural.estimators.fine_tuning import PretrainedNetwork

__all__ = ["WordVectorModel"]


class WordVectorModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TextInput, IterativeEstimator):
    """Vectors of words learned from texts; a text becomes the mean of the vectors of its known words."""

    vocabulary_: list[str] = attribute(ListOf(StringOf(), size="n_words"), "The words, the commonest first.")
    counts_: np.ndarray = attribute(
        sometimes(ArrayOf("n_words", kind="int64", low=1)),
        "How often each word occurs in the texts of training; vectors of a file have none.",
    )
    vectors_: np.ndarray = attribute(ArrayOf("n_words", "vector_size"), "One row per word.")
    loss_: float = attribute(sometimes(Real()), "Mean loss of the last pass; vectors of a file have none.")
    n_iter_: int = attribute(Count(), "Passes made.")

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

    def to_word2vec(self, path: str | os.PathLike[str]) -> Path:
        """Write the vectors as text in the format of word2vec, which gensim and other libraries read."""
        check_is_fitted(self)
        return write_word_vectors(path, self.vocabulary_, self.vectors_)

    @classmethod
    def from_word2vec(cls, path: str | os.PathLike[str], **params: Any) -> Self:
        """A model with the vectors of a text file in the format of word2vec, or of GloVe's own, which has no header.

        It has vectors and nothing else of a training; ``fit`` learns new ones. ``params`` are parameters of the model.
        """
        words, vectors = read_word_vectors(path)
        model = cls(**{"vector_size": vectors.shape[1], **params})
        model._check_parameters()
        if model.vector_size != vectors.shape[1]:
            raise ValueError(
                f"{cls.__name__}: vector_size must be {vectors.shape[1]}, that of the vectors in {path}; "
                f"got {model.vector_size}."
            )
        model.vocabulary_, model.vectors_, model.n_iter_ = words, vectors, 0
        return model

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
