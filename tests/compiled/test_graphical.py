"""Kernels of chains and networks: compiled and as they are written."""

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
        found.append((marginals, pairs, log_z, alpha, beta))
    for compiled, written in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, written, rtol=1e-10, atol=1e-12)


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
