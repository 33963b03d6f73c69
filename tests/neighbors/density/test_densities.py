"""Densities of tables: integrals, oracles, missing entries and samples."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.neighbors import KernelDensity as Peer

from margin.neighbors.density import HistogramDensity, KernelDensity
from margin.neighbors.density.columns import column_states
from margin.neighbors.density.histogram import CategoryHistogram
from margin.neighbors.density.kernel_shapes import KERNELS, log_kernel
from margin.neighbors.density.spaces import Globe, MinkowskiSpace


@pytest.mark.parametrize("seed", range(3))
def test_a_histogram_of_numbers_integrates_to_one(seed):
    x = np.random.default_rng(seed).gamma(2.0, size=(300, 1))
    model = HistogramDensity().fit(x)
    cuts = model.cuts_[0]
    tails = [cuts[0] - 60 * model.scales_[0][0], *cuts, cuts[-1] + 60 * model.scales_[0][1]]
    total = sum(quad(lambda t: np.exp(model.score_samples([[t]])[0]), a, b)[0] for a, b in pairwise(tails))
    assert total == pytest.approx(1.0, abs=1e-6)
    assert np.isfinite(model.score_samples([[-50.0], [900.0]])).all()


def test_samples_of_a_histogram_follow_its_cuts():
    x = np.random.default_rng(0).normal(size=(4000, 1))
    model = HistogramDensity(alpha=0.0).fit(x)
    drawn = model.sample(20_000, random_state=1)
    counts = np.bincount(np.searchsorted(model.cuts_[0], drawn[:, 0], side="right"), minlength=8)
    np.testing.assert_allclose(counts / 20_000, model.probabilities_[0], atol=0.015)
    assert abs(drawn.mean()) < 0.1
    assert abs(drawn.std() - 1) < 0.15


def test_missing_entries_are_summed_out_and_new_categories_are_impossible():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [1.0, 6.0], [np.nan, 6.0]])
    model = HistogramDensity(alpha=0.0).fit(X)
    np.testing.assert_allclose(np.exp(model.score_samples([[1.0, np.nan], [np.nan, np.nan]])), [2 / 3, 1.0])
    assert model.score_samples([[7.0, 5.0]])[0] == -np.inf
    with pytest.raises(ValueError, match="column 0 has no known entry"):
        HistogramDensity().fit([[np.nan, 1.0], [np.nan, 2.0]])


@pytest.mark.parametrize("column", [[0.0] * 50 + list(range(1, 20)), list(range(30)), [1e300, *range(20)]])
def test_awkward_columns_have_ascending_cuts(column):
    states = column_states(np.array(column, dtype=float), 8, 5)
    assert (np.diff(states.cuts) > 0).all()
    assert (states.scales > 0).all()
    codes = states.codes(np.array(column, dtype=float))
    assert codes.min() == 0
    assert codes.max() == states.size - 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_kernel_densities_equal_scikit_learn(kernel, d):
    rng = np.random.default_rng(d)
    X, Q, w = rng.normal(size=(80, d)) + 100, rng.normal(size=(30, d)) + 100, rng.integers(1, 4, 80)
    ours = KernelDensity(bandwidth=0.9, kernel=kernel).fit(X, sample_weight=w)
    theirs = Peer(bandwidth=0.9, kernel=kernel).fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.score_samples(Q), theirs.score_samples(Q), rtol=1e-8, atol=1e-8)
    for rule in ("scott", "silverman"):
        rules = [m(bandwidth=rule).fit(X).bandwidth_ for m in (KernelDensity, Peer)]
        assert rules[0] == pytest.approx(rules[1])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_kernel_samples_have_the_density_that_is_scored(kernel, d):
    """E r^2 of samples against the radial integral of the density itself."""
    model = KernelDensity(kernel=kernel).fit(np.zeros((1, d)))
    r = np.linspace(1e-6, 40.0 if kernel == "exponential" else 10.0, 200_001)
    radial = r ** (d - 1) * np.exp(log_kernel(kernel, r**2))
    expected = np.trapezoid(r**2 * radial, r) / np.trapezoid(radial, r)
    rows = model.sample(40_000, random_state=0)
    np.testing.assert_allclose((rows**2).sum(axis=1).mean(), expected, rtol=0.06)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.05)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski"])
def test_a_kernel_of_any_distance_integrates_to_one(kernel, metric):
    """On a fine grid of the plane; scikit-learn divides by the Euclidean volume whatever the metric."""
    options = {"p": 3} if metric == "minkowski" else None
    model = KernelDensity(kernel=kernel, metric=metric, metric_params=options, bandwidth=0.5)
    half = {"exponential": 14.0, "gaussian": 3.0}.get(kernel, 0.7)
    axis = np.linspace(-half, half, 801 if kernel == "exponential" else 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    total = np.exp(model.fit([[0.0, 0.0]]).score_samples(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert total == pytest.approx(1.0, abs=0.01)
    peer = Peer(kernel=kernel, metric=metric, metric_params=options, bandwidth=0.5).fit([[0.0, 0.0]])
    ours, theirs = model.score_samples(grid), peer.score_samples(grid)
    seen = np.isfinite(ours) & (np.abs(ours) < 50)
    assert np.ptp(ours[seen] - theirs[seen]) < 1e-6  # the same shape, another constant


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_on_the_globe_integrates_to_one(kernel):
    model = KernelDensity(kernel=kernel, metric="haversine", bandwidth=0.6).fit([[0.3, -1.0]])
    latitude, longitude = np.linspace(-np.pi / 2, np.pi / 2, 151), np.linspace(-np.pi, np.pi, 300, endpoint=False)
    grid = np.stack(np.meshgrid(latitude, longitude, indexing="ij"), axis=-1).reshape(-1, 2)
    area = np.cos(grid[:, 0]) * (latitude[1] - latitude[0]) * (longitude[1] - longitude[0])
    assert (np.exp(model.score_samples(grid)) * area).sum() == pytest.approx(1.0, abs=0.01)
    drawn = model.sample(20_000, random_state=0)
    angles = np.sqrt(Globe().squared_distances(np.array([[0.3, -1.0]]))(drawn))[:, 0]
    r = np.linspace(1e-9, np.pi, 20_001)
    weight = np.exp(log_kernel(kernel, (r / 0.6) ** 2)) * np.sin(r)
    assert angles.mean() == pytest.approx((r * weight).sum() / weight.sum(), rel=0.03)
    with pytest.raises(ValueError, match="'haversine' needs two columns"):
        KernelDensity(metric="haversine").fit([[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("exponent", [1.0, 3.0, np.inf])
def test_steps_of_a_distance_have_its_kernel(exponent):
    """Lengths of steps follow r^(d-1) K(r); a cone of the ball holds the fraction that it has of the volume."""
    rng = np.random.default_rng(0)
    drawn = MinkowskiSpace(exponent).steps("tophat", np.zeros((40_000, 3)), 2.0, rng)
    assert (np.linalg.norm(drawn, ord=exponent, axis=1) / 2).mean() == pytest.approx(0.75, rel=0.02)
    uniform = rng.uniform(-2, 2, size=(400_000, 3))
    uniform = uniform[np.linalg.norm(uniform, ord=exponent, axis=1) <= 2]
    for rows in (lambda x: x[:, 0] > 1.0, lambda x: np.abs(x).min(axis=1) > 0.4):
        assert rows(drawn).mean() == pytest.approx(rows(uniform).mean(), abs=0.01)


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "haversine"])
def test_trees_find_what_all_pairs_give(algorithm, metric):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(300, 2)), rng.uniform(0.5, 2, 300)
    Q = np.vstack([rng.normal(size=(40, 2)), [[3.0, 3.0]], X[:5]])  # one far from all, some that are rows themselves
    for kernel in KERNELS:
        whole = KernelDensity(bandwidth=0.15, kernel=kernel, metric=metric, algorithm="brute").fit(X, sample_weight=w)
        exact = whole.score_samples(Q)
        tree = KernelDensity(bandwidth=0.15, kernel=kernel, metric=metric, algorithm=algorithm, leaf_size=7)
        np.testing.assert_allclose(tree.fit(X, sample_weight=w).score_samples(Q), exact, atol=1e-9)
        for atol, rtol in ((1e-3, 0.0), (0.0, 1e-3), (1e-6, 1e-6)):
            near = tree.set_params(atol=atol, rtol=rtol).score_samples(Q)
            density = np.exp(exact)
            assert (np.abs(np.exp(near) - density) <= (atol + rtol * density) * (1 + 1e-9) + 1e-12).all()
            assert (np.isneginf(near) == np.isneginf(exact)).all()


def test_an_allowed_error_leaves_rows_out(monkeypatch):
    """Not only promised: far fewer pairs are looked at, and the default looks at all."""
    rng = np.random.default_rng(0)
    X, looked = rng.normal(size=(2000, 2)), []
    near = MinkowskiSpace.near

    def counted(self, index, queries, distance):
        found = near(self, index, queries, distance)
        looked.append(len(found[0]) / (len(queries) * len(X)))
        return found

    monkeypatch.setattr(MinkowskiSpace, "near", counted)
    KernelDensity(bandwidth=0.05).fit(X).score_samples(X[:200])
    assert looked == []
    KernelDensity(bandwidth=0.05, rtol=1e-3).fit(X).score_samples(X[:200])
    assert len(looked) == 2  # a pilot and the queries
    assert max(looked) < 0.05


def test_a_metric_says_what_it_cannot_take():
    with pytest.raises(ValueError, match="metric_params of metric 'manhattan' cannot hold 'p'"):
        KernelDensity(metric="manhattan", metric_params={"p": 3}).fit([[0.0]])
    with pytest.raises(ValueError, match=r"p of at least 1; got 0\.5"):
        KernelDensity(metric="minkowski", metric_params={"p": 0.5}).fit([[0.0]])


def test_categories_of_any_kind():
    model = CategoryHistogram.fit(["a", "b", "a"])
    assert model.labels() == ["2 (0.67)", "1 (0.33)"]
    assert model.log_prob(["z"])[0] == -np.inf
    with pytest.raises(ValueError, match="must not be empty"):
        CategoryHistogram.fit([])
    with pytest.raises(ValueError, match="n_samples must be an integer at least 1"):
        HistogramDensity().fit([[0.0], [1.0]]).sample(0)


def test_a_bandwidth_whose_square_overflows_is_a_bandwidth():
    X = np.random.default_rng(0).normal(size=(30, 3))
    ours, theirs = (cls(bandwidth=1e300).fit(X).score_samples(X) for cls in (KernelDensity, Peer))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
