"""L-BFGS and Newton-CG against SciPy's L-BFGS-B and trust-ncg on a logistic problem with 1,000 variables.

Run with ``python benchmarks/optimize.py``. Both libraries get the same objective, gradient and Hessian-vector
product, start at zero and stop at the same gradient norm; they alternate inside one process and the minimum of
the rounds counts. Evaluations are counted by wrapping the functions, so nobody reports its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from margin.optimize import minimize
from margin.optimize.problems import Logistic

ROWS, COLUMNS, TOLERANCE, ROUNDS = 4000, 1000, 1e-6, 5


@dataclass(frozen=True)
class Case:
    """One task and the two ways to do it: each solver takes (f, hessp) and returns the minimizer."""

    name: str
    problem: Logistic
    ours: Callable[[Any, Any], np.ndarray]
    peer: Callable[[Any, Any], np.ndarray]
    peer_name: str


class Counter:
    """A function that knows how often it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.function(*arguments)


def logistic(condition: float, seed: int = 0) -> Logistic:
    """Gaussian rows whose column scales spread over ``condition``, labels from a random direction with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS)) * np.geomspace(1, 1 / condition, COLUMNS)
    score = X @ rng.standard_normal(COLUMNS)
    y = np.where(score + score.std() * rng.standard_normal(ROWS) > 0, 1.0, -1.0)
    return Logistic(X, y, alpha=1e-3)


def cases() -> list[Case]:
    """Both methods on a well-scaled and on a badly scaled problem."""
    found = []
    for condition in (1.0, 30.0):
        problem = logistic(condition)
        start = np.zeros(COLUMNS)

        def lbfgs(f: Any, _: Any, start: np.ndarray = start) -> np.ndarray:
            return minimize(f, start, method="lbfgs", grad=True, tol=TOLERANCE).x

        def lbfgs_b(f: Any, _: Any, start: np.ndarray = start) -> np.ndarray:
            # Its own rule looks at the largest entry of the gradient; the callback stops it on the norm instead.
            last = {}

            def remember(x: np.ndarray) -> tuple[float, np.ndarray]:
                value, last["gradient"] = f(x)
                return value, last["gradient"]

            def stop(_: np.ndarray) -> None:
                if np.linalg.norm(last["gradient"]) <= TOLERANCE:
                    raise StopIteration

            options = {"gtol": 0.0, "ftol": 0.0, "maxiter": 10_000, "maxfun": 100_000}
            return scipy.optimize.minimize(
                remember, start, jac=True, method="L-BFGS-B", options=options, callback=stop
            ).x

        def newton_cg(f: Any, hessp: Any, start: np.ndarray = start) -> np.ndarray:
            return minimize(f, start, method="newton_cg", grad=True, hessp=hessp, tol=TOLERANCE).x

        def trust_ncg(f: Any, hessp: Any, start: np.ndarray = start) -> np.ndarray:
            options = {"gtol": TOLERANCE}
            return scipy.optimize.minimize(f, start, jac=True, hessp=hessp, method="trust-ncg", options=options).x

        found.append(Case(f"lbfgs, scales 1:{condition:g}", problem, lbfgs, lbfgs_b, "scipy L-BFGS-B"))
        found.append(Case(f"newton_cg, scales 1:{condition:g}", problem, newton_cg, trust_ncg, "scipy trust-ncg"))
    return found


def measure(problem: Logistic, solve: Callable[[Any, Any], np.ndarray]) -> dict[str, float]:
    """Wall and processor seconds, evaluations, Hessian products, and objective and gradient norm at the answer."""
    f, hessp = Counter(problem.value_and_gradient), Counter(problem.hessian_product)
    began, began_cpu = time.perf_counter(), time.process_time()
    x = solve(f, hessp)
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    value, gradient = problem.value_and_gradient(x)
    norm = float(np.linalg.norm(gradient))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "evaluations": f.calls,
        "products": hessp.calls,
        "value": value,
        "norm": norm,
    }


def main(rounds: int = ROUNDS) -> None:
    columns = f"{'wall s':>8s} {'cpu s':>8s} {'f+grad':>7s} {'H v':>5s} {'objective':>16s} {'|gradient|':>11s}"
    print(f"{'task':26s} {'solver':16s} {columns}")
    for case in cases():
        ours, peer = [], []
        for _ in range(rounds):
            ours.append(measure(case.problem, case.ours))
            peer.append(measure(case.problem, case.peer))
        for name, runs in (("margin", ours), (case.peer_name, peer)):
            best = min(runs, key=lambda run: run["seconds"])
            cpu = min(run["cpu"] for run in runs)
            counts = f"{best['evaluations']:7.0f} {best['products']:5.0f}"
            end = f"{best['value']:16.12f} {best['norm']:11.2e}"
            print(f"{case.name:26s} {name:16s} {best['seconds']:8.3f} {cpu:8.3f} {counts} {end}")


if __name__ == "__main__":
    main()
