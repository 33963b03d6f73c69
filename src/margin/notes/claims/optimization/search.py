"""Hyperparameters, random search, genetic algorithms, quadratic programs and the margin."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import scipy.optimize

from margin.core.verdict import Verdict, above, below, equal, every, near, raises
from margin.data.splits import random_split
from margin.notes.claims import claim
from margin.notes.claims.chance import rate
from margin.optimize import descend, follow, genetic, grid_search, minimize, quadratic_program, random_search
from margin.optimize.interior_point import hard_margin_primal, svm_dual
from margin.optimize.landscapes import RASTRIGIN, quadratic
from margin.optimize.problems import least_squares
from margin.optimize.rules import Adam, Momentum, hyperparameters


@claim("hyperparameters")
def chosen_before_and_learned_during_are_apart() -> Verdict:
    rule = Adam(beta_1=0.8)
    before = hyperparameters(rule)
    f, grad, _ = quadratic(np.diag([1.0, 30.0]))
    run = follow(descend(f, grad, [1.0, 1.0], rule, learning_rate=0.1, max_iter=50))
    again = follow(descend(f, grad, [1.0, 1.0], type(rule)(**before), learning_rate=0.1, max_iter=50))
    return every(
        names=equal(list(before), ["beta_1", "beta_2", "epsilon"]),
        fixed=equal(hyperparameters(rule), before),
        learned=above(float(np.max(np.abs(run.x - 1.0))), 0.5),
        a_copy_starts_afresh=equal(again.path, run.path),
        unknown_name=raises(ValueError, lambda: grid_search(lambda rate: rate, {"speed": [1]}), match="'speed'"),
        bad_choice=raises(ValueError, lambda: Momentum(gamma=1.0).start(np.zeros(2)), match="gamma"),
    )


@claim("random-search")
def random_search_tries_points_of_the_grid(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 100)
    y = np.sin(3 * x) + 0.1 * rng.standard_normal(100)
    train, valid = random_split(100, 0.2, rng)

    def loss(degree: int, ridge: float) -> float:
        P = np.vander(x, degree + 1)
        normal = P[train].T @ P[train] + ridge * np.eye(degree + 1)
        weights = np.linalg.solve(normal, P[train].T @ y[train]).astype(np.float64)
        return least_squares(P[valid], y[valid]).value(weights)

    space: dict[str, list[float]] = {"degree": [1, 2, 3, 4, 5, 6, 7, 8], "ridge": [1e-6, 1e-3, 1e-1, 10.0]}
    every_point = grid_search(loss, space)
    some, same = (random_search(loss, space, 12, np.random.default_rng([seed, 1])) for _ in range(2))
    shuffled = random_search(loss, space, 32, rng)
    order = [every_point.configurations.index(c) for c in shuffled.configurations]
    corners = [random_search(lambda a, b: a + b, {"a": [0, 1], "b": [0, 2, 4]}, 1, rng).best_loss for _ in range(1200)]
    sizes = [tuple(map(len, random_split(n, size, rng))) for n, size in ((10, 0.3), (2, 0.9), (3, 0.01))]
    return every(
        split=equal((len(train), len(valid)), (80, 20)),
        nobody_lost=equal(sorted([*train, *valid]), list(range(100))),
        other_splits=equal(sizes, [(7, 3), (1, 1), (2, 1)]),
        grid=equal([tuple(c.values()) for c in every_point.configurations], list(product(*space.values()))),
        losses_belong=near(every_point.losses, [loss(**c) for c in every_point.configurations], tolerance=1e-12),
        all_points_in_another_order=equal((sorted(order), order == sorted(order)), (list(range(32)), False)),
        its_losses_belong=near(shuffled.losses, every_point.losses[order], tolerance=1e-12),
        **{f"uniform_{total}": rate(corners.count(total) / 1200, 1 / 6, 1200) for total in range(6)},
        failures_never_win=equal(grid_search(lambda a: 1 / (a - 1), {"a": [1, 3, 2]}).best, {"a": 3}),
        reproducible=equal(some.configurations, same.configurations),
        distinct=equal(len({tuple(c.values()) for c in some.configurations}), 12),
        best=near(some.best_loss, loss(**some.best), tolerance=1e-15),
        no_better_than_the_grid=above(some.best_loss, every_point.best_loss - 1e-15),
    )


@claim("genetic-algorithm")
def genes_find_the_well_but_pay_for_dimensions(seed: int) -> Verdict:
    box = np.tile([-5.12, 5.12], (2, 1))
    wells = follow(genetic(RASTRIGIN.f, box, rng=np.random.default_rng(seed), generations=60))
    f, grad, _ = quadratic(np.eye(100))
    blind = follow(genetic(f, np.tile([-5.0, 5.0], (100, 1)), rng=np.random.default_rng(seed), generations=60))
    slope = minimize(f, np.full(100, 3.0), method="gradient_descent", grad=grad, learning_rate=0.5)
    local = minimize(RASTRIGIN.f, RASTRIGIN.start, method="bfgs", grad=RASTRIGIN.grad)
    return every(
        rastrigin=below(wells.value, 1e-2),
        descent_is_caught=above(local.value, 1.0),
        still_far_after=above(blind.value, 1.0),
        descent_is_there=below(slope.value, 1e-9),
        evaluations=above(blind.evaluations / slope.evaluations, 50.0),
    )


@claim("quadratic-programming")
def the_dual_of_the_svm_is_a_quadratic_program(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 2))
    y = np.where(X @ [1.0, 1.0] + 0.5 * rng.standard_normal(14) > 0, 1.0, -1.0)
    K = X @ X.T
    ours = svm_dual(K, y, C=2.0)
    Q = np.outer(y, y) * K
    peer = scipy.optimize.minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.full(14, 0.1),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, 2)] * 14,
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda _: y},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    least = quadratic_program(np.eye(2), [0.0, 0.0], A=[[1.0, 1.0]], b=[2.0])
    return every(
        value=near(ours.value, peer.fun, tolerance=1e-6),
        slsqp=near(X.T @ (ours.x * y), X.T @ (peer.x * y), tolerance=1e-4),
        feasible=near([y @ ours.x, min(ours.x.min(), 0), max(ours.x.max(), 2)], [0.0, 0.0, 2.0], tolerance=1e-7),
        closest_point_of_a_line=near(least.x, [1.0, 1.0], tolerance=1e-8),
    )


def _bend(f: Callable[[np.ndarray], float], a: np.ndarray, b: np.ndarray) -> float:
    """How far the chord lies above the function in the middle: positive where it is convex, negative if concave."""
    return (f(a) + f(b)) / 2 - f((a + b) / 2)


@claim("claim-svm-equivalent-problems")
def the_four_margin_problems_share_a_hyperplane(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], 8)
    X = rng.standard_normal((16, 2)) * 0.6 + y[:, None] * [1.5, 1.0]
    # A gap of tol leaves w off by up to its square root where a row is nearly a support vector.
    w, c = hard_margin_primal(X, y, tol=1e-13)

    def smallest_distance(angle: float) -> tuple[float, float]:
        """The best smallest distance, over all offsets, for the unit normal at this angle, and half its offset."""
        scores = X @ [np.cos(angle), np.sin(angle)]
        low, high = scores[y > 0].min(), scores[y < 0].max()
        return (low - high) / 2, -(low + high) / 2

    # The smallest distance is unimodal around the normal of the means: a coarse grid, then a bounded search.
    angles = np.linspace(-np.pi, np.pi, 721)
    start = angles[int(np.argmax([smallest_distance(a)[0] for a in angles]))]
    bounds = (start - 0.02, start + 0.02)
    best = scipy.optimize.minimize_scalar(
        lambda a: -smallest_distance(a)[0], bounds=bounds, method="bounded", options={"xatol": 1e-12}
    ).x
    normal = w / np.linalg.norm(w)
    theta, scale = np.append(w, c), rng.uniform(0.5, 2, size=30)[:, None]
    others = scale * (theta + 0.3 * rng.normal(size=(30, 3)))

    def scaled_margin(t: np.ndarray) -> float:
        """r / |theta_+| with r the least margin: the second problem, for any scale of its parameters."""
        return float(np.min(y * (X @ t[:2] + t[2])) / np.linalg.norm(t[:2]))

    feasible = [t / max(np.min(y * (X @ t[:2] + t[2])), 1e-9) for t in others]  # margins of at least one
    inverse_norm = lambda t: 1 / float(np.linalg.norm(t[:2]))  # noqa: E731
    moved = theta + np.append(0.2 * w, 0.0)
    return every(
        scaled_margin=near(scaled_margin(theta), smallest_distance(best)[0], tolerance=1e-6),
        no_other_has_more=below(max(map(scaled_margin, others)), scaled_margin(theta) + 1e-9),
        scale_does_not_matter=near(scaled_margin(7 * theta), scaled_margin(theta), tolerance=1e-9),
        no_longer_inverse_norm=below(max(map(inverse_norm, feasible)), inverse_norm(theta) + 1e-6),
        squared_norm_is_convex=above(_bend(lambda t: float(t[:2] @ t[:2]), theta, moved), 1e-6),
        inverse_norm_is_not_concave=above(_bend(inverse_norm, theta, moved), 1e-6),  # and a maximum is sought
        distance_is_not_concave=above(_bend(scaled_margin, 1e-3 * theta, -theta), 1e-6),
        direction=near(normal, [np.cos(best), np.sin(best)], tolerance=1e-6),
        distance=near(1 / np.linalg.norm(w), smallest_distance(best)[0], tolerance=1e-7),
        offset=near(c / np.linalg.norm(w), smallest_distance(best)[1], tolerance=1e-5),
        tight=near(float(np.min(y * (X @ w + c))), 1.0, tolerance=1e-7),
    )
