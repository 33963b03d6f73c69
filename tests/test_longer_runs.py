"""A finished run goes on with a larger max_iter: to the bits of one fit of that length, or not without a sentence."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import margin
from margin.core.watching import watch
from margin.runs import RunError
from margin.service.fit_request import FitRequest
from margin.service.training import fit as fit_by_name

X, y = load_iris(return_X_y=True)
SMALL = {"hidden_layer_sizes": (5,), "batch_size": 40, "random_state": 0, "n_iter_no_change": 100}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def weights(model):
    return {name: array.copy() for name, array in getattr(model, "steps", [(0, model)])[-1][1].weights_.items()}


NETWORKS = {
    "adam": margin.MLPClassifier(**SMALL),
    "momentum": margin.MLPClassifier(solver="sgd", momentum=0.9, **SMALL),
    "best weights of held-out rows": margin.MLPClassifier(early_stopping=True, learning_rate_init=0.3, **SMALL),
    "average of weights": margin.MLPClassifier(weight_average=0.9, **SMALL),
    "noise": margin.Autoencoder(2, (4,), noise=0.1, batch_size=40, random_state=0, learning_rate="constant"),
    "lbfgs": margin.MLPClassifier(solver="lbfgs", **SMALL),
    "pipeline": make_pipeline(MinMaxScaler(), margin.MLPClassifier(**SMALL)),
}


def of_length(model, epochs):
    steps = getattr(model, "steps", None)
    return clone(model).set_params(**{f"{steps[-1][0]}__max_iter" if steps else "max_iter": epochs})


@pytest.mark.parametrize("name", NETWORKS)
def test_a_longer_fit_goes_on_to_the_same_bits(name, tmp_path):
    model = NETWORKS[name]
    at_once = margin.fit(of_length(model, 9), X, y, run=tmp_path / "at-once")
    margin.fit(of_length(model, 4), X, y, run=tmp_path / "run")
    before = len(margin.Run.existing(tmp_path / "run").metrics())
    seen = []
    with watch(lambda _, record: seen.append(record.iteration)):
        longer = margin.fit(of_length(model, 9), X, y, run=tmp_path / "run")
    for key, array in weights(at_once).items():
        np.testing.assert_array_equal(weights(longer)[key], array, err_msg=key)
    run, other = (margin.Run.existing(tmp_path / folder) for folder in ("run", "at-once"))
    assert run.metrics() == other.metrics()
    assert run.status == "finished"
    assert seen[0] == run.metrics()[before]["iteration"]  # what was done is not done again
    again = margin.fit(of_length(model, 9), X, y, run=tmp_path / "run")
    np.testing.assert_array_equal(next(iter(weights(again).values())), next(iter(weights(longer).values())))


def test_what_patience_ended_stays_ended(tmp_path):
    model = margin.MLPClassifier(**{**SMALL, "n_iter_no_change": 2}, tol=1e9)
    short = margin.fit(model.set_params(max_iter=20), X, y, run=tmp_path / "run")
    longer = margin.fit(model.set_params(max_iter=40), X, y, run=tmp_path / "run")
    assert short.n_iter_ == longer.n_iter_ < 20
    np.testing.assert_array_equal(short.coefs_[0], longer.coefs_[0])


@pytest.mark.parametrize("settings", [{"learning_rate": "cosine"}, {"warmup": 0.1}])
def test_a_rate_laid_out_over_the_epochs_is_said(settings, tmp_path):
    model = margin.MLPClassifier(**SMALL, **settings)
    fitted = margin.fit(of_length(model, 3), X, y, run=tmp_path / "run")
    with pytest.raises(RunError, match=r"max_iter=3, and it cannot go on to 6: .* is laid out over max_iter epochs"):
        margin.fit(of_length(model, 6), X, y, run=tmp_path / "run")
    again = margin.fit(of_length(model, 3), X, y, run=tmp_path / "run")
    np.testing.assert_array_equal(again.coefs_[0], fitted.coefs_[0])


def test_a_shorter_fit_and_another_model_are_refused_as_before(tmp_path):
    margin.fit(of_length(NETWORKS["adam"], 3), X, y, run=tmp_path / "run")
    with pytest.raises(RunError, match="its max_iter is 3, this one's is 2"):
        margin.fit(of_length(NETWORKS["adam"], 2), X, y, run=tmp_path / "run")
    with pytest.raises(RunError, match="holds another run: its"):
        margin.fit(of_length(NETWORKS["adam"], 9).set_params(alpha=0.5), X, y, run=tmp_path / "run")
    with pytest.raises(RunError, match="holds another run: its"):
        margin.fit(of_length(NETWORKS["adam"], 9), X[:100], y[:100], run=tmp_path / "run")
    margin.fit(margin.KMeans(2, max_iter=3, n_init=1, random_state=0), X, run=tmp_path / "means")
    with pytest.raises(RunError, match="its max_iter is 3, this one's is 4"):
        margin.fit(margin.KMeans(2, max_iter=4, n_init=1, random_state=0), X, run=tmp_path / "means")


def test_the_command_goes_on_too(tmp_path):
    path = tmp_path / "iris.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["s", "t", "v"])[y]).to_csv(path, index=False)
    asked = {"target": "kind", "settings": ("hidden_layer_sizes=5", "max_iter=3", "learning_rate=constant")}
    short = fit_by_name("mlp-classifier", str(path), FitRequest(**asked), out=tmp_path / "run")
    asked["settings"] = (*asked["settings"][:1], "max_iter=5", *asked["settings"][2:])
    longer = fit_by_name("mlp-classifier", str(path), FitRequest(**asked), out=tmp_path / "run")
    assert (short["records"], longer["records"], longer["status"]) == (3, 5, "finished")
    at_once = fit_by_name("mlp-classifier", str(path), FitRequest(**asked), out=tmp_path / "at-once")
    assert longer["last"] == at_once["last"]
