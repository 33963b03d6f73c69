"""Huge and tiny numbers: a model answers with finite numbers of the right size, or refuses in one sentence and stays
as it was. NumPy's own warnings of overflow are no answer."""

import re
import warnings

import numpy as np
import pytest
from problems import OUTPUTS, as_array, assert_same_bits, build, ids, is_table, problem

from margin import catalog
from margin.neural.training.loop import TrainingDiverged

UNITS_OF_X = (1e-160, 1e100, 1e154, 1e300)
UNITS_OF_Y = (1e-300, 1e150, 1e300)
ROWS = 40

TABLES = [entry for entry in catalog.ENTRIES if is_table(problem(entry)[0])]
REGRESSORS = [entry for entry in TABLES if entry.task in ("regression", "forecasting")]

PENALTY = "its penalty or its noise is a number in the units of X"
AS_IT_IS = "its network, or its kernel, sees X in the units it has"
FLOAT32 = "its rows are float32, in which numbers below 1e-45 are zero"
ROUNDING = "thresholds halfway between rows round otherwise in another unit, and rows left out may change sides"

# Models whose predictions rightly change with the units of X, and why.
UNIT_OF_X_MATTERS = {
    **dict.fromkeys(["ridge", "lasso", "elastic-net", "logistic-regression", "linear-svc", "kernel-ridge"], PENALTY),
    **dict.fromkeys(
        ["self-training-classifier", "zero-shot", "gaussian-mixture", "gaussian-hmm", "domain-adaptation-classifier"],
        PENALTY,
    ),
    **dict.fromkeys(["quadratic-discriminant-analysis", "multinomial-nb", "categorical-nb"], PENALTY),
    **dict.fromkeys(["basis-regression", "polynomial-regression", "kernel-regression", "neural-regressor"], AS_IT_IS),
    **dict.fromkeys(["neural-classifier", "hard-margin-svc"], AS_IT_IS),
    **dict.fromkeys(["cnn-classifier", "cnn-regressor", "vision-transformer", "few-shot-learner"], FLOAT32),
    **dict.fromkeys(["bagging-classifier", "bagging-regressor", "random-forest-regressor"], ROUNDING),
}

Y_AS_IT_IS = "its network is trained on y in the units it has"
Y_PENALTY = "its penalty or its tube is a number in the units of y"
# Models whose predictions are rightly not proportional to y, and why.
UNIT_OF_Y_MATTERS = {
    **dict.fromkeys(["lasso", "elastic-net", "svr"], Y_PENALTY),
    **dict.fromkeys(["neural-regressor", "pinn"], Y_AS_IT_IS),
}
# Squares of targets of 1e-300 are zero, so every split seems to gain nothing and the mean is predicted.
TREES = {entry.name for entry in REGRESSORS if entry.family == "trees"}

# Squares of numbers of 1e-160 have three digits left; where none vanish, ten or more digits agree (a PINN's five are
# those of its unfinished search).
DIGITS = {1e-160: 1e-3}


def small(entry):
    X, y = problem(entry)
    return X[:ROWS], None if y is None else y[:ROWS]


def learned(model, X, y):
    return model.fit(X) if y is None else model.fit(X, y)


def assert_clear(refusal):
    """One line that begins with the object and says what is the matter in words, not in those of NumPy or SciPy."""
    assert re.fullmatch(r"[A-Z]\w+: [^\n]{30,}\.", str(refusal)), refusal
    assert not re.search(r"Input [Xy] contains|infs or NaNs|out of range", str(refusal)), refusal


def answers(model, X):
    """What the model says about ``X``, by method; a method that refuses must do so clearly."""
    said = {}
    for name in OUTPUTS:
        if hasattr(model, name):
            try:
                said[name] = as_array(getattr(model, name)(X))
            except ValueError as refusal:
                assert_clear(refusal)
    if callable(getattr(model, "sample", None)):
        said["sample"] = np.asarray(model.sample(5, random_state=1))
    for name, values in said.items():
        assert values.dtype.kind != "f" or np.isfinite(values).all(), name
    return said


def fitted_or_refused(model, X, y, before):
    """Whether the fit was accepted; one that is refused leaves every attribute as it was ``before``."""
    try:
        learned(model, X, y)
    except TrainingDiverged as diverged:  # keeps its last finite weights
        assert_clear(diverged)
        assert all(np.isfinite(weight).all() for weight in model.weights_.values())
        return False
    except ValueError as refusal:
        assert_clear(refusal)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is value for name, value in before.items())
        return False
    return True


def assert_same_predictions(got, expected, tolerance):
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.fixture(autouse=True)
def no_raw_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few iterations do not converge is said elsewhere
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("entry", TABLES, ids=ids)
def test_rows_of_any_size_are_learned_or_refused(entry):
    X, y = small(entry)
    expected = answers(learned(build(entry), X, y), X)
    for unit in UNITS_OF_X:
        model = learned(build(entry), X, y)
        if not fitted_or_refused(model, X * unit, y, dict(vars(model))):
            continue
        said = answers(model, X * unit)
        if "predict" not in said:
            continue
        if entry.name not in UNIT_OF_X_MATTERS:
            assert_same_predictions(said["predict"], expected["predict"], DIGITS.get(unit, 1e-4))
        elif said["predict"].dtype.kind != "f":
            assert np.isin(said["predict"], expected["predict"] if y is None else y).all(), unit
        elif entry.name != "neural-regressor":  # a linear function of rows of 1e100
            assert np.abs(said["predict"]).max() <= 2 * np.abs(y).max(), unit


@pytest.mark.parametrize("entry", TABLES, ids=ids)
def test_rows_far_from_those_learned_get_finite_answers_or_a_sentence(entry):
    X, y = small(entry)
    model = learned(build(entry), X, y)
    expected = answers(model, X)
    for unit in UNITS_OF_X:
        answers(model, X * unit)
    assert_same_bits(answers(model, X), expected)


@pytest.mark.parametrize("entry", REGRESSORS, ids=ids)
def test_targets_of_any_size_are_learned_or_refused(entry):
    X, y = small(entry)
    expected = answers(learned(build(entry), X, y), X)["predict"]
    for unit in UNITS_OF_Y:
        model = learned(build(entry), X, y)
        if not fitted_or_refused(model, X, y * unit, dict(vars(model))):
            continue
        predicted = answers(model, X)["predict"]
        if entry.name in UNIT_OF_Y_MATTERS and UNIT_OF_Y_MATTERS[entry.name] is Y_AS_IT_IS:
            continue
        if entry.name in UNIT_OF_Y_MATTERS or (entry.name in TREES and unit < 1):
            assert np.abs(predicted).max() <= np.abs(y * unit).max() * 1.5, unit
        else:
            assert_same_predictions(predicted / unit, expected, 1e-10)
