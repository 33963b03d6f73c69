"""Named sets: the notes' patients, scikit-learn's sets, generators against their formulas, and unknown names."""

import numpy as np
import pytest
from sklearn import datasets as oracle

from margin.data import Dataset, Table, generators, load, names

GENERATED = names("generated")
BUNDLED = names("bundled")


def test_names():
    assert set(names()) == set(GENERATED) | set(BUNDLED) | set(names("files"))
    assert {"blobs", "moons", "circles", "xor", "spirals", "swiss-roll", "s-curve", "friedman"} <= set(GENERATED)
    assert list(names()) == sorted(names())


@pytest.mark.parametrize("name", [name for name in GENERATED + BUNDLED if name != "airline-passengers"])
def test_every_set_is_in_order(name):
    data = load(name)
    assert data.name == name
    assert data.X.shape == (len(data), len(data.feature_names))
    assert np.all(np.isfinite(data.X))
    assert data.description
    assert "\n" not in data.description
    table = data.table()
    assert table.names == (*data.feature_names, data.target)
    np.testing.assert_array_equal(table[data.feature_names[-1]], data.X[:, -1])
    if data.task == "regression":
        np.testing.assert_array_equal(table[data.target], data.y)
    else:
        assert data.y.dtype == np.int64
        assert table[data.target].tolist() == [data.target_names[label] for label in data.y]
    if data.image_shape:
        assert np.prod(data.image_shape) == data.X.shape[1]
    X = data.X.copy()
    data.table()["x1" if "x1" in data.feature_names else data.feature_names[0]].copy()
    np.testing.assert_array_equal(X, data.X)


def test_the_months_of_the_airlines():
    """A series: its only column is the month, and the target is what the series is."""
    months = load("airline-passengers")
    assert isinstance(months.X, Table)
    assert months.X.kinds == {"month": "date"}
    steps = np.diff(months.X["month"].astype("datetime64[M]"))
    assert len(months) == 144
    assert set(steps.tolist()) == {1}
    assert months.y.sum() == 40_363  # 144 times the mean of 280.2986 that is printed everywhere
    np.testing.assert_array_equal(months.table()["passengers"], months.y)


def test_the_patients_of_the_notes():
    patients = load("cholesterol")
    assert patients.feature_names == ("age", "bmi")
    train, test = patients.split
    np.testing.assert_array_equal(patients.X[train], [[25, 22.5], [35, 26.5], [45, 29.5], [55, 31.5], [65, 33.5]])
    np.testing.assert_array_equal(patients.y[test], [190, 220, 250, 270, 290])


@pytest.mark.parametrize(
    ("name", "loader"),
    [("iris", "load_iris"), ("wine", "load_wine"), ("breast-cancer", "load_breast_cancer"),
     ("digits", "load_digits"), ("diabetes", "load_diabetes")],
)  # fmt: skip
def test_scikit_learns_sets(name, loader):
    bunch = getattr(oracle, loader)()
    data = load(name)
    np.testing.assert_array_equal(data.X, bunch.data)
    np.testing.assert_array_equal(data.y, bunch.target)


@pytest.mark.parametrize("name", GENERATED)
def test_same_seed_same_bits_and_sizes_as_asked(name):
    a, b, c = (load(name, n_samples=37, seed=seed) for seed in (5, 5, 6))
    assert len(a) == 37
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert not np.array_equal(a.X, c.X)
    noisy = load(name, n_samples=37, seed=5, noise=0.3)
    assert not (np.array_equal(noisy.X, a.X) and np.array_equal(noisy.y, a.y))


@pytest.mark.parametrize("name", ["blobs", "moons", "circles", "spirals", "shapes"])
def test_classes_are_balanced_and_mixed(name):
    y = load(name, n_samples=101, seed=0).y
    counts = np.bincount(y)
    assert counts.max() - counts.min() <= 1
    assert np.any(np.diff(y) > 0)
    assert np.any(np.diff(y) < 0)


def rng():
    return np.random.default_rng(0)


