"""Forecasts against recursions written out, exact laws, and the seasonal naive forecast."""

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score

import margin
from margin.data import load
from margin.forecasting import Forecaster, seasonal_naive
from margin.linear import LinearRegression, Ridge

STRATEGIES = ["direct", "multioutput", "recursive"]


def law(n, start=(1.0, 0.5)):
    """A series that follows a linear law of its last two values exactly."""
    y = list(start)
    for _ in range(n - 2):
        y.append(1.6 * y[-1] - 0.9 * y[-2] + 0.2)
    return np.array(y)


def seasons(n, seed=0):
    """Trend, two seasonal waves and correlated noise."""
    rng, t = np.random.default_rng(seed), np.arange(n)
    noise = rng.normal(size=n)
    for i in range(1, n):
        noise[i] += 0.6 * noise[i - 1]
    return 20 + 0.05 * t + 8 * np.sin(2 * np.pi * t / 12) + 3 * np.cos(2 * np.pi * t / 6) + noise


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_linear_law_is_continued_exactly(strategy):
    whole = law(60)
    model = Forecaster(LinearRegression(), window_length=3, horizon=4, strategy=strategy)
    model.fit(whole[:50])
    np.testing.assert_allclose(model.predict(10), whole[50:], atol=1e-6)
    assert model.predict().shape == (4,)


def test_direct_steps_are_least_squares_on_windows():
    """Every step by itself, with NumPy: columns are the window and the exogenous column now and at that step."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 1))
    y = np.cumsum(rng.normal(size=40)) + 2 * x[:, 0]
    ahead = rng.normal(size=(3, 1))
    model = Forecaster(LinearRegression(), window_length=2, horizon=3, calibration_fraction=0)
    got = model.fit(x, y).predict(ahead)
    for step in range(3):
        rows = [[1, y[t - 1], y[t], x[t, 0], x[t + 1 + step, 0]] for t in range(1, 40 - 3)]
        goals = [y[t + 1 + step] for t in range(1, 40 - 3)]
        weights = np.linalg.lstsq(np.array(rows), np.array(goals), rcond=None)[0]
        assert got[step] == pytest.approx(np.array([1, y[-2], y[-1], x[-1, 0], ahead[step, 0]]) @ weights)


def test_recursive_forecasts_feed_on_themselves():
    y = seasons(60)
    model = Forecaster(Ridge(), window_length=5, horizon=3, strategy="recursive").fit(y)
    window, expected = list(y[-5:]), []
    for _ in range(8):
        z = [*(np.array(window[-5:]) - window[-1]), window[-1] - y.mean()]
        expected.append(model.estimators_[0].predict(np.array([z]) / y.std())[0] * y.std() + window[-1])
        window.append(expected[-1])
    np.testing.assert_allclose(model.predict(8), expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_level_and_unit_do_not_matter(strategy):
    y = seasons(80)
    options = {"window_length": 12, "horizon": 3, "strategy": strategy}
    plain, moved = (Forecaster(**options).fit(series).predict(5) for series in (y, 1000 * y - 70))
    np.testing.assert_allclose(moved, 1000 * plain - 70, rtol=1e-7)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_exogenous_columns_move_the_forecast(strategy):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    y = 5 * x[:, 0] + 0.1 * rng.normal(size=200)
    model = Forecaster(window_length=3, horizon=2, strategy=strategy).fit(x[:190], y[:190])
    assert model.score(x[190:], y[190:]) > 0.98
    assert model.predict(x[190:]).shape == (10,)


def test_several_series_are_forecast_together():
    """The second series is the first one a step later, which only a joint forecast can use."""
    rng = np.random.default_rng(4)
    lead = rng.normal(size=201)
    series = np.column_stack([lead[1:], lead[:-1]])
    model = Forecaster(window_length=2, horizon=1).fit(series[:150])
    assert model.predict(3).shape == (3, 2)
    assert model.predict_interval(1, coverage=0.5).shape == (1, 2, 2)
    for cut in (150, 170, 190):
        got = model.predict(1, last_window=series[:cut])
        assert got[0, 1] == pytest.approx(series[cut, 1], abs=0.1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_better_than_the_season_before(strategy):
    """On generated series with three seeds and on the airline's, over several starts, by mean absolute error."""
    passengers = load("airline-passengers").y
    for series in (seasons(240, 0), seasons(240, 1), seasons(240, 2), passengers):
        errors, naive = [], []
        for cut in range(len(series) - 42, len(series) - 11, 6):
            known, truth = series[:cut], series[cut : cut + 12]
            forecast = Forecaster(strategy=strategy, calibration_fraction=0).fit(known).predict(12)
            errors.append(np.abs(forecast - truth).mean())
            naive.append(np.abs(seasonal_naive(known, 12, 12) - truth).mean())
        assert np.mean(errors) < np.mean(naive)


def test_intervals_are_errors_of_regressors_that_had_not_seen_the_end():
    y = seasons(100)
    free = LinearRegression()  # without a penalty the unit of the series, which is that of all of it, does not matter
    model = Forecaster(free, window_length=6, horizon=2, calibration_fraction=0.25).fit(y)
    n_windows = 100 - 6 - 2 + 1
    n_held = int(np.ceil(0.25 * n_windows))
    first = n_windows - n_held
    earlier = Forecaster(free, window_length=6, horizon=2, calibration_fraction=0)
    earlier.fit(y[: first + 6])
    assert model.errors_.shape == (n_held, 2, 1)
    forecasts = np.array([earlier.predict(2, last_window=y[start : start + 6]) for start in range(first, n_windows)])
    truth = np.array([y[start + 6 : start + 8] for start in range(first, n_windows)])
    np.testing.assert_allclose(model.errors_[:, :, 0], np.abs(truth - forecasts), atol=1e-9)
    ends = model.predict_interval(coverage=0.8)
    np.testing.assert_allclose(ends.mean(axis=1), model.predict())
    assert (model.predict_interval(coverage=0.9)[:, 1] >= ends[:, 1]).all()


