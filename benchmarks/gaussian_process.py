"""Gaussian processes against scikit-learn and gpytorch: the time to learn a kernel, and the likelihood it reaches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from benchmarks.harness import Case, Peer
from margin.kernels import (
    RBF,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
    White,
)
from margin.kernels.gaussian_process.likelihood import MarginalLikelihood

__all__ = ["cases"]

Data = dict[str, Any]


def cases(quick: bool) -> list[Case]:
    share = 4 if quick else 1
    regression = [exact(n // share, d) for n, d in ((2000, 6), (1000, 6), (2000, 20))]
    return [*regression, one_evaluation(2000 // share, 6), california(2000 // share), classes(1000 // share), sparse()]


def synthetic(n: int, d: int) -> Data:
    """Smooth in four columns, noise of a tenth of the variance, the other columns without meaning."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.3 * X[:, 2] * X[:, 3] + 0.2 * rng.normal(size=n)
    return {"X": X, "y": (y - y.mean()) / y.std(), "d": d}


def housing(n: int) -> Data:
    from margin.data import load

    data = load("california-housing")
    numbers = [name for name in data.X.names if data.X.kinds[name] == "number"]
    X, y = np.column_stack([data.X[name] for name in numbers]), np.asarray(data.y, dtype=float)
    known = np.isfinite(X).all(axis=1)
    X, y = X[known], y[known]
    rows = np.random.default_rng(0).permutation(len(X))[: 2 * n]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (y - y.mean()) / y.std()
    train, test = rows[:n], rows[n:]
    return {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test], "d": X.shape[1]}


def exact(n: int, d: int) -> Case:
    return Case(
        "GP regression, one length scale per column",
        f"{n} x {d}",
        lambda: synthetic(n, d),
        lambda data: ours(data).log_marginal_likelihood_value_,
        (
            Peer("scikit-learn", "sklearn", lambda data: theirs(data).log_marginal_likelihood_value_),
            Peer("gpytorch", "gpytorch", gpytorch_likelihood),
        ),
        itself,
        "log marginal likelihood",
        rounds=1,
        first_call=n == 2000 and d == 6,
        memory=False,
    )


def one_evaluation(n: int, d: int) -> Case:
    def mine(data: Data) -> float:
        kernel = our_kernel(d)
        if "likelihood" not in data:
            data["likelihood"] = MarginalLikelihood(kernel, data["X"], data["y"], 1e-10)
        return float(np.linalg.norm(data["likelihood"].at(kernel.theta).gradient))

    def other(data: Data) -> float:
        from sklearn.gaussian_process import GaussianProcessRegressor as Peer_

        if "peer" not in data:
            data["peer"] = Peer_(their_kernel(d), optimizer=None).fit(data["X"], data["y"])
        kernel = their_kernel(d)
        return float(np.linalg.norm(data["peer"].log_marginal_likelihood(kernel.theta, eval_gradient=True)[1]))

    return Case(
        "one likelihood with gradient",
        f"{n} x {d}",
        lambda: synthetic(n, d),
        mine,
        (Peer("scikit-learn", "sklearn", other),),
        itself,
        "|gradient|",
        rounds=3,
        memory=False,
    )


def california(n: int) -> Case:
    def error(data: Data, model: Any) -> float:
        return float(np.sqrt(np.mean((model.predict(data["X_test"]) - data["y_test"]) ** 2)))

    return Case(
        "GP regression, California housing",
        f"{n} x 8",
        lambda: housing(n),
        ours,
        (Peer("scikit-learn", "sklearn", theirs),),
        error,
        "test RMSE (sd of y = 1)",
        rounds=1,
        memory=False,
    )


