"""Ridge, lasso paths and logistic regression against scikit-learn, its Intel extension (oneDAL) and celer."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.data import load
from margin.linear import LogisticRegression, Ridge, lasso_path

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    small = 20 if quick else 1
    tall = [path(50_000 // small, 200, 0.0), path(500_000 // small, 100, 0.0), path(1000, 500 // small, 0.9)]
    wide = [path(2000 // small, 10_000 // small, 0.0), path(1000 // small, 5000 // small, 0.9)]
    binary = [logistic(n // small, 100, 2) for n in (500_000, 100_000, 20_000)]
    several = [logistic(20_000 // small, 784 // (4 if quick else 1), 10), logistic(70_000 // small, 54, 7, "rare")]
    if os.environ.get("MARGIN_DATA"):
        several.append(logistic(20_000 // small, 784, 10, "digits"))
    return [penalized(500_000 // small, 100), *tall, *wide, *binary, *several]


def penalized(n: int, p: int) -> Case:
    def data() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        return {"X": X, "y": X @ rng.normal(size=p) + rng.normal(size=n)}

    def slope(d: dict[str, Any], coef: np.ndarray) -> float:
        """The largest entry of the gradient of the centered problem, relative to that at zero."""
        X, y = d["X"], d["y"]
        b = (y - X @ coef).mean()
        gradient = X.T @ (y - X @ coef - b) - coef
        return float(np.abs(gradient).max() / np.abs(X.T @ (y - y.mean())).max())

    return Case(
        "ridge",
        f"{n} x {p}",
        data,
        lambda d: Ridge().fit(d["X"], d["y"]).coef_,
        (
            Peer("scikit-learn", "sklearn", lambda d: _sklearn("Ridge", solver="cholesky").fit(d["X"], d["y"]).coef_),
            Peer("scikit-learn-intelex", "sklearnex", lambda d: _intelex("Ridge").fit(d["X"], d["y"]).coef_),
        ),
        slope,
        "relative gradient",
        rounds=5,
    )


def path(n: int, p: int, rho: float) -> Case:
    """One hundred penalties; ``rho`` correlates neighboring columns."""

    def data() -> dict[str, Any]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p))
        for j in range(1, p if rho else 1):
            X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
        w = np.zeros(p)
        w[rng.choice(p, 20, replace=False)] = rng.normal(size=20)
        y = X @ w + rng.normal(size=n)
        X -= X.mean(axis=0)
        y -= y.mean()
        alphas = np.abs(X.T @ y).max() / n * np.logspace(0, -3, 100)
        return {"X": X, "y": y, "alphas": alphas}

    def excess(d: dict[str, Any], coefs: np.ndarray) -> float:
        """The largest relative excess of the objective over the path."""
        if "least" not in d:  # not among the data: the first call of ours must be the first
            d["least"] = _objectives(d, lasso_path(d["X"], d["y"], alphas=d["alphas"], tol=1e-7).coefs)
        found = _objectives(d, coefs) / d["least"] - 1
        if found.min() < -1e-6:
            raise RuntimeError(f"What should be the least objective is undercut by {-found.min():.2g} of it.")
        return float(np.max(found))

    def peer(module: str, d: dict[str, Any]) -> np.ndarray:
        import importlib

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = importlib.import_module(module)
            if module == "celer":  # its default, 1e-6, takes several times as long
                return found.celer_path(d["X"], d["y"], pb="lasso", alphas=d["alphas"], tol=1e-4)[1]
            return found.lasso_path(d["X"], d["y"], alphas=d["alphas"])[1]

    return Case(
        "lasso path, 100 penalties" + (f", correlation {rho}" if rho else ""),
        f"{n} x {p}",
        data,
        lambda d: lasso_path(d["X"], d["y"], alphas=d["alphas"], fit_intercept=False).coefs,
        (
            Peer("scikit-learn", "sklearn", lambda d: peer("sklearn.linear_model", d)),
            # Half a minute for the tallest table, for which it is not made.
            *([Peer("celer", "celer", lambda d: peer("celer", d))] if n < 100_000 else []),
        ),
        excess,
        "excess objective",
        rounds=2,
        first_call=n == 50_000,
    )


def _objectives(d: dict[str, Any], coefs: np.ndarray) -> np.ndarray:
    squares = np.mean((d["y"][:, None] - d["X"] @ coefs) ** 2, axis=0) / 2
    return squares + d["alphas"] * np.abs(coefs).sum(axis=0)


def _with_rare_columns(n: int) -> dict[str, Any]:
    """Ten numbers, four and forty indicators, some of which a handful of rows have; standardized, seven classes."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, 4))
    numbers = latent @ rng.normal(size=(4, 10)) + 0.2 * rng.normal(size=(n, 10))
    area = np.argmax(latent @ rng.normal(size=(4, 4)) + rng.gumbel(size=(n, 4)), axis=1)
    kind = np.argmax(latent @ rng.normal(size=(4, 40)) + np.linspace(3, -7.5, 40) + rng.gumbel(size=(n, 40)), axis=1)
    X = np.hstack([numbers, np.eye(4)[area], np.eye(40)[kind]])
    size = np.r_[np.full(10, 1.6), np.full(4, 2.4), np.full(40, 3.0)][:, None]
    y = np.argmax(X @ (size * rng.normal(size=(54, 7))) + rng.gumbel(size=(n, 7)), axis=1)
    spread = X.std(axis=0)
    return {"X": (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), "y": y}


