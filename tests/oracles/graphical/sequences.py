"""A hidden Markov model of numbers against every path of a short chain, with SciPy's normal law."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from tests.oracles import oracle

from margin.core.verdict import Verdict, every, near
from margin.graphical import GaussianHMM
from margin.graphical.gaussian_chain import (
    ChainParameters,
    best_states,
    chain_expectation,
    chain_maximization,
    log_predictive,
)
from margin.mixture.covariances import SHAPES

PATH = "margin.graphical.gaussian_chain"
START, STEPS = np.array([0.7, 0.3]), np.array([[0.85, 0.15], [0.4, 0.6]])
MEANS = np.array([[-0.5, 1.0], [1.5, 0.2]])
SPREAD = np.array([[[0.8, 0.3], [0.3, 0.5]], [[0.4, -0.1], [-0.1, 1.3]]])


def _all_paths(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every path, and log p(x, z)."""
    paths = np.array(list(product((0, 1), repeat=len(X))))
    laws = [multivariate_normal(mean, spread) for mean, spread in zip(MEANS, SPREAD)]
    heights = [
        np.log(START[path[0]])
        + sum(np.log(STEPS[a, b]) for a, b in pairwise(path))
        + sum(float(laws[state].logpdf(row)) for state, row in zip(path, X))
        for path in paths
    ]
    return paths, np.array(heights)


@oracle(f"{PATH}.chain_expectation", f"{PATH}.chain_maximization",
        "margin.graphical.GaussianHMM")  # fmt: skip
def states_path_by_path(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(11, 2)) * [1.3, 0.7] + [0.6, 0.4]
    ends, begins = np.array([6, 11]), (0, 6)
    offset = np.array([0.3, -0.2])
    chain = ChainParameters(START, STEPS, SHAPES["full"](MEANS - offset, SPREAD), offset)
    total, first, moves, states = 0.0, np.zeros(2), np.zeros((2, 2)), np.zeros((11, 2))
    best, ahead = [], []
    for begin, end in zip(begins, ends):
        paths, heights = _all_paths(X[begin:end])
        total += float(logsumexp(heights))
        best += paths[heights.argmax()].tolist()
        upto = [0.0, *(float(logsumexp(_all_paths(X[begin:t])[1])) for t in range(begin + 1, end + 1))]
        ahead += np.diff(upto).tolist()
        for path, chance in zip(paths, np.exp(heights - logsumexp(heights))):
            first[path[0]] += chance
            np.add.at(moves, (path[:-1], path[1:]), chance)
            states[np.arange(begin, end), path] += chance
    likelihood, sums = chain_expectation(X, ends, chain)
    learned = chain_maximization(chain, sums, 0.01)
    weight = states.sum(axis=0)
    means = states.T @ X / weight[:, None]
    spread = [(states[:, k, None] * (X - means[k])).T @ (X - means[k]) / weight[k] + 0.01 * np.eye(2) for k in (0, 1)]
    fitted = _model(X, ends)
    potentials = chain.log_potentials(X)
    return every(
        likelihood=near(likelihood * 11, total, tolerance=1e-9),
        rows=near(log_predictive(*potentials, ends), ahead, tolerance=1e-9),
        path=near(best_states(*potentials, ends), best, tolerance=0),
        start=near(learned.start, first / first.sum(), tolerance=1e-9),
        steps=near(learned.transition, moves / moves.sum(axis=1, keepdims=True), tolerance=1e-9),
        means=near(learned.components.means + offset, means, tolerance=1e-9),
        covariances=near(learned.components.covariances, spread, tolerance=1e-9),
        of_model=near(fitted.score_samples(X, [6, 5]), ahead, tolerance=1e-9),
        chances=near(fitted.predict_proba(X, [6, 5]), states, tolerance=1e-9),
        model_path=near(fitted.predict(X, [6, 5]), best, tolerance=0),
    )


def _model(X: np.ndarray, ends: np.ndarray) -> GaussianHMM:
    """A fitted model whose parameters are those of the paths."""
    model = GaussianHMM(2, covariance_type="full", max_iter=0, reg_covar=0.5, random_state=0)
    model.fit(X, lengths=np.diff(ends, prepend=0))
    model.startprob_, model.transmat_, model.means_, model.covariances_ = START, STEPS, MEANS, SPREAD
    return model
