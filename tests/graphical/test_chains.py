"""Hidden Markov models, conditional random fields and grids: sums over all paths, by enumeration and as factors."""

from itertools import islice, pairwise, product

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import logsumexp

from margin.graphical.chains import backward, forward
from margin.graphical.crf import LinearChainCRF, crf_objective
from margin.graphical.elimination import log_partition, marginal, most_probable
from margin.graphical.fields import MarkovRandomField, ising_grid
from margin.graphical.hidden_markov import HiddenMarkovModel, baum_welch


def paths(model_potentials):
    emissions, transition, start = model_potentials
    n, k = emissions.shape
    found = list(product(range(k), repeat=n))
    scores = [
        start[p[0]] + sum(emissions[t, s] for t, s in enumerate(p)) + sum(transition[a, b] for a, b in pairwise(p))
        for p in found
    ]
    return np.array(found), np.array(scores)


@pytest.mark.parametrize("seed", range(3))
def test_hidden_markov_models_equal_enumeration_and_elimination(seed):
    model = HiddenMarkovModel.random(3, 4, seed)
    symbols, _ = model.sample(6, seed)
    found, scores = paths(model.log_potentials(symbols))
    np.testing.assert_allclose(model.log_prob(symbols), np.logaddexp.reduce(scores))
    assert model.decode(symbols).tolist() == found[scores.argmax()].tolist()
    p = np.exp(scores - np.logaddexp.reduce(scores))
    by_path = np.array([[p[found[:, t] == k].sum() for k in range(3)] for t in range(6)])
    np.testing.assert_allclose(model.state_probabilities(symbols), by_path, atol=1e-12)
    factors = model.factors(symbols)
    np.testing.assert_allclose(log_partition(factors), model.log_prob(symbols))
    np.testing.assert_allclose(marginal(factors, [2]).values, by_path[2], atol=1e-12)
    assert list(dict(sorted(most_probable(factors).items())).values()) == model.decode(symbols).tolist()


@pytest.mark.parametrize("seed", range(3))
def test_baum_welch_climbs_and_recovers(seed):
    truth = HiddenMarkovModel([0.6, 0.4], [[0.95, 0.05], [0.1, 0.9]], [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])
    sequences = [truth.sample(300, 100 * seed + i)[0] for i in range(6)]
    start = HiddenMarkovModel([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    steps = list(islice(baum_welch(sequences, start), 25))
    assert np.diff([step.log_likelihood for step in steps]).min() > -1e-8
    np.testing.assert_allclose(steps[-1].model.emission, truth.emission, atol=0.1)
    assert steps[-1].log_likelihood > sum(map(truth.log_prob, sequences)) - 5


def test_the_kernels_equal_plain_numpy():
    rng = np.random.default_rng(0)
    emissions, transition, start = rng.normal(size=(30, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)
    transition[1, 2] = -np.inf
    alpha, beta = [start + emissions[0]], [np.zeros(4)]
    for t in range(1, 30):
        alpha.append(emissions[t] + logsumexp(alpha[-1][:, None] + transition, axis=0))
        beta.insert(0, logsumexp(transition + emissions[30 - t] + beta[0], axis=1))
    np.testing.assert_allclose(forward(emissions, transition, start), alpha, rtol=1e-12)
    np.testing.assert_allclose(backward(emissions, transition), beta, rtol=1e-12)
    impossible = np.full((4, 4), -np.inf)
    assert (forward(emissions, impossible, start)[1:] == -np.inf).all()


def labeled(seed, n=8, length=10):
    rng = np.random.default_rng(seed)
    sequences, labels = [], []
    for _ in range(n):
        y = [int(rng.integers(3))]
        for _ in range(length - 1):
            y.append(y[-1] if rng.random() < 0.8 else int(rng.integers(3)))
        labels.append(np.array(y))
        sequences.append(np.eye(3)[y] + rng.normal(scale=0.8, size=(length, 3)))
    return sequences, labels


def test_the_gradient_of_the_crf():
    sequences, labels = labeled(0, 3, 4)
    packed = np.random.default_rng(1).normal(size=9 + 9 + 3)
    arguments = (sequences, labels, 3, 0.5)
    error = check_grad(lambda w: crf_objective(w, *arguments)[0], lambda w: crf_objective(w, *arguments)[1], packed)
    assert error < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_conditional_random_fields_equal_enumeration(seed):
    sequences, labels = labeled(seed)
    model = LinearChainCRF.fit(sequences, labels)
    x, y = sequences[0][:5], labels[0][:5]
    found, scores = paths(model.log_potentials(x))
    at = [p.tolist() for p in found].index(y.tolist())
    np.testing.assert_allclose(model.log_prob(x, y), scores[at] - np.logaddexp.reduce(scores))
    assert model.predict(x).tolist() == found[scores.argmax()].tolist()
    np.testing.assert_allclose(marginal(model.factors(x), [3]).values, model.predict_proba(x)[3], atol=1e-12)
    fresh, truth = labeled(seed + 50, 30)
    by_chain = np.mean([np.mean(model.predict(a) == b) for a, b in zip(fresh, truth)])
    alone = np.mean([np.mean(a.argmax(axis=1) == b) for a, b in zip(fresh, truth)])
    assert by_chain > alone


def test_gibbs_on_a_grid_matches_exact_marginals():
    field = ising_grid(3, 3, 0.3, 0.1)
    rows = field.sample(8000, 0)
    exact = [field.marginal([v]).values[1] for v in field.variables]
    np.testing.assert_allclose(rows.mean(axis=0), exact, atol=0.03)
    every = np.array(list(product([0, 1], repeat=9)))
    np.testing.assert_allclose(field.log_partition(), np.logaddexp.reduce(field.log_potential(every)))
    best = field.most_probable()
    assert set(best.values()) == {1}


def test_what_is_no_chain():
    with pytest.raises(ValueError, match="transition does not fit 2 states"):
        HiddenMarkovModel([0.5, 0.5], np.eye(3), np.ones((2, 1)))
    with pytest.raises(ValueError, match="emission must be probabilities"):
        HiddenMarkovModel([0.5, 0.5], np.eye(2), np.ones((2, 2)))
    with pytest.raises(ValueError, match="integers from 0 to 1"):
        HiddenMarkovModel([0.5, 0.5], np.eye(2), np.eye(2)).log_prob([2])
    with pytest.raises(ValueError, match="2 sequences and 1 rows of labels"):
        LinearChainCRF.fit([[[1.0]], [[2.0]]], [[0]])
    with pytest.raises(ValueError, match="one integer of at least 0"):
        LinearChainCRF.fit([[[1.0]]], [np.array([0.5])])
    with pytest.raises(ValueError, match="at least one variable"):
        MarkovRandomField([])