def test_clean_shapes_satisfy_their_equations():
    X, y = generators.moons(rng(), 200, noise=0)
    centers = np.array([[0, 0], [1, 0.5]])[y]
    np.testing.assert_allclose(np.linalg.norm(X - centers, axis=1), 1)
    assert np.all(np.where(y == 0, X[:, 1] >= 0, X[:, 1] <= 0.5))
    X, y = generators.circles(rng(), 200, noise=0, factor=0.3)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.where(y == 0, 1, 0.3))
    X, y = generators.xor(rng(), 200)
    np.testing.assert_array_equal(y, np.sign(X[:, 0]) != np.sign(X[:, 1]))
    X, t = generators.swiss_roll(rng(), 200)
    np.testing.assert_allclose(np.hypot(X[:, 0], X[:, 2]), t)
    X, t = generators.s_curve(rng(), 200)
    np.testing.assert_allclose(X[:, 0] ** 2 + (X[:, 2] * np.sign(t) + 1) ** 2, 1)
    X, y = generators.spirals(rng(), 200, noise=0, n_arms=3)
    radius = np.linalg.norm(X, axis=1)
    turn = np.exp(1j * 2 * np.pi * (1.5 * radius + y / 3))
    np.testing.assert_allclose(X[:, 0] + 1j * X[:, 1], radius * turn, atol=1e-12)


def test_friedman_depends_on_five_features_only():
    X, y = generators.friedman(rng(), 50, noise=0, n_features=7)
    wanted = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    np.testing.assert_allclose(y, wanted)


def test_noise_has_the_standard_deviation_asked_for():
    X, y = generators.noisy_polynomial(rng(), 20_000, noise=0.5, coefficients=(1, 0, 3))
    residual = y - (1 + 3 * X[:, 0] ** 2)
    assert residual.std() == pytest.approx(0.5, rel=0.03)  # standard error of the deviation: 0.5 percent
    X, y = generators.noisy_function(rng(), np.sin, 50, noise=0, low=0, high=7)
    np.testing.assert_allclose(y, np.sin(X[:, 0]))
    X, y = generators.two_gaussians(rng(), 20_000, noise=0.5, separation=6, weight=0.25)
    assert np.mean(y == 0) == pytest.approx(0.25, abs=0.02)
    assert X[y == 1].mean() == pytest.approx(3, abs=0.03)
    assert X[y == 0].std() == pytest.approx(0.5, rel=0.05)


def test_shapes_are_whole_pictures():
    X, y = generators.shapes(rng(), 60, noise=0, size=16)
    images = X.reshape(-1, 16, 16)
    assert set(np.unique(images)) == {0.0, 1.0}
    ink = images.sum(axis=(1, 2))
    assert ink.min() >= 4
    assert ink[y == 0].mean() > ink[y == 1].mean()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: load("irsi"), ValueError, "no set 'irsi'; close matches are 'iris'"),
        (lambda: load("moons", samples=3), TypeError, "'moons' takes n_samples, noise, seed; got 'samples'"),
        (lambda: load("iris", n_samples=3), TypeError, "'iris' takes no options"),
        (lambda: load("moons", n_samples=0), ValueError, "n_samples must be an integer of at least 1; got 0"),
        (lambda: load("moons", n_samples=2.5), ValueError, "n_samples"),
        (lambda: load("moons", noise=-1), ValueError, "noise must be a number of at least 0; got -1"),
        (lambda: load("moons", noise=np.nan), ValueError, "noise"),
        (lambda: load("moons", noise="much"), ValueError, "noise"),
        (lambda: load("moons", seed=-1), ValueError, "seed"),
        (lambda: load("moons", seed=None), ValueError, "seed"),
        (lambda: load("circles", factor=1), ValueError, "factor"),
        (lambda: load("friedman", n_features=4), ValueError, "at least 5"),
        (lambda: load("noisy-polynomial", coefficients=()), ValueError, "coefficients"),
        (lambda: load("two-gaussians", weight=2), ValueError, "weight"),
        (lambda: load("spirals", turns=0), ValueError, "turns"),
        (lambda: names("web"), ValueError, "source must be one of"),
        (lambda: Dataset("d", np.zeros((2, 1)), None, ("a", "b"), (), "density", ""), ValueError, "1 columns but 2"),
        (lambda: Dataset("d", np.zeros((2, 1)), np.zeros(3), ("a",), (), "density", ""), ValueError, "3 targets"),
        (lambda: Dataset("d", np.zeros((2, 1)), None, ("a",), (), "sorting", ""), ValueError, "task must be one of"),
    ],
)
def test_bad_requests(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert str(caught.value).endswith(".")


def test_a_set_without_targets_is_a_table_of_features():
    data = Dataset("d", Table({"a": ["x", "y"]}), None, ("a",), (), "density", "Two words.")
    assert data.table().names == ("a",)
    assert repr(data) == "Dataset(d: 2 rows, 1 features, density)"
