"""Small tables, on which most comparisons live: fits of milliseconds and predictions of one row.

A call of a few milliseconds is repeated within a timed round, so that the clock can see it. Everything is at defaults
unless the name of the case says otherwise.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring.calls import Data, make_case, make_model, repeat
from benchmarks.measuring.harness import Case

__all__ = ["cases"]

INTELEX = ("sklearnex",)
QUIET = {"lightgbm": {"verbose": -1, "n_jobs": 1}, "xgboost": {"n_jobs": 1}}


def cases(quick: bool) -> list[Case]:
    del quick  # they are small
    iris, cancer, digits, diabetes = (partial(_bundled, f"load_{name}") for name in TABLES)
    listed = [
        _fit(
            "k-means, k = 20", "5000 x 20", _clusters, "cluster.KMeans", _inertia, "inertia", 3, INTELEX, n_clusters=20
        ),
        _fit("SVC", "digits", digits, "kernels.SVC svm.SVC", _error, "error", 1),
        *(_fit("AdaBoost", name, data, ADABOOST, _error, "error", 1) for name, data in _named(iris, cancer)),
        _one_row("AdaBoost", "breast cancer", cancer, ADABOOST, 20),
        *(_fit("GaussianNB", name, data, BAYES, _error, "error", 30) for name, data in _named(iris, cancer, digits)),
        *(_one_row("kNN", name, data, NEAREST, 50, also=INTELEX) for name, data in _named(iris, digits)),
        *(_one_row(task, "breast cancer", cancer, where, 50) for task, where in LATENCY.items()),
    ]
    for name, data in _named(iris, cancer):
        listed += [_fit("forest", name, data, FOREST, _log_loss, "log-loss", 1, also=INTELEX)]
        listed += [_boosting(name, data)]
    listed += [
        _fit("PCA, 95 % of the variance", "digits", digits, REDUCED, _components, "components", 10, n_components=0.95),
        _fit("PCA, all components", "400 x 4096", _wide, REDUCED, _components, "components", 1),
        _fit("mixture of 3", "iris", iris, MIXTURE, _density, "log-density", 5, n_components=3),
        _fit("mixture of 8", "5000 x 20", _clusters, MIXTURE, _density, "log-density", 1, n_components=8),
        _density_of("2000 x 2", partial(_normal, 2000, 2)),
        _density_of("digits", digits),
        _fit("logistic regression", "digits", digits, LOGISTIC, _log_loss, "log-loss", 1, also=INTELEX),
        _fit("logistic, rare indicators", "20000 x 54", _rare, LOGISTIC, _penalized, "objective", 1, INTELEX),
        _fit("perceptron", "breast cancer", cancer, PERCEPTRON, _log_loss, "log-loss", 1),
        _fit("decision tree", "digits", digits, "trees.DecisionTreeClassifier tree", _error, "error", 3),
        _fit("Lasso, alpha = 0.1", "diabetes", diabetes, "linear.Lasso linear_model", _error, "R2 lost", 20, alpha=0.1),
        *(_fit_and_predict(task, where, times) for task, (where, times) in ON_500_ROWS.items()),
    ]
    return listed


LATENCY = {
    "GaussianNB": "bayes.GaussianNB naive_bayes",
    "SVC": "kernels.SVC svm.SVC",
    "linear SVC": "kernels.LinearSVC svm",
    "decision tree": "trees.DecisionTreeClassifier tree",
    "perceptron": "neural.MLPClassifier neural_network",
}
ON_500_ROWS = {
    "GaussianNB": ("bayes.GaussianNB naive_bayes", 20),
    "kNN": ("neighbors.KNeighborsClassifier neighbors", 5),
    "linear SVC": ("kernels.LinearSVC svm", 5),
    "decision tree": ("trees.DecisionTreeClassifier tree", 5),
    "regression tree": ("trees.DecisionTreeRegressor tree", 5),
}
TABLES = ("iris", "breast_cancer", "digits", "diabetes")
ADABOOST = "trees.AdaBoostClassifier ensemble"
BAYES = "bayes.GaussianNB naive_bayes"
NEAREST = "neighbors.KNeighborsClassifier neighbors"
FOREST = "trees.RandomForestClassifier ensemble"
REDUCED = "reduction.PCA decomposition"
MIXTURE = "mixture.GaussianMixture mixture"
LOGISTIC = "linear.LogisticRegression linear_model"
PERCEPTRON = "neural.MLPClassifier neural_network"


def _named(*loaders: Any) -> list[tuple[str, Any]]:
    return [(loader.args[0].removeprefix("load_").replace("_", " "), loader) for loader in loaders]


def _bundled(loader: str) -> Data:
    """Three rows of four to learn from, the rest to judge by; standard columns."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(importlib.import_module("sklearn.datasets"), loader)(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    scaler = StandardScaler().fit(train)
    return {"X": scaler.transform(train), "y": y_train, "test_X": scaler.transform(test), "test_y": y_test}


def _500_rows() -> Data:
    """Two classes that overlap a little, and as many rows to judge by."""
    from sklearn.datasets import make_classification

    X, y = make_classification(1000, 10, n_informative=6, class_sep=1.5, flip_y=0.02, random_state=0)
    return {"X": X[:500], "y": y[:500], "test_X": X[500:], "test_y": y[500:]}


