"""Gaussian processes against scikit-learn and gpytorch: the time to learn a kernel, and the likelihood it reaches."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from benchmarks.measuring.harness import Case, Peer
from margin.kernels import (
    RBF,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
    WhiteKernel,
)
from margin.kernels.gaussian_process.likelihood import MarginalLikelihood

__all__ = ["cases"]

Data = dict[str, Any]

INDUCING, ITERATIONS = 100, 15


def cases(quick: bool) -> list[Case]:
    """The peers' exact fits take most of the time; with these sizes everything together takes about three minutes."""
    fraction = 4 if quick else 1
    listed = [exact(n // fraction, 6) for n in (2000, 1000)]
    listed += [one_evaluation(2000 // fraction, 6), classes(1000 // fraction), sparse(20_000 // fraction)]
    if "MARGIN_DATA" in os.environ:  # the housing table is a file of the user's
        listed += [california(1000 // fraction), sparse_housing(15_000 // fraction)]
    return listed


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
    return Case(
        "GP regression, California housing",
        f"{n} x 8",
        lambda: housing(n),
        ours,
        (Peer("scikit-learn", "sklearn", theirs),),
        lambda data, model: root_mean_square(model.predict(data["X_test"]) - data["y_test"]),
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


def sparse(n: int) -> Case:
    """Both maximize the same bound over kernel and noise, with the same inducing points and as many iterations."""

    def data() -> Data:
        made = synthetic(n + 2000, 6)
        points = made["X"][np.random.default_rng(1).permutation(n)[:INDUCING]]
        parts = {"X": made["X"][:n], "y": made["y"][:n], "X_test": made["X"][n:], "y_test": made["y"][n:]}
        return parts | {"d": 6, "points": points}

    def mine(made: Data) -> Data:
        model = SparseGaussianProcessRegressor(
            our_kernel(6), n_inducing=INDUCING, inducing=made["points"], normalize_y=False, max_iter=ITERATIONS
        )
        quiet(model, made["X"], made["y"])
        return {"predicted": model.predict(made["X_test"]), "bound": model.bound_}

    return Case(
        f"sparse GP, {INDUCING} inducing points",
        f"{n} x 6",
        data,
        mine,
        (Peer("gpytorch", "gpytorch", gpytorch_sparse),),
        lambda made, found: root_mean_square(found["predicted"] - made["y_test"]),
        "test RMSE (sd of y = 1)",
        rounds=1,
        memory=False,
        remark=lambda _, found: f"bound {found['bound']:.1f}",
    )


def sparse_housing(n: int) -> Case:
    """All rows through few points; the peer is scikit-learn's exact method on the thousand rows it can afford."""

    def data() -> Data:
        full = housing(10_200)
        X, y = (np.concatenate([full[name], full[f"{name}_test"]]) for name in ("X", "y"))
        return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:], "d": 8}

    def mine(made: Data) -> Any:
        model = SparseGaussianProcessRegressor("matern", n_inducing=300, ard=True, random_state=0, max_iter=ITERATIONS)
        return quiet(model, made["X"], made["y"])

    return Case(
        "sparse GP, California housing (peer: exact on 1000 rows)",
        f"{n} x 8",
        data,
        mine,
        (
            Peer(
                "scikit-learn",
                "sklearn",
                lambda made: theirs({"X": made["X"][:1000], "y": made["y"][:1000], "d": 8}),
            ),
        ),
        lambda made, model: root_mean_square(model.predict(made["X_test"]) - made["y_test"]),
        "test RMSE (sd of y = 1)",
        rounds=1,
        memory=False,
    )


def our_kernel(d: int) -> Any:
    return 1.0 * RBF(np.ones(d)) + WhiteKernel(0.1)


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


def gpytorch_model(data: Data, points: Any = None) -> tuple[Any, Any, Any, Any]:
    """Model, likelihood and tensors of gpytorch: the kernel of ``our_kernel``, seen through ``points`` if given."""
    import gpytorch
    import torch

    X, y = (torch.as_tensor(data[name], dtype=torch.float64) for name in ("X", "y"))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()

    class Model(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(X, y, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            self.base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))
            self.kernel = self.base
            if points is not None:
                fixed = torch.as_tensor(points, dtype=torch.float64)
                self.kernel = gpytorch.kernels.InducingPointKernel(self.base, fixed, likelihood)
                self.kernel.inducing_points.requires_grad_(False)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    model = Model().double()
    model.initialize(**{"base.outputscale": 1.0, "likelihood.noise": 0.1})
    model.base.base_kernel.lengthscale = 1.0
    return model, likelihood, X, y


def gpytorch_trained(data: Data, points: Any = None, iterations: int = 40) -> tuple[Any, Any, float]:
    """L-BFGS on the (bound on the) evidence; the value reached, summed over rows."""
    import gpytorch
    import torch

    model, likelihood, X, y = gpytorch_model(data, points)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train()
    likelihood.train()
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.LBFGS(learned, max_iter=iterations, line_search_fn="strong_wolfe")
    last = [0.0]

    def closure() -> Any:
        optimizer.zero_grad()
        loss = -evidence(model(X), y)
        loss.backward()
        last[0] = -float(loss.detach()) * len(y)
        return loss

    # Exact: Cholesky factors in place of iterative solvers. Low rank: its own solver, or the matrix would be formed.
    fast = points is not None
    with gpytorch.settings.fast_computations(fast, fast, fast), gpytorch.settings.cholesky_max_tries(6):
        optimizer.step(closure)
    return model, likelihood, last[0]


def gpytorch_likelihood(data: Data) -> float:
    """The log marginal likelihood that gpytorch reaches with L-BFGS and an exact Cholesky solver."""
    return gpytorch_trained(data)[2]


def gpytorch_sparse(data: Data) -> Data:
    """Titsias' bound through the same points, and the predictions."""
    import torch

    model, likelihood, bound = gpytorch_trained(data, data["points"], ITERATIONS)
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        predicted = model(torch.as_tensor(data["X_test"], dtype=torch.float64)).mean.numpy()
    return {"predicted": predicted, "bound": bound}


def root_mean_square(errors: Any) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def itself(_: Data, value: float) -> float:
    """The result is its own quality."""
    return value


def quiet(model: Any, X: Any, y: Any) -> Any:
    """Warnings about bounds and iterations are not what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
