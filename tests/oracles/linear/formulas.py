"""Formulas behind linear models: derivatives by torch, solutions by pseudo-inverses, paths and laws by their peers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import stats
from scipy.interpolate import CubicSpline
from sklearn import linear_model as peers
from tests.oracles import oracle

from margin import linear as ours
from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.probability import Laplace, Normal
from margin.linear import interpolation
from margin.linear.design import is_linear_in_parameters
from margin.linear.lasso_path import lasso_path
from margin.linear.least_squares import solve_moments
from margin.linear.logistic_loss import LabeledRows, Likelihood
from margin.linear.map_estimation import log_posterior
from margin.linear.moments import moments
from margin.linear.penalized_least_squares import ridge
from margin.linear.recipes import RECIPES, recipe
from margin.linear.spline_regression import natural_spline_design

PATH = "margin.linear"


@oracle(f"{PATH}.logistic_loss.Likelihood")
def losses_of_labels(seed: int) -> Verdict:
    """Value, gradient and all second derivatives by torch, with weights, with and without an intercept."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(9, 3)) + 0.5, rng.uniform(0.3, 2.0, size=9)
    parts: dict[str, Verdict] = {}
    for columns in (1, 3):
        y, theta, direction = (
            np.arange(9) % max(columns, 2),
            rng.normal(size=(4, columns)),
            rng.normal(size=(4, columns)),
        )
        for intercept, weights in ((True, w), (True, None), (False, w)):
            loss = Likelihood(LabeledRows(X, y, weights), columns, 0.7, intercept)
            theta[-1], direction[-1] = theta[-1] * intercept, direction[-1] * intercept
            key = f"{columns}_{intercept}_{weights is None}"
            parts |= {f"{name}_{key}": v for name, v in _derivatives(loss, theta, direction).items()}
    return every(**parts)


def _derivatives(loss: Likelihood, theta: np.ndarray, direction: np.ndarray) -> dict[str, Verdict]:
    X, y, weights = loss.rows
    k, w = loss.columns, torch.tensor(np.ones(9) if weights is None else weights)
    rows, labels = torch.tensor(np.column_stack([X, np.full(9, float(loss.intercept))])), torch.tensor(y)

    def value(flat: torch.Tensor) -> torch.Tensor:
        z = rows @ flat.reshape(k, 4).T
        z = torch.cat([torch.zeros_like(z), z], dim=1) if k == 1 else z
        lost = torch.nn.functional.cross_entropy(z, labels, reduction="none")
        return (w * lost).sum() / w.sum() + 0.35 * (flat.reshape(k, 4)[:, :3] ** 2).sum()

    flat = torch.tensor(theta.T.ravel())
    slope = torch.autograd.functional.jacobian(value, flat).numpy()
    H = torch.autograd.functional.hessian(value, flat).numpy()
    if not loss.intercept:  # an intercept that is held has an equation of its own
        H[np.arange(3, 4 * k, 4), np.arange(3, 4 * k, 4)] = 1.0
    loss_value, gradient = loss.value_and_gradient(theta)
    z = (rows @ torch.tensor(theta)).numpy()
    own = z[np.arange(9), y] if k > 1 else np.where(y == 1, 1, -1) * z[:, 0]
    other = np.where(np.arange(k) == y[:, None], -np.inf, z).max(axis=1) if k > 1 else np.zeros(9)
    p = torch.softmax(torch.tensor(z), dim=1).numpy() if k > 1 else 1 / (1 + np.exp(-z))
    second = (rows * w[:, None]).T @ rows / w.sum()
    held = np.diag([0.0, 0.0, 0.0, 0.0 if loss.intercept else 1.0])
    penalty, curvature = np.diag([0.7, 0.7, 0.7, 0.0]), {1: 0.25 / 3, 3: 2 / 27}[k]
    squares = np.column_stack([X**2, np.ones(9)]) * w.numpy()[:, None]
    carried = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)
    typical = second.numpy() * curvature + penalty + (held * (1 - 0.0))
    diagonal = np.append(np.diag(typical)[:3], np.diag(typical)[3] if loss.intercept else 1.0)
    parts = {
        "value": near(loss_value, float(value(flat)), tolerance=1e-10),
        "gradient": near(gradient.T.ravel(), slope, tolerance=1e-10),
        "first": near(loss.hessian(theta), H[:4, :4], tolerance=1e-10),
        "joint": near(loss.joint_hessian(theta), H, tolerance=1e-10),
        "margins": near(loss.margins(theta), own - other, tolerance=1e-10),
        "probabilities": near(loss.probabilities(theta), p, tolerance=1e-10),
        "moments": near(loss.second_moments(), second.numpy() + penalty + held, tolerance=1e-10),
        "diagonal": near(loss.typical_diagonal(), diagonal, tolerance=1e-10),
        "carried": near(loss.curvature_diagonal()[1], carried, tolerance=1e-8),
        "product": near(loss.product(theta, direction).T.ravel(), _product(loss, H, direction), tolerance=1e-10),
    }
    if loss.intercept:
        parts["typical"] = near(loss.typical_hessian(), typical, tolerance=1e-10)
    if k == 1:
        bent = squares * (p * (1 - p))
        curvatures = loss.curvature_diagonal(theta)
        parts["bent"] = near(curvatures[0], np.diag(H), tolerance=1e-10)
        parts["bent_carried"] = near(curvatures[1], bent.sum(axis=0) ** 2 / (bent**2).sum(axis=0), tolerance=1e-8)
    return parts


