"""The hidden Markov model of numbers as an estimator: what it finds, where it begins, what it refuses, how it resumes.

Its equations are held against every path in ``tests/oracles/graphical/sequences.py``.
"""

import warnings
from itertools import islice

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from margin.core.invariants import Violation
from margin.graphical import GaussianHMM
from margin.graphical.stored import rows_are_distributions
from margin.store import load, save

STEPS = np.array([[0.95, 0.05, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]])
MEANS, DEVIATIONS = np.array([[-2.0, 0.0], [1.0, 3.0], [4.0, -1.0]]), np.array([[0.5, 1.0], [1.0, 0.4], [0.7, 0.7]])


def drawn(n, seed):
    """A sequence by a plain loop, and its states."""
    rng, states = np.random.default_rng(seed), [0]
    while len(states) < n:
        states.append(int(rng.choice(3, p=STEPS[states[-1]])))
    states = np.array(states)
    return MEANS[states] + DEVIATIONS[states] * rng.normal(size=(n, 2)), states


def sequences(seed):
    parts = [drawn(n, 10 * seed + i) for i, n in enumerate((150, 90, 160))]
    return np.concatenate([X for X, _ in parts]), np.concatenate([z for _, z in parts]), [150, 90, 160]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_planted_chain_is_found_and_the_likelihood_climbs(kind, seed):
    X, states, lengths = sequences(seed)
    model = GaussianHMM(3, covariance_type=kind, reg_covar=0, n_init=2, random_state=seed)
    values = [record.as_dict() for record in model.iterate(X, lengths=lengths)]
    assert min(v["change"] for v in values) > -1e-10
    assert {v["run"] for v in values} == {0, 1}
    order = [int(np.linalg.norm(model.means_ - mean, axis=1).argmin()) for mean in MEANS]
    assert sorted(order) == [0, 1, 2]
    assert np.mean(np.array(order)[states] == model.predict(X, lengths)) > 0.97
    np.testing.assert_allclose(model.means_[order], MEANS, atol=0.4)
    np.testing.assert_allclose(model.transmat_[np.ix_(order, order)], STEPS, atol=0.1)
    assert model.log_likelihood_ == pytest.approx(model.score(X, lengths=lengths), abs=1e-9)


def test_the_order_of_rows_is_what_it_learns_from():
    X, _, lengths = sequences(0)
    shuffled = X[np.random.default_rng(0).permutation(len(X))]
    ordered, mixed = (GaussianHMM(3, random_state=0).fit(rows) for rows in (X, shuffled))
    assert ordered.score(X) > mixed.score(shuffled) + 0.3
    assert GaussianHMM(3, random_state=0).fit(X, lengths=lengths).bic(X, lengths) < GaussianHMM(1).fit(X).bic(X)


def test_samples_follow_the_chain():
    X, _, lengths = sequences(0)
    model = GaussianHMM(3, covariance_type="full", random_state=0).fit(X, lengths=lengths)
    rows, states = model.sample(4000, random_state=1, return_states=True)
    counted = np.array([np.bincount(states[1:][states[:-1] == k], minlength=3) for k in range(3)])
    np.testing.assert_allclose(counted / counted.sum(axis=1, keepdims=True), model.transmat_, atol=0.05)
    for k in range(3):
        np.testing.assert_allclose(rows[states == k].mean(axis=0), model.means_[k], atol=0.2)
        np.testing.assert_allclose(np.cov(rows[states == k].T), model.covariances_[k], atol=0.2)


def test_impossible_steps_stay_impossible():
    X, _, lengths = sequences(1)
    one_way = np.array([[0.8, 0.2, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.0]])
    start = np.array([1.0, 0.0, 0.0])
    model = GaussianHMM(3, startprob_init=start, transmat_init=one_way, means_init=MEANS, max_iter=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, lengths=lengths)
    assert (model.transmat_[one_way == 0] == 0).all()
    assert (model.startprob_ == start).all()
    path = np.split(model.predict(X, lengths), np.cumsum(lengths)[:-1])
    assert all((np.diff(part) >= 0).all() and part[0] == 0 for part in path)