def _clusters() -> Data:
    from sklearn.datasets import make_blobs

    X, _ = make_blobs(5000, 20, centers=30, cluster_std=3.0, random_state=0)
    return {"X": X, "y": None, "test_X": X}


def _normal(n: int, p: int) -> Data:
    X = np.random.default_rng(0).normal(size=(n, p))
    return {"X": X, "y": None, "test_X": X}


def _wide() -> Data:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 50)) @ rng.normal(size=(50, 4096)) + rng.normal(size=(400, 4096))
    return {"X": X, "y": None, "test_X": X}


def _rare() -> Data:
    """Ten correlated numbers and 44 kinds of soil, some in a few rows only: standardized indicators exceed 100."""
    rng = np.random.default_rng(0)
    often = np.concatenate([1 / np.arange(1, 21) ** 1.5, 10.0 ** -np.linspace(2, 4.6, 24)])
    soil = rng.choice(44, size=20_000, p=often / often.sum())
    numbers = rng.normal(size=(20_000, 10)) + 0.3 * (soil % 5)[:, None]
    numbers[:, 2] = 0.95 * numbers[:, 0] + 0.1 * numbers[:, 2]
    X = np.hstack([numbers, np.eye(44)[soil]])
    scores = X @ rng.normal(size=(54, 7)) - 1.5 * np.array([0, 0.3, 2, 4, 3, 2.5, 2])
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    return {"X": X, "y": y, "test_X": X, "test_y": y}


def _penalized(data: Data, model: Any) -> float:
    """What the fit minimizes: the summed negative log-likelihood and half the squared coefficients."""
    chance = model.predict_proba(data["X"])[np.arange(len(data["y"])), data["y"]]
    return float(-np.log(chance).sum() + 0.5 * np.sum(model.coef_**2))


def _fit(
    task: str,
    size: str,
    data: Callable[[], Data],
    where: str,
    quality: Callable[[Data, Any], float],
    quality_name: str,
    times: int,
    also: tuple[str, ...] = (),
    **params: Any,
) -> Case:
    def call(library: str, data: Data) -> Any:
        return repeat(lambda: make_model(library, where, params).fit(data["X"], data["y"]), times)

    return make_case(f"{task}, fit", size, data, call, quality, quality_name, also)


def _fit_and_predict(task: str, where: str, times: int) -> Case:
    def call(library: str, data: Data) -> Any:
        def once() -> Any:
            return make_model(library, where, {}).fit(data["X"], data["y"]).predict(data["test_X"])

        return repeat(once, times)

    def wrong(data: Data, found: Any) -> float:
        return float(np.mean((np.asarray(found) > 0.5) != data["test_y"]))

    return make_case(f"{task}, fit and predict", "500 x 10", _500_rows, call, wrong, "error", ())


def _one_row(
    task: str, size: str, data: Callable[[], Data], where: str, times: int, also: tuple[str, ...] = ()
) -> Case:
    """Predictions of single rows, one after another; the fit is not timed."""
    fitted: dict[str, Any] = {}

    def call(library: str, data: Data) -> Any:
        if library not in fitted:
            fitted[library] = make_model(library, where, {}).fit(data["X"], data["y"])
        rows = data["test_X"]
        return repeat(lambda: [fitted[library].predict(rows[i : i + 1])[0] for i in range(20)], times // 5)

    def right(data: Data, found: Any) -> float:
        return float(np.mean(np.array(found) != data["test_y"][:20]))

    return make_case(f"{task}, predict one row", size, data, call, right, "error", also)


def _boosting(size: str, data: Callable[[], Data]) -> Case:
    """100 rounds of trees with 31 leaves: every library's defaults for rows per leaf and bins."""

    def call(library: str, data: Data) -> Any:
        if library in ("margin", "sklearn"):
            return make_model(library, "trees.HistGradientBoostingClassifier ensemble", {}).fit(data["X"], data["y"])
        name = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[library]
        cls = getattr(importlib.import_module(library), name)
        return cls(n_estimators=100, random_state=0, **QUIET[library]).fit(data["X"], data["y"])

    return make_case("boosting, 100 rounds, fit", size, data, call, _log_loss, "log-loss", ("lightgbm", "xgboost"))


def _density_of(size: str, data: Callable[[], Data]) -> Case:
    """Fit and the log-density of all rows."""

    def call(library: str, data: Data) -> Any:
        return (
            make_model(library, "neighbors.density.KernelDensity neighbors", {})
            .fit(data["X"])
            .score_samples(data["test_X"])
        )

    task = "kernel density, fit and score"
    return make_case(task, size, data, call, lambda _, found: found.mean(), "log-density", ())


def _error(data: Data, model: Any) -> float:
    return 1.0 - float(model.score(data["test_X"], data["test_y"]))


def _log_loss(data: Data, model: Any) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(data["test_y"], model.predict_proba(data["test_X"])))


def _inertia(_: Data, model: Any) -> float:
    return float(model.inertia_)


def _components(_: Data, model: Any) -> float:
    return float(model.n_components_)


def _density(data: Data, model: Any) -> float:
    return float(np.mean(model.score_samples(data["test_X"])))