def classes(n: int) -> Case:
    def data() -> Data:
        made = synthetic(n, 4)
        return made | {"labels": made["y"] > 0}

    def peer(made: Data) -> float:
        from sklearn.gaussian_process import GaussianProcessClassifier as Peer_
        from sklearn.gaussian_process.kernels import RBF as PeerRBF
        from sklearn.gaussian_process.kernels import ConstantKernel

        kernel = ConstantKernel(1.0) * PeerRBF(np.ones(4))
        return quiet(Peer_(kernel), made["X"], made["labels"]).log_marginal_likelihood_value_

    def mine(made: Data) -> float:
        model = GaussianProcessClassifier(1.0 * RBF(np.ones(4)))
        return quiet(model, made["X"], made["labels"]).log_marginal_likelihood_value_

    return Case(
        "GP classification (Laplace)",
        f"{n} x 4",
        data,
        mine,
        (Peer("scikit-learn", "sklearn", peer),),
        itself,
        "approximate log marginal likelihood",
        rounds=1,
        memory=False,
    )


def sparse() -> Case:
    """15,000 rows are out of reach of the exact method; the peer is scikit-learn's exact one on 2000 of them."""

    def data() -> Data:
        full = housing(10_200)
        X, y = (np.concatenate([full[name], full[f"{name}_test"]]) for name in ("X", "y"))
        return {"X": X[:15_000], "y": y[:15_000], "X_test": X[15_000:], "y_test": y[15_000:], "d": 8}

    def mine(made: Data) -> Any:
        model = SparseGaussianProcessRegressor("matern", n_inducing=300, ard=True, random_state=0, max_iter=40)
        return quiet(model, made["X"], made["y"])

    def subset(made: Data) -> Any:
        return theirs({"X": made["X"][:1000], "y": made["y"][:1000], "d": 8})

    return Case(
        "sparse GP, California housing (peer: exact on 1000 rows)",
        "15000 x 8",
        data,
        mine,
        (Peer("scikit-learn", "sklearn", subset),),
        lambda made, model: float(np.sqrt(np.mean((model.predict(made["X_test"]) - made["y_test"]) ** 2))),
        "test RMSE (sd of y = 1)",
        rounds=1,
        memory=False,
    )


def our_kernel(d: int) -> Any:
    return 1.0 * RBF(np.ones(d)) + White(0.1)


def their_kernel(d: int) -> Any:
    from sklearn.gaussian_process.kernels import RBF as PeerRBF
    from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

    return ConstantKernel(1.0) * PeerRBF(np.ones(d)) + WhiteKernel(0.1)


def ours(data: Data) -> Any:
    model = GaussianProcessRegressor(our_kernel(data["d"]), alpha=1e-10, normalize_y=False, random_state=0)
    return quiet(model, data["X"], data["y"])


def theirs(data: Data) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor as Peer_

    return quiet(Peer_(their_kernel(data["d"]), alpha=1e-10), data["X"], data["y"])


def gpytorch_likelihood(data: Data) -> float:
    """The log marginal likelihood that gpytorch reaches with L-BFGS and an exact Cholesky solver."""
    import gpytorch
    import torch

    X, y = (torch.as_tensor(data[name], dtype=torch.float64) for name in ("X", "y"))

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any):
            super().__init__(X, y, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(likelihood).double()
    model.initialize(**{"kernel.outputscale": 1.0, "likelihood.noise": 0.1})
    model.kernel.base_kernel.lengthscale = 1.0
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()
    likelihood.train()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=40, line_search_fn="strong_wolfe")
    last = [0.0]

    def closure() -> Any:
        optimizer.zero_grad()
        loss = -evidence(model(X), y)
        loss.backward()
        last[0] = -float(loss.detach()) * len(y)
        return loss

    with gpytorch.settings.fast_computations(False, False, False), gpytorch.settings.cholesky_max_tries(6):
        optimizer.step(closure)
    return last[0]


def itself(_: Data, value: float) -> float:
    """The result is its own quality."""
    return value


def quiet(model: Any, X: Any, y: Any) -> Any:
    """Warnings about bounds and iterations are not what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
