"""Where the time of a fit goes, and what gradients it has on the way."""

import numpy as np
import pytest

import margin
from margin.neural.estimators.time_report import TimeReport
from margin.neural.training.timing import measuring, timed

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)


def test_every_part_of_a_training_is_counted():
    model = margin.TabularNetClassifier(n_networks=2, max_iter=3, random_state=0)
    report = margin.profile_fit(model, X, y)
    assert set(report.seconds) == {"data", "forward", "backward", "update", "evaluation", "other"}
    assert all(seconds >= 0 for seconds in report.seconds.values())
    assert sum(report.fractions.values()) == pytest.approx(1)
    assert report.steps > 0
    assert not hasattr(model, "weights_")  # a copy was trained


def test_the_hint_is_about_the_largest_part():
    report = TimeReport({"data": 3.0, "forward": 1.0}, 10)
    assert list(report.fractions.items()) == [("data", 0.75), ("forward", 0.25)]
    assert str(report).startswith("data 75%, forward 25% of 4 s for 10 updates: batches are waited for")


def test_nothing_is_counted_unless_somebody_measures():
    with timed("data"):
        pass
    with measuring() as spent, timed("data"):
        pass
    with timed("data"):
        pass
    assert list(spent) == ["data"]


def test_models_without_updates_are_refused():
    with pytest.raises(TypeError, match="must be a network that learns by updates; got KMeans"):
        margin.profile_fit(margin.KMeans(2), X)
    with pytest.raises(ValueError, match="seconds must be above 0"):
        margin.profile_fit(margin.MLPClassifier(), X, y, seconds=0)


def test_gradients_are_those_of_the_last_update():
    seen = []
    model = margin.TabularNetClassifier(
        n_networks=2, max_iter=2, solver="sgd", learning_rate="constant", random_state=0
    )
    model.set_params(batch_size=60, early_stopping=False, warmup=0.0, momentum=0.0)

    def note(estimator, _record):
        seen.append((estimator.gradients_, {name: array.copy() for name, array in estimator.weights_.items()}))

    with margin.watch(note):
        model.fit(X, y)
    before, (gradients, after) = seen[0][1], seen[1]
    assert gradients.keys() == model.weights_.keys()
    for name, gradient in gradients.items():  # w2 = w1 - rate * gradient
        moved = before[name] - model.learning_rate_init * gradient
        np.testing.assert_allclose(moved, after[name], rtol=1e-4, atol=1e-5)
    assert model.gradients_ == {}
