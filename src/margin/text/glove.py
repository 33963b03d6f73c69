r"""GloVe: word vectors whose products are the logarithms of how often words occur near each other.

.. math:: \sum_{ij} f(X_{ij}) \left(w_i^\top \tilde w_j + b_i + \tilde b_j - \ln X_{ij}\right)^2,\qquad
    f(x) = \min\left(1, (x / x_{max})^\alpha\right)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse

from margin.core.domains import Integer, Number, Seed
from margin.core.invariants import Real, sometimes
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator, generator_from_state, generator_state
from margin.core.records import Record
from margin.core.restoring import restore
from margin.text.sentences import encode, sentences_of
from margin.text.word_model import WordVectorModel

__all__ = ["GloVe", "co_occurrences", "glove_loss"]


def co_occurrences(tokens: np.ndarray, ends: np.ndarray, n_words: int, window: int) -> sparse.csr_matrix:
    """How often words occur within ``window`` of each other in a sentence, neighbors at distance k counted 1/k.

    >>> co_occurrences(np.array([0, 1, 0, 2]), np.array([3, 4]), 3, 2).toarray().tolist()
    [[1.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    sentence = np.searchsorted(ends, np.arange(len(tokens)), side="right")
    total = sparse.csr_matrix((n_words, n_words))
    for distance in range(1, min(window, len(tokens) - 1) + 1):
        together = sentence[:-distance] == sentence[distance:]
        left, right = tokens[:-distance][together], tokens[distance:][together]
        weights = np.full(len(left), 1.0 / distance)
        total = total + sparse.coo_matrix((weights, (left, right)), shape=total.shape).tocsr()
    return (total + total.T).tocsr()


def glove_loss(W: np.ndarray, C: np.ndarray, table: Any, *, x_max: float = 100.0, alpha: float = 0.75) -> float:
    """The weighted sum of squares above; the last columns of ``W`` and ``C`` are the biases."""
    table = sparse.coo_matrix(table)
    weights = np.minimum(1.0, (table.data / x_max) ** alpha)
    products = np.einsum("ij,ij->i", W[table.row, :-1], C[table.col, :-1])
    return float(weights @ (products + W[table.row, -1] + C[table.col, -1] - np.log(table.data)) ** 2)


class GloVe(WordVectorModel):
    """Word vectors from the table of co-occurrences by AdaGrad; a word's vector is the sum of its two.

    A text is a string, cut at white space, or a list of words. Records carry ``loss``, the weighted mean square.

    Examples
    --------
    >>> texts = ["red wine cheese", "red wine bread", "blue sea sand", "blue sea wave"] * 50
    >>> model = GloVe(8, window=2, min_count=1, max_iter=30, random_state=0).fit(texts)
    >>> sorted(word for word, _ in model.most_similar("bread", 3))
    ['cheese', 'red', 'wine']
    """

    vector_size: int = parameter(100, Integer(low=1, search=(20, 300), log=True), "Length of the vectors.")
    _: KW_ONLY
    window: int = parameter(10, Integer(low=1, search=(2, 15)), "Largest distance at which words occur together.")
    x_max: float = parameter(100.0, Number(above=0), "Count from which on an entry has full weight.")
    alpha: float = parameter(0.75, Number(above=0, search=(0.25, 1)), "Power by which smaller counts weigh less.")
    min_count: int = parameter(5, Integer(low=1), "Words that occur less often are left out.")
    max_iter: int = parameter(25, Integer(low=1), "Passes over the table.")
    learning_rate_init: float = parameter(0.05, Number(above=0, search=(0.01, 0.3), log=True), "Step size of AdaGrad.")
    random_state: RandomLike = parameter(None, Seed(), "Draws first vectors and the order of the entries.")

    loss_: float = attribute(sometimes(Real()), "Weighted mean square of the last pass.")

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from texts, yielding a record per pass; ``y`` is ignored."""
        self._check_parameters()
        sentences = sentences_of("GloVe", X)
        self._learn_vocabulary(sentences, self.min_count)
        self._loop = loop = _Factorization(self, sentences)
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        while loop.iteration < self.max_iter:
            loop.advance()
            self._refuse_diverged(loop.W + loop.C, loop.iteration)
            self._learn(loop)
            yield Record(loop.iteration, {"loss": loop.loss}, total=self.max_iter)

    def _learn(self, loop: _Factorization) -> None:
        self.vectors_ = loop.W[:, :-1] + loop.C[:, :-1]
        self.loss_, self.n_iter_ = loop.loss, loop.iteration


class _Factorization:
    """The passes over one table."""

    ARRAYS = ("W", "C", "W_squares", "C_squares")

    def __init__(self, model: GloVe, sentences: list[list[str]]) -> None:
        self.model = model
        n = len(model.vocabulary_)
        table = co_occurrences(*encode(sentences, model._position()), n, model.window).tocoo()
        if table.nnz == 0:
            raise ValueError("GloVe: no two known words occur together in a text.")
        self.rows, self.columns = table.row.astype(np.int32), table.col.astype(np.int32)
        with np.errstate(over="ignore"):
            self.weights = np.minimum(1.0, (table.data / model.x_max) ** model.alpha)
        if not self.weights.any():
            raise ValueError(
                f"GloVe: x_max={model.x_max} and alpha={model.alpha} give every pair of words the weight 0; both must "
                "be smaller."
            )
        self.log_counts = np.log(table.data)
        self.rng = as_generator(model.random_state)
        shape = n, model.vector_size + 1
        self.W, self.C = ((self.rng.random(shape) - 0.5) / shape[1] for _ in range(2))
        self.W_squares, self.C_squares = np.ones(shape), np.ones(shape)  # so the first step is bounded by the rate
        self.iteration, self.loss = 0, float("nan")

    def advance(self) -> None:
        from margin.compiled.text import glove_pass

        order = self.rng.permutation(len(self.rows))
        given = self.rows, self.columns, self.log_counts, self.weights, self.W, self.C, self.W_squares, self.C_squares
        total = glove_pass(order, *given, self.model.learning_rate_init)
        self.iteration, self.loss = self.iteration + 1, float(total / self.weights.sum())

    def state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).copy() for name in self.ARRAYS}
        return {"iteration": self.iteration, "loss": self.loss, **arrays, "generator": generator_state(self.rng)}

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.loss = int(state["iteration"]), float(state["loss"])
        for name in self.ARRAYS:
            setattr(self, name, restore(state, name, getattr(self, name)))
        self.rng = generator_from_state(state["generator"])
