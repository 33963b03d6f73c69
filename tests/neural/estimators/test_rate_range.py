"""The search for a learning rate: its rates, its losses, and whether the suggestion learns."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import margin
from margin.neural.estimators.rate_range import smooth

X, y = load_digits(return_X_y=True)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_suggestion_learns_where_the_ends_do_not(seed):
    model = margin.MLPClassifier((16,), random_state=seed)
    found = margin.find_rate(model, X, y, low=1e-7, high=10.0)
    assert not hasattr(model, "weights_")

    def loss(rate):
        short = margin.MLPClassifier((16,), learning_rate_init=rate, max_iter=5, random_state=seed)
        return short.fit(X, y).loss_

    at_low, at_suggestion, at_high = (loss(rate) for rate in (1e-7, found.suggestion, 10.0))
    assert at_suggestion < 0.5 * at_low
    assert at_suggestion < 0.5 * at_high


def test_rates_grow_by_one_factor_and_losses_are_those_of_single_updates():
    found = margin.find_rate(margin.MLPClassifier((16,), batch_size=300, random_state=0), X, y, low=1e-4, steps=20)
    np.testing.assert_allclose(found.rates[1:] / found.rates[:-1], (1 / 1e-4) ** (1 / 19), rtol=1e-9)
    # Until the end of the first epoch, the mean of a record is the mean of the losses up to it.
    model = margin.MLPClassifier((16,), batch_size=300, random_state=0, record_steps=1, learning_rate_init=1e-4)
    first = next(iter(model.iterate(X, y)))
    np.testing.assert_allclose(found.losses[0], first["train_loss"], rtol=1e-9)
    assert len(found.plot().axes) == 1


def test_smoothing_is_the_average_with_weights_that_fall():
    losses = np.array([3.0, 1.0, 4.0, 1.5])
    weights = 0.9 ** np.arange(4)[::-1]
    assert smooth(losses)[-1] == pytest.approx(np.average(losses, weights=weights))


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (margin.Ridge(), {}, "model must be a network"),
        (margin.MLPClassifier(solver="lbfgs"), {}, "lbfgs"),
        (margin.MLPClassifier(), {"low": 1.0, "high": 0.1}, "low must be"),
        (margin.MLPClassifier(), {"steps": 3}, "steps must be"),
    ],
)
def test_bad_input_is_one_sentence(model, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        margin.find_rate(model, X, y, **options)
