r"""Latent Dirichlet allocation as functions.

A topic k is a distribution :math:`\beta_k \sim \mathrm{Dir}(\eta)` over words, a document has proportions
:math:`\theta_d \sim \mathrm{Dir}(\alpha)`, each of its words a topic drawn from :math:`\theta_d` and then a word from
that topic. The variational posterior is :math:`q(\theta_d) = \mathrm{Dir}(\gamma_d)`,
:math:`q(\beta_k) = \mathrm{Dir}(\lambda_k)`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp, psi

from margin.core.parallel import parallel_map
from margin.core.threads import threads_for

__all__ = [
    "collapsed_log_likelihood",
    "document_posterior",
    "draw_documents",
    "expected_log",
    "gibbs_sweep",
    "topic_bound",
]

WORK_PER_WORD = 60.0  # basic operations per entry of the table and topic, over all updates of a document
WORK_PER_PART = 2e7  # of the documents that one thread takes at a time
MOST_PARTS = 8  # each needs room for expected counts


def expected_log(parameters: np.ndarray) -> np.ndarray:
    r"""The mean of :math:`\log\theta` under each row's Dirichlet: :math:`\psi(a_k) - \psi(\sum_j a_j)`."""
    return psi(parameters) - psi(parameters.sum(axis=1, keepdims=True))


def document_posterior(
    counts: Any, topics: np.ndarray, alpha: float, *, tol: float = 1e-3, max_iter: int = 100
) -> tuple[np.ndarray, np.ndarray]:
    r"""The E step: :math:`\gamma` (n, K) of each document given :math:`\lambda` (K, p), and expected counts (K, p).

    .. math:: \phi_{dwk} \propto e^{E\log\theta_{dk} + E\log\beta_{kw}},\qquad
        \gamma_{dk} = \alpha + \sum_w n_{dw}\phi_{dwk}

    repeated for each document until :math:`\gamma` changes by less than ``tol`` in the mean.
    """
    from margin.compiled.text import infer_documents

    counts = sparse.csr_matrix(counts, dtype=np.float64)
    likelihood = np.ascontiguousarray(np.exp(expected_log(topics)).T)
    gamma = np.ones((counts.shape[0], len(topics)))
    indices, ends = counts.indices.astype(np.int64), counts.indptr.astype(np.int64)
    work = float(WORK_PER_WORD * counts.nnz * len(topics))
    # As many parts as the documents are worth, whatever the number of threads: sums then have the same bits.
    parts = int(np.clip(work // WORK_PER_PART, 1, min(MOST_PARTS, len(gamma))))
    edges = np.linspace(0, len(gamma), parts + 1).astype(int).tolist()

    def infer(part: tuple[int, int]) -> np.ndarray:
        low, high = part
        expected = np.zeros(likelihood.shape)
        given = ends[low : high + 1], indices, counts.data, likelihood, alpha, tol, max_iter
        infer_documents(*given, gamma[low:high], expected, np.empty((2, len(topics))))
        return expected

    expected = parallel_map(infer, list(pairwise(edges)), threads_for(work))
    # In the order in which a file holds it: sums over the other order end in other bits.
    return gamma, np.ascontiguousarray((np.add.reduce(expected) * likelihood).T)


def topic_bound(
    counts: Any, gamma: np.ndarray, topics: np.ndarray, alpha: float, eta: float, *, copies: float = 1.0
) -> float:
    """The evidence lower bound on the log-probability of all words, in nats; every document counts ``copies`` times."""
    counts = sparse.coo_matrix(counts)
    log_theta, log_beta = expected_log(gamma), expected_log(topics)
    words = float(counts.data @ logsumexp(log_theta[counts.row] + log_beta.T[counts.col], axis=1))
    return copies * (words + _prior_terms(gamma, log_theta, alpha)) + _prior_terms(topics, log_beta, eta)


def _prior_terms(parameters: np.ndarray, logs: np.ndarray, prior: float) -> float:
    """Mean of log prior minus log posterior of Dirichlet rows."""
    k = parameters.shape[1]
    rows = ((prior - parameters) * logs + gammaln(parameters) - gammaln(prior)).sum(axis=1)
    return float((rows + gammaln(prior * k) - gammaln(parameters.sum(axis=1))).sum())


def collapsed_log_likelihood(document_topics: np.ndarray, topic_words: np.ndarray, alpha: float, eta: float) -> float:
    r"""The log-probability of words and their topics, with proportions and topics integrated out.

    ``document_topics`` (n, K) and ``topic_words`` (K, p) count the words by topic.
    """

    def rows(counts: np.ndarray, prior: float) -> float:
        k = counts.shape[1]
        constant = gammaln(prior * k) - k * gammaln(prior)
        return float((gammaln(counts + prior).sum(axis=1) - gammaln(counts.sum(axis=1) + prior * k) + constant).sum())

    return rows(document_topics, alpha) + rows(topic_words, eta)


def gibbs_sweep(
    documents: np.ndarray,
    words: np.ndarray,
    assigned: np.ndarray,
    document_topics: np.ndarray,
    topic_words: np.ndarray,
    alpha: float,
    eta: float,
    uniforms: np.ndarray,
) -> None:
    r"""Draw the topic of every word anew given all others; changes ``assigned`` and the two tables of counts.

    .. math:: p(z_i = k \mid z_{-i}) \propto (n_{dk} + \alpha)\,\frac{n_{kw} + \eta}{n_k + p\,\eta}

    Token i is word ``words[i]`` of document ``documents[i]``; ``uniforms`` are numbers in [0, 1), one per token.
    """
    from margin.compiled.text import draw_topics

    tokens = (np.ascontiguousarray(each, dtype=np.int32) for each in (documents, words))
    totals, cumulative = topic_words.sum(axis=1), np.empty(len(topic_words))
    draw_topics(*tokens, assigned, document_topics, topic_words, totals, alpha, eta, uniforms, cumulative)


def draw_documents(
    rng: np.random.Generator, topics: np.ndarray, n: int, length: int, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, p) of documents drawn from the model with ``topics`` (K, p), and their proportions (n, K)."""
    theta = rng.dirichlet(np.full(len(topics), alpha), size=n)
    return np.array([rng.multinomial(length, p / p.sum()) for p in theta @ topics]), theta
