"""Scaled sums over paths against sums over all paths one by one, and against logarithms, however large the scores."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from margin.compiled.graphical import ChainScratch, sums_in_logarithms
from margin.graphical.chains import chain_sums


def drawn(seed, lengths, k, spread, zeros=0.0):
    rng = np.random.default_rng(seed)
    scores, between = rng.normal(0, spread, (sum(lengths), k)), rng.normal(0, spread, (k, k))
    between[rng.random((k, k)) < zeros] = -np.inf
    scores[rng.random(scores.shape) < zeros] = -np.inf
    first, last = rng.normal(0, spread, k), rng.normal(0, spread, k)
    return scores, np.cumsum(lengths), first, last, between


def sums(scores, ends, first, last, between):
    marginals, pairs = np.zeros(scores.shape), np.zeros(between.shape)
    log_z = chain_sums(scores, ends, first, last, between, marginals, pairs)
    return log_z, marginals, pairs


def by_paths(scores, first, last, between):
    n, k = scores.shape
    paths = list(itertools.product(range(k), repeat=n))
    values = np.array(
        [
            first[p[0]] + last[p[-1]] + sum(scores[t, s] for t, s in enumerate(p))
            + sum(between[a, b] for a, b in itertools.pairwise(p))
            for p in paths
        ]
    )  # fmt: skip
    weights = np.exp(values - logsumexp(values))
    marginals, pairs = np.zeros(scores.shape), np.zeros(between.shape)
    for path, weight in zip(paths, weights, strict=True):
        for t, state in enumerate(path):
            marginals[t, state] += weight
        for a, b in itertools.pairwise(path):
            pairs[a, b] += weight
    return logsumexp(values), marginals, pairs


@pytest.mark.parametrize(("seed", "spread"), [(0, 1.0), (1, 5.0), (2, 400.0)])
def test_sums_are_those_over_all_paths(seed, spread):
    lengths = [3, 0, 1, 5]
    scores, ends, first, last, between = drawn(seed, lengths, 3, spread)
    log_z, marginals, pairs = sums(scores, ends, first, last, between)
    expected, start = np.zeros((3, 3)), 0
    for i, end in enumerate(ends):
        if end > start:
            z, m, p = by_paths(scores[start:end], first, last, between)
            np.testing.assert_allclose(log_z[i], z, rtol=1e-10)
            np.testing.assert_allclose(marginals[start:end], m, atol=1e-9)
            expected += p
        start = end
    np.testing.assert_allclose(pairs, expected, atol=1e-9)


@pytest.mark.parametrize(("seed", "spread", "zeros"), [(0, 1.0, 0.0), (1, 30.0, 0.0), (2, 2.0, 0.3), (3, 300.0, 0.2)])
def test_scaled_messages_are_those_in_logarithms(seed, spread, zeros):
    scores, ends, first, last, between = drawn(seed, [200], 6, spread, zeros)
    log_z, marginals, pairs = sums(scores, ends, first, last, between)
    m, p = np.zeros(scores.shape), np.zeros(between.shape)
    memory = *np.empty((2, 200, 6)), np.empty(200), np.empty((6, 6)), *np.empty((4, 6))
    z = sums_in_logarithms(0, 200, scores, first, last, between, m, p, ChainScratch(*memory))
    assert np.isfinite(z)
    np.testing.assert_allclose(log_z[0], z, rtol=1e-11)
    np.testing.assert_allclose(marginals, m, atol=1e-8)
    np.testing.assert_allclose(pairs, p, atol=1e-7)
    np.testing.assert_allclose(marginals.sum(axis=1), 1, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_a_message_that_was_lost_comes_back(seed):
    """The state that fits at last was hopeless in between; another must be entered, cannot be left, and never fits."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 1, (150, 3))
    scores[:50, 1:] -= 30.0
    scores[50:100, :2] -= 35.0 + 5 * seed
    scores[100:, 1:] -= 40.0
    between = np.log([[0.8, 0.2, 1.0], [1.0, 0.8, 0.2], [1.0, 1.0, 1.0]])
    between[[0, 1, 2, 2], [2, 0, 0, 1]] = -np.inf
    first, last = np.array([0.0, -np.inf, -np.inf]), np.zeros(3)
    log_z, marginals, pairs = sums(scores, np.array([150]), first, last, between)
    expected, moves = np.zeros(scores.shape), np.zeros((3, 3))
    memory = *np.empty((2, 150, 3)), np.empty(150), np.empty((3, 3)), *np.empty((4, 3))
    z = sums_in_logarithms(0, 150, scores, first, last, between, expected, moves, ChainScratch(*memory))
    np.testing.assert_allclose(log_z[0], z, rtol=1e-12)
    np.testing.assert_allclose(marginals, expected, atol=1e-9)
    np.testing.assert_allclose(pairs, moves, atol=1e-8)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, atol=1e-9)