def test_sequences_are_independent_of_each_other():
    X, _, lengths = sequences(2)
    model = GaussianHMM(3, random_state=0).fit(X, lengths=lengths)
    parts = np.split(X, np.cumsum(lengths)[:-1])
    for name in ("predict", "predict_proba", "score_samples"):
        ask = getattr(model, name)
        np.testing.assert_allclose(ask(X, lengths), np.concatenate([ask(part) for part in parts]), rtol=1e-9, atol=1e-9)


def test_a_fit_of_several_sequences_resumes_with_the_same_bits(tmp_path):
    X, _, lengths = sequences(0)
    whole = GaussianHMM(3, n_init=2, random_state=0)
    records = [record.as_dict() for record in whole.iterate(X, lengths=lengths)]
    begun = GaussianHMM(3, n_init=2, random_state=0)
    first = [record.as_dict() for record in islice(begun.iterate(X, lengths=lengths), 3)]
    resumed = GaussianHMM(3, n_init=2, random_state=0)
    rest = [record.as_dict() for record in resumed.iterate(X, lengths=lengths, state=begun.get_state())]
    assert first + rest == records
    save(resumed, tmp_path / "chain.margin")
    np.testing.assert_array_equal(
        load(tmp_path / "chain.margin").score_samples(X, lengths), whole.score_samples(X, lengths)
    )
    with pytest.raises(ValueError, match="state belongs to a fit of sequences of other lengths"):
        list(GaussianHMM(3, n_init=2).iterate(X, state=begun.get_state()))


@pytest.mark.parametrize(
    "params, options, sentence",
    [
        (
            {},
            {"lengths": [100, 299]},
            r"lengths must be integers from 1 that add up to the 400 rows of X; got \[100, 299\]",
        ),
        ({}, {"lengths": [400, 0]}, "lengths must be integers from 1"),
        ({}, {"lengths": [200.0, 200.0]}, "lengths must be integers from 1"),
        ({"startprob_init": [0.5, 0.6]}, {}, "startprob_init must be probabilities that sum to 1"),
        ({"transmat_init": np.eye(3)}, {}, r"transmat_init must be finite numbers of shape \(2, 2\); got \(3, 3\)"),
        ({"means_init": [[0.0, np.nan], [0.0, 1.0]]}, {}, "means_init must be finite numbers"),
        ({"n_components": 401}, {}, "n_components=401 needs as many rows; got 400"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(params, options, sentence):
    X = sequences(0)[0]
    with pytest.raises(ValueError, match=f"GaussianHMM: {sentence}"):
        GaussianHMM(**{"n_components": 2, **params}).fit(X, **options)


def test_covariances_that_are_none_are_refused_by_the_name_of_the_model():
    X = sequences(0)[0]
    model = GaussianHMM(2, covariance_type="full", random_state=0).fit(X)
    model.covariances_[1] *= -1
    with pytest.raises(ValueError, match=r"^GaussianHMM: the covariance of component 1 is not positive definite"):
        model.predict(X)


def test_stored_chances_must_sum_to_one():
    with pytest.raises(Violation, match="transmat_ must be probabilities that sum to 1"):
        rows_are_distributions({"startprob_": np.array([1.0]), "transmat_": np.array([[0.9]])}, None)


def test_lengths_whose_sum_wraps_around_are_refused():
    lengths = np.array([2**62] * 4 + [5])  # 5 in 64 bits
    with pytest.raises(ValueError, match="lengths must be integers from 1 that add up to the 5 rows"):
        GaussianHMM().fit(np.zeros((5, 1)), lengths=lengths)


def test_a_start_that_is_not_finite_is_refused_by_its_values():
    with pytest.raises(ValueError, match=r"startprob_init must be finite numbers; got \[nan, 1.0\]"):
        GaussianHMM(2, startprob_init=[np.nan, 1.0]).fit(np.zeros((5, 1)))
