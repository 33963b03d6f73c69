"""Latent Dirichlet allocation: topics of documents from counts of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator, generator_from_state, generator_state
from margin.core.records import Record
from margin.text.topics import collapsed_log_likelihood, document_posterior, gibbs_sweep, topic_bound

__all__ = ["LatentDirichletAllocation"]


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, IterativeEstimator):
    r"""Topics by variational inference or by collapsed Gibbs sampling (:mod:`margin.text.topics`).

    "batch" alternates the posteriors of all documents and of the topics; "online" does so for ``batch_size`` documents
    at a time, moving the topics by :math:`(\tau_0 + t)^{-\kappa}`; "gibbs" draws the topic of every word, of which
    there must be integer numbers. Records carry ``change``, by how much the distributions of words moved in the mean
    over topics (total variation), with "gibbs" ``log_likelihood``, and ``perplexity`` where it is evaluated.

    Examples
    --------
    >>> X = np.array([[4, 5, 0, 0], [3, 4, 0, 1], [0, 0, 6, 5], [0, 1, 4, 6]] * 5)
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> model.transform([[5, 5, 0, 0], [0, 0, 5, 5]]).max(axis=1).round(2).tolist()
    [0.95, 0.95]
    """

    n_components: int = parameter(10, Integer(low=1, search=(2, 50)), "Number of topics.")
    _: KW_ONLY
    doc_topic_prior: float | None = parameter(
        None, Optional(Number(above=0)), "Dirichlet parameter of the proportions of a document; None: 1 / n_components."
    )
    topic_word_prior: float | None = parameter(
        None, Optional(Number(above=0)), "Dirichlet parameter of the words of a topic; None: 1 / n_components."
    )
    learning_method: str = parameter(
        "batch", Choice("batch", "online", "gibbs"), "Variational on all documents or on batches, or Gibbs sampling."
    )
    learning_decay: float = parameter(
        0.7, Number(low=0.5, high=1, search=(0.5, 1)), "How fast steps of the online method become smaller, kappa."
    )
    learning_offset: float = parameter(10.0, Number(low=1), "Makes the first steps of the online method smaller, tau.")
    max_iter: int = parameter(10, Integer(low=1), "Passes over the documents.")
    batch_size: int = parameter(128, Integer(low=1), "Documents per step of the online method.")
    evaluate_every: int = parameter(
        -1, Integer(low=-1), "After every so many passes the perplexity is computed; 0 or -1: never."
    )
    perp_tol: float = parameter(0.1, Number(low=0), "The fit ends when an evaluated perplexity changes by less.")
    mean_change_tol: float = parameter(1e-3, Number(low=0), "When the posterior of a document has settled.")
    max_doc_update_iter: int = parameter(100, Integer(low=1), "Most updates of the posterior of a document.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    random_state: RandomLike = parameter(None, Seed(), "Draws the first topics, the batches and the Gibbs samples.")

    components_: np.ndarray = attribute("Dirichlet parameters of the words of each topic, (n_components, p).")
    doc_topic_prior_: float = attribute("The prior of proportions that was used.")
    topic_word_prior_: float = attribute("The prior of words that was used.")
    n_iter_: int = attribute("Passes made.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def iterate(self, X: Any, y: Any = None, *, state: dict[str, Any] | None = None) -> Iterator[Record]:
        """Learn from counts (documents, words), yielding a record per pass; ``y`` is ignored."""
        self._check_parameters()
        counts = self._counts(X, reset=True)
        even = 1.0 / self.n_components
        self.doc_topic_prior_ = even if self.doc_topic_prior is None else float(self.doc_topic_prior)
        self.topic_word_prior_ = even if self.topic_word_prior is None else float(self.topic_word_prior)
        self._loop = loop = (_Sampling if self.learning_method == "gibbs" else _Variational)(self, counts)
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        while loop.iteration < self.max_iter and not loop.settled:
            before = self.components_
            values = loop.advance()
            self._learn(loop)
            record = {"change": _moved(before, self.components_), **values}
            if self.evaluate_every > 0 and loop.iteration % self.evaluate_every == 0:
                record["perplexity"] = perplexity = self._perplexity(counts)
                loop.settled = abs(loop.perplexity - perplexity) < self.perp_tol
                loop.perplexity = perplexity
            yield Record(loop.iteration, record, total=self.max_iter)

    def transform(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """The mean proportions of topics of each document; without ``normalize`` the Dirichlet parameters."""
        check_is_fitted(self)
        gamma, _ = self._posterior(self._counts(X, reset=False))
        return gamma / gamma.sum(axis=1, keepdims=True) if normalize else gamma

    def score(self, X: Any, y: Any = None) -> float:
        """The variational bound on the log-probability of the words of ``X``."""
        check_is_fitted(self)
        return self._bound(self._counts(X, reset=False))

    def perplexity(self, X: Any) -> float:
        """exp of minus the bound per word; lower is better."""
        check_is_fitted(self)
        return self._perplexity(self._counts(X, reset=False))

    def _learn(self, loop: _Variational | _Sampling) -> None:
        self.components_, self.n_iter_ = loop.topics(), loop.iteration

    def _posterior(self, counts: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        limits: dict[str, Any] = {"tol": self.mean_change_tol, "max_iter": self.max_doc_update_iter}
        return document_posterior(counts, self.components_, self.doc_topic_prior_, **limits)

    def _bound(self, counts: sparse.csr_matrix) -> float:
        gamma, _ = self._posterior(counts)
        return topic_bound(counts, gamma, self.components_, self.doc_topic_prior_, self.topic_word_prior_)

    def _perplexity(self, counts: sparse.csr_matrix) -> float:
        return float(np.exp(-self._bound(counts) / max(counts.sum(), 1)))

    def _counts(self, X: Any, *, reset: bool) -> sparse.csr_matrix:
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        counts = sparse.csr_matrix(X, dtype=np.float64)
        if counts.nnz and counts.data.min() < 0:
            raise ValueError(
                f"Negative values in data passed to LatentDirichletAllocation: counts must be at least 0; "
                f"got {counts.data.min():g}."
            )
        if reset and self.learning_method == "gibbs" and (counts.data != np.floor(counts.data)).any():
            raise ValueError("LatentDirichletAllocation: learning_method='gibbs' needs integer counts; got fractions.")
        return counts

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def _moved(before: np.ndarray, after: np.ndarray) -> float:
    """The mean total variation between the distributions of words of topics."""
    p, q = (topics / topics.sum(axis=1, keepdims=True) for topics in (before, after))
    return float(np.abs(p - q).sum(axis=1).mean() / 2)


class _Variational:
    """Coordinate ascent on the bound, over all documents or batch by batch."""

    def __init__(self, model: LatentDirichletAllocation, counts: sparse.csr_matrix) -> None:
        self.model, self.counts = model, counts
        self.rng = as_generator(model.random_state)
        self.components = self.rng.gamma(100.0, 0.01, (model.n_components, counts.shape[1]))
        self.iteration, self.steps, self.settled, self.perplexity = 0, 0, False, float("inf")

    def topics(self) -> np.ndarray:
        return self.components.copy()

    def advance(self) -> dict[str, float]:
        model, n = self.model, self.counts.shape[0]
        if model.learning_method == "batch":
            self.components = model.topic_word_prior_ + self._expected(self.counts)
        else:
            order = self.rng.permutation(n)
            for start in range(0, n, model.batch_size):
                batch = self.counts[order[start : start + model.batch_size]]
                target = model.topic_word_prior_ + n / batch.shape[0] * self._expected(batch)
                rate = (model.learning_offset + self.steps) ** -model.learning_decay
                self.components = (1 - rate) * self.components + rate * target
                self.steps += 1
        self.iteration += 1
        return {}

    def _expected(self, counts: sparse.csr_matrix) -> np.ndarray:
        model = self.model
        limits: dict[str, Any] = {"tol": model.mean_change_tol, "max_iter": model.max_doc_update_iter}
        return document_posterior(counts, self.components, model.doc_topic_prior_, **limits)[1]

    def state(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "settled": self.settled,
            "perplexity": self.perplexity,
            "components": self.components.copy(),
            "generator": generator_state(self.rng),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.steps = int(state["iteration"]), int(state["steps"])
        self.settled, self.perplexity = bool(state["settled"]), float(state["perplexity"])
        self.components = np.array(state["components"])
        self.rng = generator_from_state(state["generator"])


class _Sampling:
    """Collapsed Gibbs sampling: a sweep over all words per iteration."""

    def __init__(self, model: LatentDirichletAllocation, counts: sparse.csr_matrix) -> None:
        self.model, self.shape = model, counts.shape
        table = counts.tocoo()
        times = table.data.astype(np.int64)
        self.documents, self.words = np.repeat(table.row, times), np.repeat(table.col, times)
        self.rng = as_generator(model.random_state)
        self.assigned = self.rng.integers(model.n_components, size=len(self.words))
        self.iteration, self.settled, self.perplexity = 0, False, float("inf")
        self._count()

    def _count(self) -> None:
        k = self.model.n_components
        self.document_topics = np.zeros((self.shape[0], k), dtype=np.int64)
        self.topic_words = np.zeros((k, self.shape[1]), dtype=np.int64)
        np.add.at(self.document_topics, (self.documents, self.assigned), 1)
        np.add.at(self.topic_words, (self.assigned, self.words), 1)

    def topics(self) -> np.ndarray:
        return self.topic_words + self.model.topic_word_prior_

    def advance(self) -> dict[str, float]:
        priors = self.model.doc_topic_prior_, self.model.topic_word_prior_
        tables = self.document_topics, self.topic_words
        gibbs_sweep(self.documents, self.words, self.assigned, *tables, *priors, self.rng.random(len(self.words)))
        self.iteration += 1
        return {"log_likelihood": collapsed_log_likelihood(*tables, *priors)}

    def state(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "settled": self.settled,
            "perplexity": self.perplexity,
            "assigned": self.assigned.copy(),
            "generator": generator_state(self.rng),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.iteration, self.settled = int(state["iteration"]), bool(state["settled"])
        self.perplexity = float(state["perplexity"])
        self.assigned = np.array(state["assigned"])
        self.rng = generator_from_state(state["generator"])
        self._count()