def logistic(n: int, p: int, classes: int, kind: str = "") -> Case:
    """Two classes in float64 or several in float32; ``kind`` "digits" are images in place of normal rows, "rare" has
    standardized indicators that few rows have."""
    digits = kind == "digits"

    def data() -> dict[str, Any]:
        if kind == "rare":
            return _with_rare_columns(n)
        if digits:
            images = load("mnist", subset="train")
            return {"X": np.ascontiguousarray(images.X[:n, :p]), "y": images.y[:n]}
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p) * 3)
        scores = X @ rng.normal(size=(p, classes)) / np.sqrt(p) * 1.5 + rng.gumbel(size=(n, classes))
        return {"X": X.astype(np.float64 if classes == 2 else np.float32), "y": scores.argmax(axis=1)}

    def objective(d: dict[str, Any], model: Any) -> float:
        """Negative log-likelihood plus half the squared length of the coefficients."""
        proba = model.predict_log_proba(d["X"])
        return float(-proba[np.arange(n), d["y"]].sum(dtype=np.float64) + 0.5 * np.sum(model.coef_.astype(float) ** 2))

    def remark(d: dict[str, Any], model: Any) -> str:
        """How long ours needs to be as good: the fit is left as soon as it is."""
        rounds = int(np.max(model.n_iter_))
        if isinstance(model, LogisticRegression):
            return f"{rounds} iterations"
        goal, began = objective(d, model), time.process_time()
        for record in LogisticRegression(tol=1e-9, max_iter=1000).iterate(d["X"], d["y"]):
            if record["objective"] <= goal:
                return f"{rounds} iterations; margin is there after {1e3 * (time.process_time() - began):.0f} ms"
        return f"{rounds} iterations; margin does not get there"

    def quietly(model: Any, d: dict[str, Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(d["X"], d["y"])

    return Case(
        "logistic regression" if classes == 2 else f"multinomial, {classes} {kind or 'classes'}",
        f"{n} x {p}",
        data,
        lambda d: quietly(LogisticRegression(), d),
        (
            Peer("scikit-learn", "sklearn", lambda d: quietly(_sklearn("LogisticRegression", max_iter=1000), d)),
            *([Peer("scikit-learn newton", "sklearn", lambda d: quietly(_newton(), d))] if classes == 2 else []),
            Peer("scikit-learn-intelex", "sklearnex", lambda d: quietly(_intelex("LogisticRegression"), d)),
        ),
        objective,
        "objective",
        rounds=2 if classes == 2 else 1,
        memory=False,
        remark=remark,
    )


def _newton() -> Any:
    return _sklearn("LogisticRegression", solver="newton-cholesky")


def _sklearn(name: str, **params: Any) -> Any:
    import sklearn.linear_model

    return getattr(sklearn.linear_model, name)(**params)


def _intelex(name: str, **params: Any) -> Any:
    import sklearnex.linear_model

    return getattr(sklearnex.linear_model, name)(**params)
