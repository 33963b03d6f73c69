"""Kernels of chains and networks: compiled and as they are written, the same bits."""

import numpy as np
import pytest

from margin.compiled import graphical
from margin.graphical import chain_kernels, gibbs_kernels, score_kernels


@pytest.mark.parametrize("lengths, k", [([1], 1), ([3, 0, 7], 2), ([9, 4], 6)])
@pytest.mark.parametrize("spread", [1.0, 400.0])
def test_chains(lengths, k, spread):
    rng = np.random.default_rng(k)
    ends, scores = np.cumsum(lengths), rng.normal(0, spread, (sum(lengths), k))
    first, last, between = rng.normal(size=k), rng.normal(size=k), rng.normal(0, spread, (k, k))
    found = []
    for kernels in (graphical, chain_kernels):
        marginals, pairs, log_z = np.zeros(scores.shape), np.zeros((k, k)), np.zeros(len(ends))
        longest = max(lengths)
        memory = *np.empty((2, longest, k)), np.empty(longest), np.empty((k, k)), *np.empty((4, k))
        scratch = kernels.ChainScratch(*memory)
        kernels.sum_chains(scores, ends, first, last, between, marginals, pairs, log_z, scratch)
        alpha, beta = np.empty(scores.shape), np.empty(scores.shape)
        kernels.forward_messages(scores, between, first, alpha)
        kernels.backward_messages(scores, between, beta)
        found.append([part.tobytes() for part in (marginals, pairs, log_z, alpha, beta)])
    assert found[0] == found[1]


@pytest.mark.parametrize("begin, end", [(0, 1), (2, 7)])
@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("spread", [1.0, 1e5])
def test_sums_in_logarithms(begin, end, k, spread):
    rng = np.random.default_rng(k)
    scores, between = rng.normal(0, spread, (8, k)), rng.normal(0, spread, (k, k))
    first, last = rng.normal(size=(2, k))
    between[0, -1] = -np.inf if k > 1 else 0.0
    found = []
    for kernels in (graphical, chain_kernels):
        marginals, pairs = np.zeros((8, k)), np.zeros((k, k))
        memory = *np.empty((2, 8, k)), np.empty(8), np.empty((k, k)), *np.empty((4, k))
        given = begin, end, scores, first, last, between, marginals, pairs, kernels.ChainScratch(*memory)
        found.append((kernels.sums_in_logarithms(*given), marginals, pairs))
    for compiled, written in zip(*found, strict=True):
        np.testing.assert_array_equal(compiled, written)
    z, marginals, _ = found[0]
    np.testing.assert_allclose(marginals[begin:end].sum(axis=1), 1.0, rtol=1e-9)
    assert not marginals[:begin].any()
    assert not marginals[end:].any()
    total = first + scores[begin]  # the log of the sum over all paths, one place after the other
    for t in range(begin + 1, end):
        total = np.logaddexp.reduce(total[:, None] + between, axis=0) + scores[t]
    np.testing.assert_allclose(z, np.logaddexp.reduce(total + last), rtol=1e-12)


def test_gibbs_sweeps():
    rng = np.random.default_rng(0)
    sizes = np.array([2, 3, 2])
    values = rng.normal(size=6 + 6 + 2)  # factors over (0, 1), (1, 2) and (2,)
    flat = (
        *(values, np.array([0, 6, 12]), np.array([0, 2, 4, 5]), np.array([0, 1, 1, 2, 2]), np.array([3, 1, 2, 1, 1])),
        *(np.array([0, 1, 3, 5]), np.array([0, 0, 1, 1, 2])),
    )
    uniforms, found = rng.random((40, 3)), []
    for kernels in (graphical, gibbs_kernels):
        state, kept = np.zeros(3, dtype=np.int64), np.empty((20, 3), dtype=np.int64)
        assert kernels.gibbs_sweeps(state, sizes, *flat, uniforms, np.empty(3), kept, 2)
        found.append((state, kept))
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert len(np.unique(found[0][1], axis=0)) > 3


@pytest.mark.parametrize("n_others", [1, 4, 6])
def test_scores(n_others):
    rng = np.random.default_rng(n_others)
    sizes, n = np.array([2, 3, 4, 2, 3, 2, 2]), 50
    columns = np.stack([rng.integers(s, size=n) for s in sizes]).astype(np.int16)
    family, others = columns[6].astype(np.int64), np.arange(n_others)
    counts = np.arange(n + 1.0)
    k_log_k = counts * np.log(np.maximum(counts, 1))
    found = []
    for kernels in (graphical, score_kernels):
        out, scratch = np.empty(n_others), np.empty((4, 2 * 4), dtype=np.int32)
        kernels.log_likelihoods_with_one_more(columns, sizes, family, 2, 2, others, k_log_k, scratch, out)
        found.append(out)
    assert found[0].tobytes() == found[1].tobytes()
