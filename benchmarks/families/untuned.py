"""Tables on which nothing was tuned: where Margin was once found slower, fit and predict together.

Settings of the library are chosen on other tables; what is slower here is printed like what is faster. A call of a few
milliseconds is repeated within a timed round, so that the clock can see it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.data.terrain import terrain
from benchmarks.measuring.calls import Data, make_case, make_model, repeat
from benchmarks.measuring.harness import Case

__all__ = ["cases"]

INTELEX = ("sklearnex",)
BOOSTERS = ("lightgbm", "xgboost")
LOGISTIC, TREE = "linear.LogisticRegression linear_model", "trees.DecisionTreeClassifier tree"
FOREST, MEANS = "trees.RandomForestClassifier ensemble", "cluster.KMeans cluster"


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    cancer, seven, digits = partial(_cancer), partial(_rows, 157, 7, 3), partial(_digits)
    return [
        _both("logistic, L1", LOGISTIC, partial(_rows, 225, 3000 // small, 2), 1, l1=True),
        _both("logistic", LOGISTIC, partial(_rows, 9000 // small, 1000, 2), 1, INTELEX),
        _both("logistic, sparse", LOGISTIC, partial(_counts, 15_000 // small, 100_000 // small, 2), 1),
        _both("logistic, sparse, 20 classes", LOGISTIC, partial(_counts, 15_000 // small, 100_000 // small, 20), 1),
        _both("GaussianNB", "bayes.GaussianNB naive_bayes", cancer, 20),
        _both("kNN", "neighbors.KNeighborsClassifier neighbors", cancer, 20, INTELEX),
        _both("linear SVC", "kernels.LinearSVC svm", seven, 10),
        _both("SVC", "kernels.SVC svm", seven, 10, INTELEX),
        _both("SVC", "kernels.SVC svm", cancer, 10, INTELEX),
        _boosting(seven),
        _boosting(digits),
        *(_both("decision tree", TREE, partial(_rows, 500, p, 2), 10) for p in (5, 50)),
        _both("forest, 200 classes", FOREST, partial(_rows, 20_000 // small, 20, 200), 1, INTELEX),
        _both("forest, covers of terrain", FOREST, partial(_terrain, 20_000 // small), 1, INTELEX),
        *(_clustering(n) for n in (1000, 5000)),
        _least_squares(),
        _maps(10_000 // small),
    ]


def _rows(n: int, p: int, classes: int) -> Data:
    """Columns that hang together, a tenth of them informative; as many rows to judge by as to learn from."""
    rng = np.random.default_rng([n, p, classes])
    X = rng.normal(size=(2 * n, p)) + 0.5 * rng.normal(size=(2 * n, 1))
    used = max(3, p // 10)
    y = (1.5 * X[:, :used] @ rng.normal(size=(used, classes)) + 2.0 * rng.gumbel(size=(2 * n, classes))).argmax(axis=1)
    return _halves(X, y, n)


def _counts(n: int, p: int, classes: int) -> Data:
    """Documents of about 80 words with Zipf's frequencies, some words more frequent in one class."""
    rng = np.random.default_rng([n, p, classes])
    y = rng.integers(0, classes, size=2 * n)
    words = (p ** rng.uniform(size=(2 * n, 80)) - 1).astype(np.int64)
    own = rng.uniform(size=words.shape) < 0.05
    words[own] = (words[own] // classes * classes + np.broadcast_to(y[:, None], words.shape)[own]) % p
    rows = np.repeat(np.arange(2 * n), 80)
    X = scipy.sparse.csr_matrix((np.ones(words.size), (rows, words.ravel())), shape=(2 * n, p))
    X.data = 1.0 + np.log(X.data)
    return _halves(X, y, n)


def _halves(X: Any, y: np.ndarray, n: int) -> Data:
    return {"X": X[:n], "y": y[:n], "test_X": X[n:], "test_y": y[n:]}


def _cancer() -> Data:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    X, test_X, y, test_y = train_test_split(X, y, random_state=0)
    scale = X.std(axis=0)
    return {"X": X / scale, "y": y, "test_X": test_X / scale, "test_y": test_y}


def _digits() -> Data:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, test_X, y, test_y = train_test_split(*load_digits(return_X_y=True), random_state=0)
    return {"X": X, "y": y, "test_X": test_X, "test_y": test_y}


def _terrain(n: int) -> Data:
    return _halves(*terrain(2 * n), n)


def _size(data: Data) -> str:
    return f"{data['X'].shape[0]} x {data['X'].shape[1]}"


def _both(
    task: str, where: str, data: Callable[[], Data], times: int, also: tuple[str, ...] = (), *, l1: bool = False
) -> Case:
    """Fit and probabilities (labels where the model has none) of the rows to judge by, all at defaults."""

    def call(library: str, data: Data) -> Any:
        def run() -> Any:
            model = make_model(library, where, _l1(library) if l1 else {})
            model.fit(data["X"], data["y"])
            predict = getattr(model, "predict_proba", None) or model.predict
            return model, predict(data["test_X"])

        return repeat(run, times)

    quality, name = (_log_loss, "log-loss") if _has_probabilities(where) else (_error, "error")
    return make_case(f"{task}, fit and predict", _told(data), data, call, quality, name, also)


def _has_probabilities(where: str) -> bool:
    return "SVC" not in where


def _l1(library: str) -> Data:
    return {"l1_ratio": 1.0} if library == "margin" else {"l1_ratio": 1.0, "solver": "liblinear"}


def _told(data: Any) -> str:
    """The size, without making the table: the arguments of what makes it."""
    shown = {"_cancer": "426 x 30", "_digits": "digits", "_terrain": f"{(data.args or (0,))[0]} x 54"}
    return shown.get(data.func.__name__) or " x ".join(map(str, data.args[:2]))


def _boosting(data: Callable[[], Data]) -> Case:
    def call(library: str, data: Data) -> Any:
        if library in ("margin", "sklearn"):
            model = make_model(library, "trees.HistGradientBoostingClassifier ensemble", {})
        else:
            name, quiet = ("LGBMClassifier", {"verbose": -1}) if library == "lightgbm" else ("XGBClassifier", {})
            cls = getattr(importlib.import_module(library), name)
            model = cls(n_estimators=100, random_state=0, n_jobs=1, **quiet)
        model.fit(data["X"], data["y"])
        return model, model.predict_proba(data["test_X"])

    return make_case("boosting, fit and predict", _told(data), data, call, _log_loss, "log-loss", BOOSTERS)


def _clustering(n: int) -> Case:
    def data() -> Data:
        rng = np.random.default_rng(n)
        centers = rng.normal(size=(12, 8)) * 2.0
        return {"X": centers[rng.integers(0, 12, size=n)] + rng.normal(size=(n, 8))}

    def call(library: str, data: Data) -> Any:
        return repeat(lambda: make_model(library, MEANS, {"n_clusters": 10}).fit(data["X"]), 5)

    return make_case("k-means, k = 10", f"{n} x 8", data, call, lambda _, model: model.inertia_, "inertia", INTELEX)


def _least_squares() -> Case:
    def data() -> Data:
        rng = np.random.default_rng(1923)
        X = rng.normal(size=(2 * 1923, 128)) + rng.normal(size=(2 * 1923, 1))
        return _halves(X, X @ rng.normal(size=128) + rng.normal(size=len(X)), 1923)

    def call(library: str, data: Data) -> Any:
        def run() -> Any:
            model = make_model(library, "linear.LinearRegression linear_model", {}).fit(data["X"], data["y"])
            return model, model.predict(data["test_X"])

        return repeat(run, 5)

    return make_case("least squares", "1923 x 128", data, call, _squares, "mean squared error", INTELEX)


def _maps(n: int) -> Case:
    def data() -> Data:
        rng = np.random.default_rng(n)
        centers = rng.normal(size=(20, 30)) * 1.5
        return {"X": (centers[rng.integers(0, 20, size=n)] + rng.normal(size=(n, 30))).astype(np.float32)}

    def call(library: str, data: Data) -> Any:
        model = make_model(library, "reduction.TSNE manifold", {})
        return model.fit(data["X"])

    return make_case("t-SNE", f"{n} x 30", data, call, lambda _, model: model.kl_divergence_, "KL divergence", INTELEX)


def _log_loss(data: Data, found: Any) -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(data["test_y"], found[1], labels=np.unique(data["y"])))


def _error(data: Data, found: Any) -> float:
    return float(np.mean(found[1] != data["test_y"]))


def _squares(data: Data, found: Any) -> float:
    return float(np.mean((found[1] - data["test_y"]) ** 2))
