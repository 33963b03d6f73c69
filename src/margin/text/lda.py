"""Latent Dirichlet allocation: topics of documents from counts of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Flag, Integer, Jobs, Number, Optional, Seed
from margin.core.estimator import IterativeEstimator
from margin.core.invariants import ArrayOf, Count, Real, sometimes
from margin.core.parameters import N_JOBS, VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator
from margin.core.records import Record
from margin.core.threads import thread_limit
from margin.text.topic_loops import GibbsLoop, VariationalLoop, first_topics, online_step
from margin.text.topics import document_posterior, expected_log, topic_bound

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
    total_samples: float = parameter(
        1e6, Number(above=0), "Documents that partial_fit and perplexity(sub_sampling=True) suppose there are in all."
    )
    perp_tol: float = parameter(0.1, Number(low=0), "The fit ends when an evaluated perplexity changes by less.")
    mean_change_tol: float = parameter(1e-3, Number(low=0), "When the posterior of a document has settled.")
    max_doc_update_iter: int = parameter(100, Integer(low=1), "Most updates of the posterior of a document.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)
    n_jobs: int | None = parameter(None, Jobs(), N_JOBS)
    random_state: RandomLike = parameter(None, Seed(), "Draws the first topics, the batches and the Gibbs samples.")

    components_: np.ndarray = attribute(
        ArrayOf("n_topics", "n_features", low=0), "Dirichlet parameters of the words of each topic, (n_components, p)."
    )
    doc_topic_prior_: float = attribute(Real(low=0, finite=True), "The prior of proportions that was used.")
    topic_word_prior_: float = attribute(Real(low=0, finite=True), "The prior of words that was used.")
    n_iter_: int = attribute(Count(), "Passes made.")
    n_batch_iter_: int = attribute(Count(), "Steps of the topics: one per pass, or per batch where there are batches.")
    bound_: float = attribute(sometimes(Real(low=0)), "Perplexity of the training documents at the end of a fit.")

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
        self._set_priors()
        self.__dict__.pop("bound_", None)
        self._loop = loop = (GibbsLoop if self.learning_method == "gibbs" else VariationalLoop)(self, counts)
        if state is not None:
            loop.restore(state)
        self._learn(loop)
        while loop.iteration < self.max_iter and not loop.settled:
            before = self.components_
            with thread_limit(self.n_jobs):
                values = loop.advance()
            self._learn(loop)
            record = {"change": _mean_move(before, self.components_), **values}
            if self.evaluate_every > 0 and loop.iteration % self.evaluate_every == 0:
                record["perplexity"] = perplexity = self._perplexity(counts)
                loop.settled = abs(loop.perplexity - perplexity) < self.perp_tol
                loop.perplexity = perplexity
            yield Record(loop.iteration, record, total=self.max_iter)
        self.bound_ = self._perplexity(counts)

    def partial_fit(self, X: Any, y: Any = None) -> LatentDirichletAllocation:
        """Go on from the topics there are, with one online step per ``batch_size`` documents; ``y`` is ignored."""
        self._check_parameters()
        first = not hasattr(self, "components_")
        counts = self._counts(X, reset=first)
        if first:
            self._set_priors()
            self.components_ = first_topics(self, as_generator(self.random_state), counts.shape[1])
            self.n_batch_iter_ = self.n_iter_ = 0
        for start in range(0, counts.shape[0], self.batch_size):
            batch = counts[start : start + self.batch_size]
            with thread_limit(self.n_jobs):
                self.components_ = online_step(self, batch, self.components_, self.total_samples, self.n_batch_iter_)
            self.n_batch_iter_ += 1
        self.n_iter_ += 1
        return self

    def transform(self, X: Any, *, normalize: bool = True) -> np.ndarray:
        """The mean proportions of topics of each document; without ``normalize`` the Dirichlet parameters."""
        check_is_fitted(self)
        gamma, _ = self._posterior(self._counts(X, reset=False))
        return gamma / gamma.sum(axis=1, keepdims=True) if normalize else gamma

    def score(self, X: Any, y: Any = None) -> float:
        """The variational bound on the log-probability of the words of ``X``."""
        check_is_fitted(self)
        return self._bound(self._counts(X, reset=False))

    def perplexity(self, X: Any, sub_sampling: bool = False) -> float:
        """exp of minus the bound per word; lower is better.

        With ``sub_sampling`` the documents of ``X`` stand for ``total_samples`` of their kind.
        """
        check_is_fitted(self)
        return self._perplexity(self._counts(X, reset=False), sub_sampling)

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        """exp of the mean logarithm of the words' probabilities in each topic, (n_components, p)."""
        return np.exp(expected_log(self.components_))

    def _set_priors(self) -> None:
        even = 1.0 / self.n_components
        self.doc_topic_prior_ = even if self.doc_topic_prior is None else float(self.doc_topic_prior)
        self.topic_word_prior_ = even if self.topic_word_prior is None else float(self.topic_word_prior)

    def _learn(self, loop: VariationalLoop | GibbsLoop) -> None:
        self.components_, self.n_iter_, self.n_batch_iter_ = loop.topics(), loop.iteration, loop.steps

    def _posterior(self, counts: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
        limits: dict[str, Any] = {"tol": self.mean_change_tol, "max_iter": self.max_doc_update_iter}
        with thread_limit(self.n_jobs):
            return document_posterior(counts, self.components_, self.doc_topic_prior_, **limits)

    def _bound(self, counts: sparse.csr_matrix, copies: float = 1.0) -> float:
        gamma, _ = self._posterior(counts)
        priors = self.doc_topic_prior_, self.topic_word_prior_
        return topic_bound(counts, gamma, self.components_, *priors, copies=copies)

    def _perplexity(self, counts: sparse.csr_matrix, sub_sampling: bool = False) -> float:
        copies = self.total_samples / counts.shape[0] if sub_sampling else 1.0
        return float(np.exp(-self._bound(counts, copies) / max(copies * counts.sum(), 1)))

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


def _mean_move(before: np.ndarray, after: np.ndarray) -> float:
    """The mean total variation between the distributions of words of topics."""
    p, q = (topics / topics.sum(axis=1, keepdims=True) for topics in (before, after))
    return float(np.abs(p - q).sum(axis=1).mean() / 2)
