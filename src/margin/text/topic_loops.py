"""The running fits of latent Dirichlet allocation: variational, over all documents or in batches, and by sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from margin.core.randomness import as_generator, generator_from_state, generator_state
from margin.core.restoring import restore, restored_indices
from margin.text.topics import collapsed_log_likelihood, document_posterior, gibbs_sweep

if TYPE_CHECKING:
    from margin.text.lda import LatentDirichletAllocation

__all__ = ["GibbsLoop", "VariationalLoop", "first_topics", "online_step"]


def first_topics(model: LatentDirichletAllocation, rng: np.random.Generator, n_words: int) -> np.ndarray:
    """Dirichlet parameters near one, a little different for every topic, (n_components, n_words)."""
    return rng.gamma(100.0, 0.01, (model.n_components, n_words))


def expected_counts(model: LatentDirichletAllocation, counts: sparse.csr_matrix, topics: np.ndarray) -> np.ndarray:
    """How often each topic is expected to have given each word of these documents, (n_components, n_words)."""
    limits: dict[str, Any] = {"tol": model.mean_change_tol, "max_iter": model.max_doc_update_iter}
    return document_posterior(counts, topics, model.doc_topic_prior_, **limits)[1]


def online_step(
    model: LatentDirichletAllocation, batch: sparse.csr_matrix, topics: np.ndarray, n_documents: float, step: int
) -> np.ndarray:
    r"""The topics moved by :math:`(\tau_0 + t)^{-\kappa}` toward those of ``n_documents`` like the batch."""
    target = model.topic_word_prior_ + n_documents / batch.shape[0] * expected_counts(model, batch, topics)
    rate = (model.learning_offset + step) ** -model.learning_decay
    return (1 - rate) * topics + rate * target


class VariationalLoop:
    """Coordinate ascent on the bound, over all documents or batch by batch."""

    def __init__(self, model: LatentDirichletAllocation, counts: sparse.csr_matrix) -> None:
        self.model, self.counts = model, counts
        self.rng = as_generator(model.random_state)
        self.components = first_topics(model, self.rng, counts.shape[1])
        self.iteration, self.steps, self.settled, self.perplexity = 0, 0, False, float("inf")

    def topics(self) -> np.ndarray:
        return self.components.copy()

    def advance(self) -> dict[str, float]:
        model, n = self.model, self.counts.shape[0]
        if model.learning_method == "batch":
            self.components = model.topic_word_prior_ + expected_counts(model, self.counts, self.components)
            self.steps += 1
        else:
            order = self.rng.permutation(n)
            for start in range(0, n, model.batch_size):
                batch = self.counts[order[start : start + model.batch_size]]
                self.components = online_step(model, batch, self.components, n, self.steps)
                self.steps += 1
        self.iteration += 1
        return {}

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
        self.components = restore(state, "components", self.components)
        self.rng = generator_from_state(state["generator"])


class GibbsLoop:
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

    @property
    def steps(self) -> int:
        """Every sweep is one step of the topics."""
        return self.iteration

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
        self.assigned = restored_indices(state["assigned"], "assigned", self.model.n_components, count=len(self.words))
        self.rng = generator_from_state(state["generator"])
        self._count()
