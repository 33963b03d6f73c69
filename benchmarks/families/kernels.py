"""Support vector machines and kernel ridge against scikit-learn (LIBSVM, LIBLINEAR) and its Intel extension."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measuring.harness import Case, Peer
from margin.kernels import RBF, SVC, SVR, KernelRidge, LinearSVC
from margin.kernels.hinge import hinge_objective
from margin.kernels.squared_hinge import squared_hinge_objective

__all__ = ["cases"]

Data = dict[str, Any]


def cases(quick: bool) -> list[Case]:
    small = 10 if quick else 1
    linear = [linear_machine("squared_hinge", n // small, d) for n, d in ((100_000, 100), (100_000, 20), (20_000, 100))]
    hinge = [linear_machine("hinge", n // small, d) for n, d in ((20_000, 20), (20_000, 100))]
    linear.append(sparse_machine(20_000 // small, 50_000 // small))
    linear.append(topic_machine(20_000 // small, 50_000 // small))
    kernel = [kernel_machine(n // small, 20) for n in (5_000, 10_000, 20_000)]
    kernel.append(kernel_machine(20_000 // small, 20, C=30.0))
    rest = [regression_machine(10_000 // small, 20), ridge(3_000 // small, 20)]
    return linear + hinge + kernel + rest + [primal_or_dual(50, 5_000 // small), primal_or_dual(5_000 // small, 10)]


def labeled(n: int, d: int) -> Callable[[], Data]:
    """Two classes with informative, redundant and useless columns, and some labels flipped; unit columns."""

    def make() -> Data:
        from sklearn.datasets import make_classification

        kinds = {"n_informative": max(2, d // 2), "n_redundant": d // 5, "flip_y": 0.05, "class_sep": 0.8}
        X, y = make_classification(n + 2000, d, random_state=0, **kinds)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:], "sign": 2.0 * y[:n] - 1}

    return make


def linear_machine(loss: str, n: int, d: int) -> Case:
    def objective(data: Data, model: Any) -> float:
        w, bounds = model.coef_[0], np.ones(len(data["X"]))
        if loss == "hinge":
            return hinge_objective(w, data["X"], data["sign"], bounds, intercept=False)
        return squared_hinge_objective(w, data["X"], data["sign"], bounds, intercept=False)[0]

    def peer(data: Data) -> Any:
        # The primal solver has no hinge; the dual one stops at max_iter on the larger table, as its objective shows.
        return quiet(
            lambda: _sklearn("LinearSVC")(loss=loss, dual=loss == "hinge", fit_intercept=False).fit(
                data["X"], data["y"]
            )
        )

    return Case(
        f"linear machine, {loss.replace('_', ' ')}",
        f"{n} x {d}",
        labeled(n, d),
        lambda data: LinearSVC(loss=loss, fit_intercept=False).fit(data["X"], data["y"]),
        (Peer("scikit-learn (LIBLINEAR)", "sklearn", peer),),
        objective,
        "objective",
        rounds=3 if loss == "squared_hinge" else 1,
    )


def sparse_machine(n: int, d: int) -> Case:
    """Rows like texts: 60 of many columns, the frequent ones more often."""

    def data() -> Data:
        rng = np.random.default_rng(0)
        columns = np.minimum((d * rng.random((n, 60)) ** 3).astype(np.int32), d - 1)
        X = sp.csr_array((rng.random(n * 60), columns.ravel(), 60 * np.arange(n + 1, dtype=np.int32)), shape=(n, d))
        X.sum_duplicates()
        return {"X": X, "y": (X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0).astype(int)}

    def objective(data: Data, model: Any) -> float:
        sign, w = 2.0 * data["y"] - 1, model.coef_[0]
        return squared_hinge_objective(w, data["X"], sign, np.ones(n), intercept=False)[0]

    def peer(data: Data) -> Any:
        return quiet(lambda: _sklearn("LinearSVC")(dual="auto", fit_intercept=False).fit(data["X"], data["y"]))

    return Case(
        "linear machine, squared hinge, sparse rows",
        f"{n} x {d}",
        data,
        lambda data: LinearSVC(fit_intercept=False, tol=1e-4).fit(data["X"], data["y"]),
        (Peer("scikit-learn (LIBLINEAR)", "sklearn", peer),),
        objective,
        "objective",
    )


def topic_machine(n: int, d: int, topics: int = 8) -> Case:
    """Rows of length one like texts of several topics, each with words of its own, and a penalized intercept."""

    def data() -> Data:
        rng = np.random.default_rng(1)
        y, words = rng.integers(topics, size=n), d * rng.random((n, 60)) ** 3
        own = rng.random((n, 60)) < 0.15  # words of the topic: every so many columns one of them
        columns = np.minimum(np.where(own, words - words % topics + y[:, None], words).astype(np.int32), d - 1)
        weights = 1 / (1 + np.log(d / (columns.ravel() + 1.0)))  # frequent words count less
        X = sp.csr_array((weights, columns.ravel(), 60 * np.arange(n + 1, dtype=np.int32)), shape=(n, d))
        X.sum_duplicates()
        X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
        return {"X": X, "y": y}

    def objective(data: Data, model: Any) -> float:
        """The sum over machines, the intercept being the weight of a constant column."""
        X = sp.hstack([data["X"], np.ones((n, 1))], format="csr")
        thetas = np.column_stack([model.coef_, model.intercept_])
        signs = (np.where(data["y"] == label, 1.0, -1.0) for label in range(topics))
        found = (squared_hinge_objective(w, X, sign, np.ones(n), intercept=False)[0] for w, sign in zip(thetas, signs))
        return float(sum(found))

    return Case(
        "linear machines of topics, squared hinge, sparse rows",
        f"{n} x {d}, {topics} classes",
        data,
        lambda data: LinearSVC(intercept_scaling=1.0).fit(data["X"], data["y"]),
        (Peer("scikit-learn (LIBLINEAR)", "sklearn", lambda data: quiet(lambda: _sklearn("LinearSVC")().fit(**data))),),
        objective,
        "objective",
    )


def kernel_machine(n: int, d: int, C: float = 1.0) -> Case:
    def objective(data: Data, model: Any) -> float:
        """The dual objective of the coefficients, in double precision whoever found them."""
        coef = np.asarray(model.dual_coef_)[0]
        K = RBF.from_gamma(1 / (d * data["X"].var()))(np.asarray(model.support_vectors_, dtype=np.float64))
        return float(np.abs(coef).sum() - 0.5 * coef @ K @ coef)

    def remark(data: Data, model: Any) -> str:
        return f"{len(model.support_)} support vectors, test accuracy {model.score(data['X_test'], data['y_test']):.4f}"

    return Case(
        "Gaussian machine" if C == 1 else f"Gaussian machine, C = {C:g}",
        f"{n} x {d}",
        labeled(n, d),
        lambda data: SVC(C=C).fit(data["X"], data["y"]),
        (
            Peer("scikit-learn (LIBSVM)", "sklearn", lambda data: _sklearn("SVC")(C=C).fit(data["X"], data["y"])),
            Peer("scikit-learn-intelex", "sklearnex", lambda data: _intelex("SVC")(C=C).fit(data["X"], data["y"])),
        ),
        objective,
        "dual objective",
        rounds=2 if C == 1 else 1,
        first_call=n >= 20_000 and C == 1,
        remark=remark,
    )


def regression_machine(n: int, d: int) -> Case:
    def data() -> Data:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        return {"X": X, "y": np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=n)}

    def objective(data: Data, model: Any) -> float:
        coef, rows = np.asarray(model.dual_coef_)[0], np.asarray(model.support_)
        K = RBF.from_gamma(1 / (d * data["X"].var()))(data["X"][rows])
        return float(coef @ data["y"][rows] - 0.5 * coef @ K @ coef - 0.1 * np.abs(coef).sum())

    return Case(
        "Gaussian regression machine",
        f"{n} x {d}",
        data,
        lambda data: SVR().fit(data["X"], data["y"]),
        (
            Peer("scikit-learn (LIBSVM)", "sklearn", lambda data: _sklearn("SVR")().fit(data["X"], data["y"])),
            Peer("scikit-learn-intelex", "sklearnex", lambda data: _intelex("SVR")().fit(data["X"], data["y"])),
        ),
        objective,
        "dual objective",
        rounds=2,
    )


def ridge(n: int, d: int) -> Case:
    def data() -> Data:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d))
        return {"X": X, "y": np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)}

    def residual(data: Data, model: Any) -> float:
        K = RBF.from_gamma(0.05)(data["X"])
        return float(np.abs(K @ model.dual_coef_ + 0.1 * model.dual_coef_ - data["y"]).max())

    def peer(data: Data) -> Any:
        module = importlib.import_module("sklearn.kernel_ridge")
        return module.KernelRidge(alpha=0.1, kernel="rbf", gamma=0.05).fit(data["X"], data["y"])

    return Case(
        "kernel ridge",
        f"{n} x {d}",
        data,
        lambda data: KernelRidge(0.1, kernel="rbf", gamma=0.05).fit(data["X"], data["y"]),
        (Peer("scikit-learn", "sklearn", peer),),
        residual,
        "residual",
    )


def primal_or_dual(n: int, d: int) -> Case:
    """The same linear machine from both sides: the smaller number of unknowns wins."""

    def objective(_: Data, model: Any) -> float:
        return float(model.objective_[0])

    def dual(data: Data) -> Any:
        return SVC(kernel="linear", C=0.01, tol=1e-4).fit(data["X"], data["y"])

    return Case(
        "hinge in the primal",
        f"{n} x {d}",
        labeled(n, d),
        lambda data: LinearSVC(loss="hinge", C=0.01, tol=1e-6).fit(data["X"], data["y"]),
        (Peer("margin, dual", "margin", dual),),
        objective,
        "objective",
    )


def quiet(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def _sklearn(name: str) -> Any:
    return getattr(importlib.import_module("sklearn.svm"), name)


def _intelex(name: str) -> Any:
    return getattr(importlib.import_module("sklearnex.svm"), name)