def _product(loss: Likelihood, H: np.ndarray, direction: np.ndarray) -> np.ndarray:
    moved = H @ direction.T.ravel()
    return moved * np.tile([1, 1, 1, float(loss.intercept)], loss.columns)


@oracle(*(f"{PATH}.interpolation.{name}" for name in ("minimum_norm_solution", "interpolating_solutions",
                                                      "null_space_part")), f"{PATH}.least_squares.solve_moments",
        f"{PATH}.penalized_least_squares.ridge")  # fmt: skip
def solutions_by_inverses(seed: int) -> Verdict:
    """More unknowns than equations; moments with weights; ridge by rows and by columns, intercepts unpenalized."""
    rng = np.random.default_rng(seed)
    A, b, v = rng.normal(size=(3, 6)), rng.normal(size=3), rng.normal(size=6)
    shortest = np.linalg.pinv(A) @ b
    several = interpolation.interpolating_solutions(A, b, 4, np.random.default_rng(seed))
    shifts = (np.eye(6) - np.linalg.pinv(A) @ A) @ np.random.default_rng(seed).standard_normal((4, 6)).T
    X, Y, w = rng.normal(size=(12, 3)) + 2, rng.normal(size=(12, 2)) + 1, rng.uniform(0.3, 2.0, size=12)
    root, design = np.sqrt(w)[:, None], np.column_stack([np.ones(12), X])
    expected, left, *_ = np.linalg.lstsq(root * design, root * Y, rcond=None)
    from_moments = solve_moments(moments(X, Y, w))
    parts: dict[str, Verdict] = {}
    for shape in ((12, 3), (4, 7)):
        Z, T, u = rng.normal(size=shape) + 1, rng.normal(size=(shape[0], 2)) + 3, rng.uniform(0.3, 2.0, size=shape[0])
        for alpha in (0.0, 0.6):
            if alpha == 0 and shape[0] < shape[1]:
                continue
            theirs = peers.Ridge(alpha=alpha, solver="svd").fit(Z, T, sample_weight=u)
            solution = ridge(Z, T, alpha, u)
            parts[f"coef_{shape}_{alpha}"] = near(solution.coef, theirs.coef_.T, tolerance=1e-8)
            parts[f"intercept_{shape}_{alpha}"] = near(solution.intercept, theirs.intercept_, tolerance=1e-8)
    return every(
        **parts,
        shortest=near(interpolation.minimum_norm_solution(A, b), shortest, tolerance=1e-9),
        null=near(interpolation.null_space_part(A, v), v - np.linalg.pinv(A) @ A @ v, tolerance=1e-9),
        several=near(several, shortest + np.vstack([np.zeros(6), shifts.T]), tolerance=1e-9),
        moments=near(from_moments.coef if from_moments else np.nan, expected[1:], tolerance=1e-9),
        level=near(from_moments.intercept if from_moments else np.nan, expected[0], tolerance=1e-9),
        left=near(from_moments.rss if from_moments else np.nan, left, tolerance=1e-8),
        singular=equal(solve_moments(moments(np.column_stack([X, X[:, 0]]), Y, w)), None),
    )


