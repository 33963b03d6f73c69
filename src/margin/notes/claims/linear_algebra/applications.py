"""Compression, least squares, and distance to a hyperplane."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, below, corrected, equal, every, near, raises
from margin.foundations.linalg import (
    loaded_least_squares,
    normal_equations,
    project_to_hyperplane,
    signed_distance,
    solve,
    squared_error,
    squared_error_gradient,
    svd_compress,
)
from margin.kernels import LinearSVC
from margin.linear import Ridge, least_squares
from margin.notes.claims import claim


@claim("svd-image-compression")
def fifty_terms_take_a_quarter_of_the_storage(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    image = rng.random((450, 50)) @ rng.random((50, 333))  # rank 50: fifty terms are all of it
    compressed = svd_compress(image, 50)
    return every(
        original=equal(image.size, 149_850),
        stored=equal(compressed.stored, 39_200),
        percent=equal(round(100 * compressed.ratio), 26),
        exact_at_its_rank=below(compressed.relative_error, 1e-12),
    )


@claim("normal-equations")
def the_gradient_vanishes_at_the_solution_of_the_normal_equations(seed: int) -> Verdict:
    import torch

    rng = np.random.default_rng(seed)
    X, y, theta, step = rng.standard_normal((20, 3)), rng.standard_normal(20), rng.standard_normal(3), 1e-6
    moved = [[squared_error(X, y, theta + sign * step * e) for e in np.eye(3)] for sign in (1, -1)]
    parameter = torch.tensor(theta, requires_grad=True)
    torch.sum((torch.tensor(y) - torch.tensor(X) @ parameter) ** 2).backward()
    assert parameter.grad is not None
    gradient = squared_error_gradient(X, y, theta)
    return every(
        differences=near(gradient, np.subtract(moved[0], moved[1]) / (2 * step), tolerance=1e-5),
        autodiff=near(gradient, parameter.grad.numpy(), tolerance=1e-10),
        as_run=near(least_squares(X, y[:, None], intercept=False).coef[:, 0], normal_equations(X, y), tolerance=1e-10),
        at_the_minimum=near(squared_error_gradient(X, y, normal_equations(X, y)), np.zeros(3), tolerance=1e-10),
    )


@claim("singular-gram-diagonal-loading")
def a_positive_load_makes_the_normal_equations_solvable() -> Verdict:
    X, y = np.array([[1.0, 1, 2], [1, 2, 4], [1, 3, 6], [1, 4, 8]]), np.array([1.0, 2, 2, 5])
    shortest = np.linalg.pinv(X) @ y
    gaps = [np.abs(loaded_least_squares(X, y, delta) - shortest).max() for delta in (1e-2, 1e-4, 1e-6, 1e-8)]
    # A small negative load on a design that needs none: the second coefficient changes its sign.
    design, target, delta = np.diag([1.0, 1e-3]), np.array([1.0, 1e-3]), -2e-6
    negative = solve(design.T @ design + delta * np.eye(2), design.T @ target)
    return corrected(
        every(
            singular=raises(np.linalg.LinAlgError, lambda: normal_equations(X, y)),
            limit=near(loaded_least_squares(X, y, 1e-8), np.array([-0.5, 0.24, 0.48]), tolerance=1e-6),
            as_run=near(
                Ridge(alpha=0.3, fit_intercept=False).fit(X, y).coef_, loaded_least_squares(X, y, 0.3), tolerance=1e-10
            ),
            converges=equal(gaps, sorted(gaps, reverse=True)),
            refuses_negative=raises(ValueError, lambda: loaded_least_squares(X, y, -1e-8), match="positive"),
        ),
        printed=near(negative, np.ones(2), tolerance=0.5),
    )


@claim("svm-signed-distance")
def the_projection_is_as_far_as_the_distance_says(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    x, weights, intercept = rng.standard_normal((30, 4)), rng.standard_normal(4), 0.3
    labels = np.where(rng.random(30) < 0.5, -1, 1)
    projected = project_to_hyperplane(x, weights, intercept)
    distance = signed_distance(x, weights, intercept, labels)
    right_side = np.sign(x @ weights + intercept) == labels
    machine = LinearSVC(random_state=seed).fit(x, labels)
    scores = machine.decision_function(x) / np.linalg.norm(machine.coef_)
    return every(
        as_run=near(scores, signed_distance(x, machine.coef_[0], float(machine.intercept_[0])), tolerance=1e-10),
        on_the_plane=near(projected @ weights + intercept, np.zeros(30), tolerance=1e-10),
        distance=near(np.linalg.norm(x - projected, axis=1), np.abs(distance), tolerance=1e-10),
        sign=equal(distance > 0, right_side),
    )
