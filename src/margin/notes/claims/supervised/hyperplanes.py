"""Claims about separating planes: sides, distances, parallel planes, samples on a plane."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, corrected, equal, every, near
from margin.foundations.linalg.hyperplanes import project_to_hyperplane, signed_distance
from margin.kernels import LinearSVC
from margin.kernels.geometry import distance_from_origin, parallel_distance, side_of_plane
from margin.notes.claims import claim

W, B = np.array([3.0, 4.0]), -5.0


@claim("hyperplane")
def plane_is_affine_of_one_dimension_less(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(50, 2))
    on_plane = project_to_hyperplane(X, W, B)
    directions = on_plane - on_plane[0]
    truth = every(
        side=equal(side_of_plane(X, W, B).tolist(), np.sign(X @ W + B).astype(int).tolist()),
        on_plane=near(signed_distance(on_plane, W, B), np.zeros(50), tolerance=1e-12),
        dimension=equal(int(np.linalg.matrix_rank(directions, tol=1e-9)), len(W) - 1),
    )
    return corrected(
        truth,
        # In a space of m + 1 dimensions it would have dimension m.
        lives_in_one_dimension_more=equal(int(np.linalg.matrix_rank(directions, tol=1e-9)), len(W)),
        # A linear subspace would contain the double of each of its points.
        linear_subspace=near(signed_distance(2 * on_plane, W, B), np.zeros(50), tolerance=1e-12),
    )


@claim("hyperplane-distance-from-origin")
def distance_from_the_origin_has_no_sign() -> Verdict:
    nearest = project_to_hyperplane(np.zeros(2), W, B)
    truth = every(
        distance=near(distance_from_origin(W, B), 1.0, tolerance=1e-15),
        other_side=near(distance_from_origin(W, -B), 1.0, tolerance=1e-15),
        nearest_point=near(np.linalg.norm(nearest), 1.0, tolerance=1e-12),
    )
    # The plane w x - b = 0 with b = -5 lies on the other side of the origin, and is not -1 away.
    return corrected(truth, printed=near(-5.0 / np.linalg.norm(W), distance_from_origin(W, 5.0), tolerance=1e-12))


@claim("distance-between-parallel-hyperplanes")
def parallel_planes() -> Verdict:
    point = project_to_hyperplane(np.array([7.0, -2.0]), W, 1.0)  # w x = -1
    across = abs(float(signed_distance(point, W, -1.0)))  # to w x = 1
    truth = every(
        formula=near(parallel_distance(W, -1.0, 1.0), 0.4, tolerance=1e-15), measured=near(across, 0.4, tolerance=1e-12)
    )
    step = -(1.0 - -1.0) / np.linalg.norm(W)  # as the derivation ends
    return corrected(
        truth,
        sign_of_the_step=near(step, across, tolerance=1e-6),
        multiple_of_w=near(np.linalg.norm(abs(step) * W), across, tolerance=1e-6),
    )


@claim("claim-no-sample-on-hyperplane")
def no_sample_lies_on_the_fitted_plane(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10_000, 3))
    model = LinearSVC().fit(X, (X[:, 0] + rng.normal(size=10_000) > 0).astype(int))
    tie = LinearSVC(fit_intercept=False).fit([[-1.0], [1.0]], [0, 1])
    return every(
        on_the_plane=equal(int((model.decision_function(X) == 0).sum()), 0),
        tie_goes_to_class_0=equal(tie.predict([[0.0]]).tolist(), [0]),
    )
