"""L-BFGS and Newton-CG against SciPy's L-BFGS-B and trust-ncg on logistic problems.

Both libraries get the same objective, gradient and Hessian-vector product, start at zero and stop at the same gradient
norm. Evaluations are counted by wrapping the functions, so nobody reports its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from benchmarks.measuring.harness import Case, Peer
from margin.optimize import minimize
from margin.optimize.problems import LogisticProblem

__all__ = ["cases"]

TOLERANCE = 1e-6
SIZES = ((1000, 50), (4000, 300), (4000, 1000))

Solver = Callable[[Any, Any, np.ndarray], np.ndarray]


class Counter:
    """A function that knows how often it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.function(*arguments)


def cases(quick: bool) -> list[Case]:
    """Both methods on well-scaled and on badly scaled problems."""
    listed = []
    for rows, columns in SIZES[:1] if quick else SIZES:
        for condition in (1.0, 30.0):
            listed.append(_case("lbfgs", rows, columns, condition, _lbfgs, "SciPy L-BFGS-B", _lbfgs_b))
            listed.append(_case("newton_cg", rows, columns, condition, _newton_cg, "SciPy trust-ncg", _trust_ncg))
    return listed


def _case(name: str, rows: int, columns: int, condition: float, ours: Solver, peer_name: str, peer: Solver) -> Case:
    return Case(
        f"{name}, scales 1:{condition:g}",
        f"{rows} x {columns}",
        lambda: logistic(rows, columns, condition),
        lambda problem: _solve(problem, ours),
        (Peer(peer_name, "scipy", lambda problem: _solve(problem, peer)),),
        lambda problem, found: problem.value_and_gradient(found[0])[0],
        "objective",
        rounds=5,
        remark=lambda _, found: f"{found[1]} f+grad, {found[2]} H v",
    )


def logistic(rows: int, columns: int, condition: float, seed: int = 0) -> LogisticProblem:
    """Gaussian rows whose column scales spread over ``condition``, labels from a random direction with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * np.geomspace(1, 1 / condition, columns)
    score = X @ rng.standard_normal(columns)
    y = np.where(score + score.std() * rng.standard_normal(rows) > 0, 1.0, -1.0)
    return LogisticProblem(X, y, alpha=1e-3)


def _solve(problem: LogisticProblem, solver: Solver) -> tuple[np.ndarray, int, int]:
    """The minimizer, evaluations of objective with gradient, and Hessian products."""
    f, hessp = Counter(problem.value_and_gradient), Counter(problem.hessian_product)
    x = solver(f, hessp, np.zeros(problem.X.shape[1]))
    return x, f.calls, hessp.calls


def _lbfgs(f: Any, _: Any, start: np.ndarray) -> np.ndarray:
    return minimize(f, start, method="lbfgs", grad=True, tol=TOLERANCE).x


def _lbfgs_b(f: Any, _: Any, start: np.ndarray) -> np.ndarray:
    # Its own rule looks at the largest entry of the gradient; the callback stops it on the norm instead.
    last = {}

    def remember(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, last["gradient"] = f(x)
        return value, last["gradient"]

    def stop(_: np.ndarray) -> None:
        if np.linalg.norm(last["gradient"]) <= TOLERANCE:
            raise StopIteration

    options = {"gtol": 0.0, "ftol": 0.0, "maxiter": 10_000, "maxfun": 100_000}
    return scipy.optimize.minimize(remember, start, jac=True, method="L-BFGS-B", options=options, callback=stop).x


def _newton_cg(f: Any, hessp: Any, start: np.ndarray) -> np.ndarray:
    return minimize(f, start, method="newton_cg", grad=True, hessp=hessp, tol=TOLERANCE).x


def _trust_ncg(f: Any, hessp: Any, start: np.ndarray) -> np.ndarray:
    return scipy.optimize.minimize(f, start, jac=True, hessp=hessp, method="trust-ncg", options={"gtol": TOLERANCE}).x
