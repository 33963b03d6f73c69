import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from margin.foundations.transport import (
    Sinkhorn,
    barycenter,
    barycenter_1d,
    cost_matrix,
    geodesic,
    is_coupling,
    mixture_path,
    normal_barycenter,
    plan_cost,
    round_to_coupling,
    sinkhorn,
    solve,
    wasserstein,
    wasserstein_1d,
)
from margin.foundations.transport.log_domain import log_sum_exp


def problem(m=30, n=40, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(n))
    return a, b, cost_matrix(rng.normal(size=(m, 2)), rng.normal(size=(n, 2)) + 1)


def plain_sinkhorn(a, b, M, reg, sweeps):
    """The twin: both updates in logs, nothing folded."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(sweeps):
        f = reg * (np.log(a) - logsumexp((g - M) / reg, axis=1))
        g = reg * (np.log(b) - logsumexp((f[:, None] - M) / reg, axis=0))
    return np.exp((f[:, None] + g - M) / reg)


@pytest.mark.parametrize("reg", [0.05, 0.3, 5.0])
def test_sinkhorn_against_plain_log_updates(reg):
    a, b, M = problem()
    answer = sinkhorn(a, b, M, reg, tol=1e-11, max_iter=100_000)
    assert answer.converged
    np.testing.assert_allclose(answer.plan, plain_sinkhorn(a, b, M, reg, 3 * answer.n_iter), atol=1e-9)


def test_sinkhorn_where_every_kernel_entry_underflows():
    a, b, M = problem()
    answer = sinkhorn(a, b, M * 1e4, reg=20.0, tol=1e-6, max_iter=50_000)
    assert np.exp(-M * 1e4 / 20.0).max(axis=1).min() == 0.0  # a whole row of the plain kernel is zero
    assert answer.converged
    exact = solve(a, b, M * 1e4).cost
    assert exact <= plan_cost(round_to_coupling(answer.plan, a, b), M * 1e4) < 1.02 * exact


def test_sinkhorn_records_fall_and_rows_are_exact():
    a, b, M = problem()
    process = Sinkhorn(a, b, M, 0.5)
    errors = []
    for record in process.iterate(50):
        errors.append(record["marginal_error"])
        np.testing.assert_allclose(process.plan().sum(axis=1), a, atol=1e-12)
    assert record.iteration == record.total == 50
    assert (np.diff(errors) < 1e-15).all()
    assert errors[-1] == pytest.approx(np.abs(process.plan().sum(axis=0) - b).sum(), abs=1e-12)


def test_sinkhorn_with_empty_points_and_unconverged_flag():
    a, b, M = problem()
    a[3], b[5] = 0.0, 0.0
    a, b = a / a.sum(), b / b.sum()
    answer = sinkhorn(a, b, M, 0.5)
    assert answer.converged
    assert answer.plan[3].sum() == answer.plan[:, 5].sum() == 0.0
    assert is_coupling(round_to_coupling(answer.plan, a, b), a, b, 1e-12)
    assert not sinkhorn(a, b, M, 0.01, max_iter=2).converged


def test_less_entropy_costs_less():
    a, b, M = problem()
    costs = [sinkhorn(a, b, M, reg, tol=1e-8, max_iter=100_000).cost for reg in (2.0, 0.5, 0.05)]
    assert costs[0] > costs[1] > costs[2] > solve(a, b, M).cost - 1e-6


@pytest.mark.parametrize("reg", [0, -1, np.nan, "0.1"])
def test_bad_regularization(reg):
    a, b, M = problem()
    with pytest.raises(ValueError, match="reg must be a positive number"):
        sinkhorn(a, b, M, reg)


def test_log_sum_exp_against_scipy():
    x = np.random.default_rng(0).normal(size=(4, 5, 6)) * 500
    x[0, :, 0] = -np.inf
    for axis in range(3):
        np.testing.assert_allclose(log_sum_exp(x, axis), logsumexp(x, axis=axis), rtol=1e-12)


def test_barycenter_1d_minimizes_the_mean_square_distance():
    rng = np.random.default_rng(0)
    samples = [rng.normal(k, 1 + k, size=20 + 5 * k) for k in range(3)]
    weights = np.array([0.5, 0.3, 0.2])
    x, masses = barycenter_1d(samples, weights)

    def objective(positions):
        return sum(w * wasserstein_1d(s, positions, 2, b=masses) ** 2 for w, s in zip(weights, samples))

    best = objective(x)
    for _ in range(20):
        assert objective(x + 0.05 * rng.normal(size=len(x))) > best
    assert masses.sum() == pytest.approx(1.0)


def test_barycenter_of_normals():
    levels = (np.arange(999) + 0.5) / 999
    x, _ = barycenter_1d([stats.norm(0, 1).ppf(levels), stats.norm(6, 3).ppf(levels)], [0.25, 0.75])
    assert normal_barycenter([0, 6], [1, 3], [0.25, 0.75]) == pytest.approx((4.5, 2.5))
    np.testing.assert_allclose(x, stats.norm(4.5, 2.5).ppf(levels), atol=1e-9)


def test_image_barycenter_moves_a_blob_and_debiasing_sharpens_it():
    place = np.linspace(0, 1, 21)
    blob = lambda cx, cy: np.exp(-((place[:, None] - cx) ** 2 + (place - cy) ** 2) / 0.01)  # noqa: E731
    images = np.array([blob(0.25, 0.5), blob(0.75, 0.5)])
    sharp, blurred = (barycenter(images, 0.01, debiased=flag).image for flag in (True, False))
    assert sharp.sum() == pytest.approx(1.0)
    assert np.unravel_index(sharp.argmax(), sharp.shape) == (10, 10)
    expected = blob(0.5, 0.5) / blob(0.5, 0.5).sum()
    assert np.abs(sharp - expected).sum() < 0.05 < np.abs(blurred - expected).sum()
    lone = barycenter(images[:1], 0.01).image
    np.testing.assert_allclose(lone, images[0] / images[0].sum(), atol=1e-3)


def test_geodesic_has_constant_speed():
    rng = np.random.default_rng(0)
    for d in (1, 2):
        x, y = rng.normal(size=(15, d)), rng.normal(size=(22, d)) * 2 + 3
        a, b = rng.dirichlet(np.ones(15)), rng.dirichlet(np.ones(22))
        whole = wasserstein(x, y, 2, a, b)
        for t in (0.0, 0.3, 1.0):
            points, masses = geodesic(x, y, t, a, b)
            # W_2 is the root of a cost that rounding leaves near 1e-14.
            assert wasserstein(x, points, 2, a, masses) == pytest.approx(t * whole, abs=1e-6)
            assert wasserstein(points, y, 2, masses, b) == pytest.approx((1 - t) * whole, abs=1e-6)


def test_mixture_path_and_bad_input():
    np.testing.assert_allclose(mixture_path([1, 0], [0, 1], 0.25), [0.75, 0.25])
    for call in (lambda: mixture_path([1], [1], 1.5), lambda: geodesic([0.0], [1.0], -0.1)):
        with pytest.raises(ValueError, match=r"t must lie in \[0, 1\]"):
            call()
    with pytest.raises(ValueError, match="same shape"):
        mixture_path([1], [1, 2], 0.5)
    with pytest.raises(ValueError, match="shape"):
        barycenter(np.ones((3, 3)), 0.1)
    with pytest.raises(ValueError, match="positive total mass"):
        barycenter(np.zeros((1, 3, 3)), 0.1)
    with pytest.raises(ValueError, match="at least one distribution"):
        barycenter_1d([])
