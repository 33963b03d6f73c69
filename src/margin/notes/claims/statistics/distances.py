"""Metric axioms and the Mahalanobis distance."""

from __future__ import annotations

import numpy as np

from margin.bayes import QuadraticDiscriminantAnalysis
from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.foundations.statistics import (
    mahalanobis,
    metric_axioms,
    quadratic_distance,
    spherical_distance,
    whitening,
)
from margin.mixture import GaussianMixture
from margin.neighbors import KNeighborsClassifier
from margin.notes.claims import claim
from margin.notes.claims.chance import plausible

SIGMA = np.array([[4.0, 1.5], [1.5, 1.0]])


@claim("metric-axioms")
def three_axioms_do_not_make_a_pseudometric(seed: int) -> Verdict:
    points = np.random.default_rng(seed).normal(size=(8, 2))
    points[0], points[1], points[2] = (0.0, 0.0), (1.0, 1.0), (2.0, 2.0)
    flat = np.array([[1.0, -1.0], [-1.0, 1.0]])  # blind along (1, 1)
    euclid = metric_axioms(lambda a, b: float(np.linalg.norm(a - b)), points)
    squared = metric_axioms(lambda a, b: float(np.sum((a - b) ** 2)), points)
    deficient = metric_axioms(lambda a, b: float(quadratic_distance(a, b, flat)), points)
    constant = metric_axioms(lambda *_: 1.0, points)
    words = metric_axioms(lambda a, b: float(a[0] != b[0]), [[0.0], [1.0], [2.0]])  # a set without vector structure
    truth = every(
        euclid=equal(euclid.is_metric, True),
        squared_fails_triangle=equal((squared.triangle, squared.symmetric), (False, True)),
        deficient=equal((deficient.is_pseudometric, deficient.is_metric), (True, False)),
        discrete=equal(words.is_metric, True),
        constant_has_the_three=equal((constant.triangle, constant.non_negative, constant.symmetric), (True,) * 3),
    )
    return corrected(truth, printed=equal(constant.is_pseudometric, True))


@claim("mahalanobis-distance")
def squared_distances_of_normal_data_are_chi_square(seed: int) -> Verdict:
    from scipy import stats
    from scipy.spatial import distance

    rng = np.random.default_rng(seed)
    mean = np.array([1.0, -2.0])
    x = mean + rng.normal(size=(3000, 2)) @ np.linalg.cholesky(SIGMA).T
    precision = np.linalg.inv(SIGMA)
    v = x[0] - mean
    ellipse = mean + np.column_stack([np.cos(t := np.linspace(0, 6, 50)), np.sin(t)]) @ np.linalg.cholesky(SIGMA).T
    density = stats.multivariate_normal(mean, 0.01 * SIGMA).pdf(mean)
    # Two classes whose covariances are 1 and 4 times the same: the log-odds are a difference of squared distances.
    cloud = x - x.mean(axis=0)
    model = QuadraticDiscriminantAnalysis().fit(np.vstack([cloud, 2 * cloud]), np.repeat([0, 1], len(x)))
    S, center = model.covariance_[0], np.zeros(2)
    odds = mahalanobis(x, center, 4 * S) ** 2 - mahalanobis(x, center, S) ** 2 + 4 * np.log(2.0)
    truth = every(
        scipy=near(mahalanobis(x[0], mean, SIGMA), distance.mahalanobis(x[0], mean, precision), tolerance=1e-10),
        indices_i_j=near(mahalanobis(x[0], mean, SIGMA) ** 2, np.einsum("i,ij,j", v, precision, v), tolerance=1e-10),
        chi_square=plausible(stats.kstest(mahalanobis(x, mean, SIGMA) ** 2, stats.chi2(2).cdf).pvalue),
        as_run=near(model.predict_log_proba(x[:9]) @ [2.0, -2.0], odds[:9], tolerance=1e-8),
        contour_is_an_ellipse=near(mahalanobis(ellipse, mean, SIGMA), np.ones(50), tolerance=1e-10),
    )
    as_printed = np.sum(np.diag(precision)[:, None] * np.outer(v, v))  # the precision indexed i, i
    return corrected(
        truth,
        indices_i_i=near(as_printed, mahalanobis(x[0], mean, SIGMA) ** 2, tolerance=1e-3),
        probability_of_belonging=below(density, 1.0),
    )