def test_intervals_hold_about_as_often_as_asked():
    """Forecasts from 200 windows after the fit: 80 % within 12 points, which intervals of 60 or 95 % are not."""
    y = seasons(900, seed=5)
    model = Forecaster(window_length=13, horizon=3).fit(y[:690])
    held = []
    for cut in range(690, 890):
        low, high = model.predict_interval(3, coverage=0.8, last_window=y[:cut]).T
        held.append((low <= y[cut : cut + 3]) & (y[cut : cut + 3] <= high))
    assert np.mean(held) == pytest.approx(0.8, abs=0.12)


class Series(LinearRegression):
    """Takes series (n, steps, channels), as a recurrent network does, and keeps what it saw."""

    takes_series = True

    def fit(self, X, y):
        self.shape_ = X.shape
        self.last_ = X[-1]
        return super().fit(X.reshape(len(X), -1), y)

    def predict(self, X):
        return super().predict(X.reshape(len(X), -1))


def test_a_recurrent_regressor_sees_exogenous_columns_as_channels_of_the_steps_to_come():
    x, y = np.arange(30.0)[:, None], seasons(30)
    model = Forecaster(Series(), window_length=4, horizon=2, strategy="multioutput", calibration_fraction=0).fit(x, y)
    seen = model.estimators_[0]
    assert seen.shape_ == (25, 4, 3)  # the series, its level, the exogenous column
    np.testing.assert_allclose(seen.last_[:, 2] * x.std() + x.mean(), [26, 27, 28, 29])
    assert model.predict(x[:3] + 30).shape == (3,)
    with pytest.raises(ValueError, match="last_window belongs to a series without exogenous columns"):
        model.predict(x[:3], last_window=y)
    with pytest.raises(ValueError, match=r"window_length must be at least horizon \(5\)"):
        Forecaster(Series(), window_length=4, horizon=5, strategy="multioutput").fit(x, y)


def test_a_network_forecasts_and_is_stored(tmp_path):
    from margin.neural import SequenceRegressor

    network = SequenceRegressor("gru", hidden_size=8, max_iter=3)
    model = Forecaster(network, window_length=6, horizon=2, strategy="multioutput", random_state=0).fit(seasons(60))
    margin.save(model, tmp_path / "model.safetensors")
    again = margin.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(5), model.predict(5))
    np.testing.assert_array_equal(again.predict_interval(coverage=0.5), model.predict_interval(coverage=0.5))


def test_folds_in_time_and_searches():
    y = seasons(120)
    folds = TimeSeriesSplit(4, test_size=6)
    scores = cross_val_score(Forecaster(window_length=12, horizon=6), y[:, None], cv=folds)
    by_hand = [Forecaster(window_length=12, horizon=6).fit(y[:cut]).predict(6) for cut in (96, 102, 108, 114)]
    expected = [r2_score(y[cut : cut + 6], said) for cut, said in zip((96, 102, 108, 114), by_hand)]
    np.testing.assert_allclose(scores, expected)
    search = GridSearchCV(Forecaster(horizon=6), {"window_length": [1, 24]}, cv=folds).fit(y[:, None])
    assert search.best_params_ == {"window_length": 24}


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda m, y: m.fit(y[:10]), r"at least window_length \+ horizon = 15 values; got n_samples = 10"),
        (lambda m, y: m.fit(y[:16]), "calibration_fraction 0.2 leaves no window to learn from"),
        (lambda m, y: m.fit(np.where(y > 20, np.nan, y)), "NaN"),
        (lambda m, y: m.fit(y).predict(0), "steps to forecast must be at least 1; got 0"),
        (lambda m, y: m.fit(y).predict(y[:, None]), "fit had no exogenous columns"),
        (lambda m, y: m.fit(y[:, None], y).predict(4), "must give the 1 exogenous columns"),
        (lambda m, y: m.fit(y).predict_interval(6), "intervals reach 5 steps, the horizon of fit; got 6"),
        (lambda m, y: m.fit(y).predict_interval(coverage=0.99), "needs at least 99 calibration windows; fit had"),
        (lambda m, y: m.fit(y).predict_interval(coverage=1.0), "coverage must be between 0 and 1; got 1.0"),
        (lambda m, y: m.fit(y).predict(last_window=y[:4]), "last_window must have at least 10 values of 1 series"),
        (lambda m, y: m.set_params(calibration_fraction=0).fit(y).predict_interval(), "there are no intervals"),
    ],
)
def test_what_is_refused_is_said_in_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act(Forecaster(window_length=10, horizon=5), seasons(100))


def test_score_names_a_truth_of_another_shape():
    t = np.arange(40.0)
    X = np.sin(t)[:, None]
    model = Forecaster(window_length=4, horizon=2).fit(X, t)
    assert model.score(X, t) < 1
    for wrong in (t[:-1], np.column_stack([t, t])):
        with pytest.raises(ValueError, match=r"Forecaster: y must have 40 values, one for each row of X, of 1 series"):
            model.score(X, wrong)
    with pytest.raises(ValueError, match="Forecaster: y must be numbers; got 'high'"):
        model.score(X, [*t[:-1], "high"])