@oracle(f"{PATH}.Lasso", f"{PATH}.lasso_path.lasso_path", f"{PATH}.map_fit", f"{PATH}.map_estimation.log_posterior")
def absolute_values_by_scikit_learn(seed: int) -> Verdict:
    """Lassos and their path; a posterior is highest where the penalty's solution is, and is a sum of SciPy's logs."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(30, 4)) + 1, rng.uniform(0.3, 2.0, size=30)
    y = X @ [1.0, 0.0, -2.0, 0.3] + 2 + 0.5 * rng.normal(size=30)
    model, theirs = (m(alpha=0.2, tol=1e-10, max_iter=10_000).fit(X, y, w) for m in (ours.Lasso, peers.Lasso))
    path, (alphas, coefs, _) = lasso_path(X, y), peers.lasso_path(X - X.mean(axis=0), y - y.mean(), tol=1e-10)
    parts: dict[str, Verdict] = {}
    t = np.array([0.4, -1.0, 0.2, 0.0])
    for name, prior, law in (("normal", Normal(0.0, 0.8), stats.norm(0, 0.8)), ("laplace", Laplace(0.0, 0.5),
                                                                               stats.laplace(0, 0.5))):  # fmt: skip

        def log(coef: np.ndarray, level: float, law: Any = law) -> float:
            return float(stats.norm(X @ coef + level, 0.6).logpdf(y).sum() + law.logpdf(coef).sum())

        fitted = ours.map_fit(X, y, noise=0.6, prior=prior)
        parts[f"{name}_log"] = near(log_posterior(X, y, t, 0.7, noise=0.6, prior=prior), log(t, 0.7), tolerance=1e-8)
        values = [log(fitted.coef + d, fitted.intercept) for d in (0 * t, *(1e-3 * np.eye(4)), *(-1e-3 * np.eye(4)))]
        parts[f"{name}_best"] = equal(int(np.argmax(values)), 0)
        parts[f"{name}_value"] = near(fitted.log_posterior, values[0], tolerance=1e-8)
    return every(
        **parts,
        coef=near(model.coef_, theirs.coef_, tolerance=1e-5),
        intercept=near(model.intercept_, theirs.intercept_, tolerance=1e-5),
        path_alphas=near(path.alphas, alphas, tolerance=1e-8),
        path=near(path.coefs, coefs, tolerance=1e-2),
    )


@oracle(f"{PATH}.recipes.recipe", f"{PATH}.design.is_linear_in_parameters",
        f"{PATH}.spline_regression.natural_spline_design")  # fmt: skip
def shapes_of_models(seed: int) -> Verdict:
    """Five kinds of targets, functions that are linear or not, and splines by SciPy inside and straight outside."""
    rng = np.random.default_rng(seed)
    x, knots, g = np.linspace(-2.0, 7.0, 31), np.array([0.0, 1.0, 2.5, 5.0]), rng.normal(size=4)
    spline = CubicSpline(knots, g, bc_type="natural")
    low, high = spline(0.0) + spline(0.0, 1) * x, spline(5.0) + spline(5.0, 1) * (x - 5)
    curve = np.where(x < 0, low, np.where(x > 5, high, spline(x)))
    recipes = [recipe(y) for y in ([0.5, 1.5, 2.2], [[0.1, 2.0], [1.3, 1.0]], [0, 1, 1], ["a", "b", "c"],
                                [[0, 1], [1, 1]], [[0.5], [1.5]])]  # fmt: skip
    X = rng.normal(size=(8, 2))
    models = {
        "line": lambda X, b: X @ b, "large": lambda X, b: 1e9 * (X @ b),
        "bent": lambda X, b: X @ b + 1e-3 * b[0] * b[1],
        "shifted": lambda X, b: X @ b + 1e-3, "small": lambda X, b: 1e-12 * (X @ b + b[0] ** 2),
    }  # fmt: skip
    return every(
        recipes=equal(recipes, [RECIPES[0], RECIPES[1], RECIPES[2], RECIPES[3], RECIPES[4], RECIPES[0]]),
        linear=equal({name: is_linear_in_parameters(f, X, 2, rng) for name, f in models.items()},
                     {"line": True, "large": True, "bent": False, "shifted": False, "small": False}),
        spline=near(natural_spline_design(x, knots) @ g, curve, tolerance=1e-10),
        line=near(natural_spline_design(x, np.array([1.0, 3.0])) @ [2.0, 5.0], 2 + 1.5 * (x - 1), tolerance=1e-10),
        level=near(natural_spline_design(x, np.array([1.0])) @ [2.0], np.full(31, 2.0), tolerance=1e-12),
    )  # fmt: skip