@claim("mahalanobis-distance-between-points")
def two_points_are_compared_by_their_difference(seed: int) -> Verdict:
    from scipy.spatial import distance

    rng = np.random.default_rng(seed)
    points, others = rng.normal(size=(2, 10, 2))
    axioms = metric_axioms(lambda a, b: float(mahalanobis(a, b, SIGMA)), points)
    by_scipy = [distance.mahalanobis(p, q, np.linalg.inv(SIGMA)) for p, q in zip(points, others)]
    a, mean = np.array([2.0, 0.0]), np.zeros(2)

    def inner_product(s_i: np.ndarray, s_j: np.ndarray) -> float:
        """What the notes print under the root."""
        return float((s_i - mean) @ np.linalg.solve(np.eye(2), s_j - mean))

    truth = every(
        scipy=near(mahalanobis(points, others, SIGMA), by_scipy, tolerance=1e-10),
        as_run=near(
            KNeighborsClassifier(1, metric="mahalanobis", metric_params={"V": SIGMA})
            .fit(others, range(10))
            .kneighbors(points, 10)[0],
            np.sort(mahalanobis(points[:, None], others, SIGMA), axis=1),
            tolerance=1e-10,
        ),
        one_against_many=near(mahalanobis(points, others[0], SIGMA)[0], by_scipy[0], tolerance=1e-10),
        metric=equal(axioms.is_metric, True),
        itself=near(mahalanobis(a, a, SIGMA), 0.0, tolerance=0.0),
        opposite_points=near(mahalanobis(a, -a, np.eye(2)), 4.0, tolerance=1e-12),
        printed_value=near(inner_product(a, -a), -4.0, tolerance=1e-12),
    )
    return corrected(
        truth,
        opposite_points=near(inner_product(a, -a), mahalanobis(a, -a, np.eye(2)) ** 2, tolerance=1.0),
        equal_points=near(inner_product(a, a), mahalanobis(a, a, np.eye(2)) ** 2, tolerance=1.0),
    )


@claim("spherical-normalised-distance")
def equal_normalized_distance_unequal_density() -> Verdict:
    from scipy import stats

    covariance = np.diag([9.0, 1.0])
    sd = np.sqrt(np.trace(covariance) / 2)
    along, across = np.array([3.0, 0.0]), np.array([0.0, 3.0])
    law = stats.multivariate_normal([0.0, 0.0], covariance)
    normalized = spherical_distance(np.array([along, across]), [0.0, 0.0], sd)
    distances = mahalanobis(np.array([along, across]), np.zeros(2), covariance)
    round_cloud = mahalanobis(np.array([along, across]), np.zeros(2), sd**2 * np.eye(2))
    points = np.array([[1.0, 2.0], [4.0, -1.0], [0.5, 0.5]])
    from_center = spherical_distance(points, [1.0, -2.0], 2.5)
    cloud = GaussianMixture(1, covariance_type="spherical", reg_covar=0.0).fit(np.vstack([points, points[:2] ** 3]))
    center, spread = cloud.means_[0], float(np.sqrt(cloud.covariances_[0]))
    falls = cloud.score_samples([center]) - cloud.score_samples(points)
    return every(
        as_run=near(2 * falls, spherical_distance(points, center, spread) ** 2, tolerance=1e-10),
        formula=near(from_center, np.hypot(points[:, 0] - 1, points[:, 1] + 2) / 2.5, tolerance=1e-12),
        normalized=near(normalized[0], normalized[1], tolerance=1e-12),
        mahalanobis=near(distances, [1.0, 3.0], tolerance=1e-12),
        density_ratio=near(law.pdf(along) / law.pdf(across), np.exp(4.0), tolerance=1e-9),
        enough_for_a_sphere=near(round_cloud, normalized, tolerance=1e-12),
    )


@claim("mahalanobis-as-linear-map")
def mahalanobis_is_euclid_after_whitening(seed: int) -> Verdict:
    points = np.random.default_rng(seed).normal(size=(20, 2))
    J = whitening(SIGMA)
    target = mahalanobis(points[:-1], points[1:], SIGMA)

    def euclid_after(linear_map: np.ndarray) -> np.ndarray:
        return np.linalg.norm(np.diff(points @ linear_map.T, axis=0), axis=1)

    return every(
        distances=near(euclid_after(J), target, tolerance=1e-10),
        factor_of_the_precision=near(J.T @ J, np.linalg.inv(SIGMA), tolerance=1e-10),
        definite=near(np.linalg.eigvalsh(J.T @ J), 1 / np.linalg.eigvalsh(SIGMA)[::-1], tolerance=1e-10),
    )


@claim("claim-pseudometric-iff-rank-deficient")
def a_null_vector_is_a_zero_distance(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    J = np.array([[1.0, 2.0]])
    x, null = rng.normal(size=(50, 2)), np.array([2.0, -1.0])
    full = rng.normal(size=(3, 2))
    return every(
        deficient=near(quadratic_distance(x, x + null, J.T @ J), np.zeros(50), tolerance=1e-7),
        projection=near(quadratic_distance(x, 0 * x, J.T @ J), np.abs(x @ J[0]), tolerance=1e-10),
        full_rank=above(quadratic_distance(x, x + null, full.T @ full).min(), 0.1),
        rank=equal([int(np.linalg.matrix_rank(A.T @ A)) for A in (J, full)], [1, 2]),
    )
