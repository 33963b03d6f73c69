"""The loops of latent Dirichlet allocation compiled by Numba: see :mod:`margin.text.topics`."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.cached_kernels import njit

__all__ = ["digamma", "infer_documents", "sweep"]

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True}


@njit(**OPTIONS)
def digamma(x):
    """The derivative of log gamma for x > 0: raised to x >= 8 by its recurrence, then its asymptotic series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = square * (
        1 / 12
        - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * 691 / 32760))))
    )
    return shift + np.log(x) - 0.5 * inverse - series


@njit(**OPTIONS)
def exp_expected_log(gamma, result):
    """exp(E log theta) of one Dirichlet."""
    total = 0.0
    for k in range(len(gamma)):
        total += gamma[k]
    digamma_total = digamma(total)
    for k in range(len(gamma)):
        result[k] = np.exp(digamma(gamma[k]) - digamma_total)


@njit(**OPTIONS)
def infer_documents(ends, words, counts, likelihood, alpha, tol, max_iter, gamma, expected):
    """Fills ``gamma`` (n, K) from its first values, adds to ``expected`` (p, K), still to be times ``likelihood``."""
    n_topics = gamma.shape[1]
    theta, new = np.empty(n_topics), np.empty(n_topics)
    for d in range(len(ends) - 1):
        exp_expected_log(gamma[d], theta)
        for _ in range(max_iter):
            new[:] = 0.0
            for i in range(ends[d], ends[d + 1]):
                row = likelihood[words[i]]
                total = 1e-300  # a word that no topic explains
                for k in range(n_topics):
                    total += theta[k] * row[k]
                weight = counts[i] / total
                for k in range(n_topics):
                    new[k] += weight * row[k]
            change = 0.0
            for k in range(n_topics):
                value = alpha + theta[k] * new[k]
                change += abs(value - gamma[d, k])
                gamma[d, k] = value
            exp_expected_log(gamma[d], theta)
            if change < tol * n_topics:
                break
        for i in range(ends[d], ends[d + 1]):
            row = likelihood[words[i]]
            total = 1e-300
            for k in range(n_topics):
                total += theta[k] * row[k]
            weight = counts[i] / total
            for k in range(n_topics):
                expected[words[i], k] += weight * theta[k]


@njit(**OPTIONS)
def sweep(documents, words, assigned, document_topics, topic_words, totals, alpha, eta, uniforms):
    """One draw of the topic of each token; see :func:`margin.text.topics.gibbs_sweep`."""
    n_topics, n_words = topic_words.shape
    cumulative = np.empty(n_topics)
    for i in range(len(words)):
        d, w, old = documents[i], words[i], assigned[i]
        document_topics[d, old] -= 1
        topic_words[old, w] -= 1
        totals[old] -= 1
        sum_so_far = 0.0
        for k in range(n_topics):
            sum_so_far += (document_topics[d, k] + alpha) * (topic_words[k, w] + eta) / (totals[k] + n_words * eta)
            cumulative[k] = sum_so_far
        drawn = uniforms[i] * sum_so_far
        new = 0
        while new < n_topics - 1 and cumulative[new] <= drawn:
            new += 1
        assigned[i] = new
        document_topics[d, new] += 1
        topic_words[new, w] += 1
        totals[new] += 1
