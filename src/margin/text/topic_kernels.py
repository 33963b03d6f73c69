"""The loops of latent Dirichlet allocation: see :mod:`margin.text.topics`."""

from __future__ import annotations

import cython

from margin.core.elementary_kernels import exp, log
from margin.core.kernel_source import (
    ConstIntegers,
    ConstIntegers32,
    ConstMatrix,
    ConstVector,
    IntegerMatrix,
    Integers,
    Matrix,
    Vector,
    inner,
    kernel,
)

__all__ = ["digamma", "draw_topics", "infer_documents"]


@kernel
def digamma(x: cython.double) -> cython.double:
    """The derivative of log gamma for x > 0: raised to x >= 8 by its recurrence, then its asymptotic series."""
    shift: cython.double = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = square * (
        1.0 / 12.0
        - square
        * (
            1.0 / 120.0
            - square * (1.0 / 252.0 - square * (1.0 / 240.0 - square * (1.0 / 132.0 - square * 691.0 / 32760.0)))
        )
    )
    return shift + log(x) - 0.5 * inverse - series


@inner
def _exp_expected_log(gamma: Matrix, d: cython.Py_ssize_t, result: Vector) -> cython.void:
    """exp(E log theta) of the Dirichlet in row ``d``."""
    total: cython.double = 0.0
    for k in range(gamma.shape[1]):
        total += gamma[d, k]
    digamma_total = digamma(total)
    for k in range(gamma.shape[1]):
        result[k] = exp(digamma(gamma[d, k]) - digamma_total)


@inner
def _weight(theta: Vector, likelihood: ConstMatrix, word: cython.Py_ssize_t, count: cython.double) -> cython.double:
    """A word's count over its probability."""
    total: cython.double = 1e-300  # a word that no topic explains
    for k in range(likelihood.shape[1]):
        total += theta[k] * likelihood[word, k]
    return count / total


@kernel
def infer_documents(
    ends: ConstIntegers,
    words: ConstIntegers,
    counts: ConstVector,
    likelihood: ConstMatrix,
    alpha: cython.double,
    tol: cython.double,
    max_iter: cython.Py_ssize_t,
    gamma: Matrix,
    expected: Matrix,
    scratch: Matrix,
) -> cython.void:
    """Fills ``gamma`` (n, K) from its first values, adds to ``expected`` (p, K), still to be times ``likelihood``;
    ``scratch`` is (2, K)."""
    change: cython.double
    n_topics = gamma.shape[1]
    theta = scratch[0]
    new = scratch[1]
    for d in range(ends.shape[0] - 1):
        _exp_expected_log(gamma, d, theta)
        for _ in range(max_iter):
            for k in range(n_topics):
                new[k] = 0.0
            for i in range(ends[d], ends[d + 1]):
                weight = _weight(theta, likelihood, words[i], counts[i])
                for k in range(n_topics):
                    new[k] += weight * likelihood[words[i], k]
            change = 0.0
            for k in range(n_topics):
                value = alpha + theta[k] * new[k]
                change += abs(value - gamma[d, k])
                gamma[d, k] = value
            _exp_expected_log(gamma, d, theta)
            if change < tol * n_topics:
                break
        for i in range(ends[d], ends[d + 1]):
            weight = _weight(theta, likelihood, words[i], counts[i])
            for k in range(n_topics):
                expected[words[i], k] += weight * theta[k]


@kernel
def draw_topics(
    documents: ConstIntegers32,
    words: ConstIntegers32,
    assigned: Integers,
    document_topics: IntegerMatrix,
    topic_words: IntegerMatrix,
    totals: Integers,
    alpha: cython.double,
    eta: cython.double,
    uniforms: ConstVector,
    cumulative: Vector,
) -> cython.void:
    """One draw of the topic of each token; see :func:`margin.text.topics.gibbs_sweep`. ``cumulative`` is scratch."""
    total: cython.double
    new: cython.Py_ssize_t
    n_topics = topic_words.shape[0]
    rest = topic_words.shape[1] * eta
    for i in range(words.shape[0]):
        d = documents[i]
        w = words[i]
        old = assigned[i]
        document_topics[d, old] -= 1
        topic_words[old, w] -= 1
        totals[old] -= 1
        total = 0.0
        for k in range(n_topics):
            total += (document_topics[d, k] + alpha) * (topic_words[k, w] + eta) / (totals[k] + rest)
            cumulative[k] = total
        drawn = uniforms[i] * total
        new = 0
        while new < n_topics - 1 and cumulative[new] <= drawn:
            new += 1
        assigned[i] = new
        document_topics[d, new] += 1
        topic_words[new, w] += 1
        totals[new] += 1
