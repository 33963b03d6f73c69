"""Bias, variance and noise: exact sums, the parts of known estimators, agreement with measured risk; double descent."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier as PeerTree

from margin.linear import LinearRegression, LogisticRegression, PolynomialRegression
from margin.selection import ClassificationProblem, RegressionProblem, bias_variance, expected_risk
from margin.selection.double_descent import legendre_features, random_relu_features, width_sweep
from margin.selection.known_truth import on_interval
from margin.selection.loss_parts import cross_entropy_parts, geometric_mean, squared_parts, zero_one_parts
from margin.selection.ridge_tradeoff import ridge_tradeoff

SINE = RegressionProblem(on_interval(-3, 3), lambda X: np.sin(X[:, 0]), noise=0.3)


def two_classes(X):
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    return np.column_stack([1 - p, p])


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_every_loss_sum_to_the_mean_loss_exactly(seed):
    rng = np.random.default_rng(seed)
    said, mean, noise = rng.normal(size=(7, 11)), rng.normal(size=11), rng.uniform(size=11)
    np.testing.assert_allclose(squared_parts(said, mean, noise).total, ((said - mean) ** 2).mean(axis=0) + noise)
    p = rng.dirichlet([1, 2, 3], size=11)
    labels = rng.integers(0, 3, size=(7, 11))
    np.testing.assert_allclose(zero_one_parts(labels, p).total, 1 - p[np.arange(11), labels].mean(axis=0))
    proba = rng.dirichlet([1, 1, 1], size=(7, 11))
    np.testing.assert_allclose(cross_entropy_parts(proba, p).total, -(p * np.log(proba)).sum(axis=2).mean(axis=0))
    np.testing.assert_allclose(geometric_mean(proba).sum(axis=1), 1)


def test_parts_are_unbiased_at_few_training_sets():
    rng = np.random.default_rng(0)
    draws = [squared_parts(2 + 3 * rng.normal(size=(3, 1)), [0.0]) for _ in range(4000)]
    assert np.mean([d.bias for d in draws]) == pytest.approx(4.0, abs=0.8)
    assert np.mean([d.variance for d in draws]) == pytest.approx(9.0, rel=0.1)


@pytest.mark.parametrize("degree", [1, 3])
def test_sum_agrees_with_the_measured_risk(degree):
    found = bias_variance(PolynomialRegression(degree), SINE, n_rows=40, n_sets=150, random_state=degree)
    assert found.noise == pytest.approx(0.09)
    assert abs(found.total - found.risk) < 5 * found.risk_error
    risk, error = expected_risk(PolynomialRegression(degree), SINE, n_rows=40, n_sets=150, random_state=7)
    assert abs(risk - found.total) < 5 * np.hypot(error, found.risk_error) + 0.01


@pytest.mark.parametrize("loss", ["zero_one", "cross_entropy"])
def test_classification_sum_agrees_with_the_measured_risk(loss):
    problem = ClassificationProblem(on_interval(-2, 2), two_classes)
    found = bias_variance(LogisticRegression(), problem, loss=loss, n_rows=50, n_sets=80, random_state=0)
    assert found.loss == loss
    assert abs(found.total - found.risk) < 5 * found.risk_error
    assert found.bias < 0.02 < found.noise


def test_zero_one_parts_of_right_and_wrong_majorities():
    labels = np.array([[1, 0], [1, 0], [1, 1], [0, 0]])
    parts = zero_one_parts(labels, [[0.2, 0.8], [0.2, 0.8]])
    np.testing.assert_allclose(parts.noise, 0.2)
    np.testing.assert_allclose(parts.bias, [0, 0.6])
    np.testing.assert_allclose(parts.variance, [0.15, -0.15], err_msg="scatter around a wrong majority helps")


def test_same_seed_same_numbers():
    first, second = (bias_variance(PolynomialRegression(2), SINE, n_sets=5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.parts.total, second.parts.total)
    assert first.risk == second.risk


def test_a_table_counts_its_noise_as_bias():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + rng.normal(size=120)
    found = bias_variance(LinearRegression(), (X, y), n_sets=60, random_state=0)
    assert found.noise == 0
    assert found.total == pytest.approx(found.risk)
    assert found.bias > 10 * found.variance
    names = np.where(y > 0, "yes", "no")
    for loss in (None, "cross_entropy"):
        labels = bias_variance(PeerTree(max_depth=3), (X, names), loss=loss, n_sets=30, random_state=0)
        assert labels.total == pytest.approx(labels.risk)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of"),
        ({"loss": "zero_one"}, "does not fit"),
        ({"n_sets": 1}, "n_sets"),
        ({"model": 3}, "an estimator or a function"),
        ({"data": [1]}, "known truth or a pair"),
    ],
)
def test_mistakes_are_one_sentence(change, message):
    arguments = {"model": LinearRegression(), "data": SINE} | change
    with pytest.raises(ValueError, match=message):
        bias_variance(arguments.pop("model"), arguments.pop("data"), **arguments)


def test_ridge_parts_against_simulation():
    rng = np.random.default_rng(0)
    X, beta = rng.normal(size=(15, 4)), np.array([1.0, -2.0, 0.5, 0.0])
    found = ridge_tradeoff(X, beta, 0.8, [0.0, 3.0])
    Y = (X @ beta)[:, None] + 0.8 * rng.normal(size=(15, 20000))
    for i, alpha in enumerate([0.0, 3.0]):
        said = np.linalg.solve(X.T @ X + alpha * np.eye(4), X.T @ Y)
        assert found.variance[i] == pytest.approx(said.var(axis=1).sum(), rel=0.05)
        assert found.bias[i] == pytest.approx(((said.mean(axis=1) - beta) ** 2).sum(), abs=0.01)
    with pytest.raises(ValueError, match="independent columns"):
        ridge_tradeoff(np.ones((5, 2)), [1.0, 1.0], 1.0, [0.0])


def test_widths_interpolate_from_the_number_of_rows_on():
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(30, 6)), rng.normal(size=(50, 6))
    features = random_relu_features(rng, X, X_test, 90)
    y, y_test = rng.normal(size=30), rng.normal(size=50)
    sweep = width_sweep(features[0], y, features[1], y_test, [10, 29, 30, 31, 90])
    assert sweep.threshold == 30
    theta = np.linalg.pinv(features[0]) @ y
    assert sweep.norm[-1] == pytest.approx(np.linalg.norm(theta))
    assert sweep.test[-1] == pytest.approx(np.mean((features[1] @ theta - y_test) ** 2))
    penalized = width_sweep(features[0], y, features[1], y_test, [10, 90], alpha=2.0)
    for p, norm in zip([10, 90], penalized.norm, strict=True):
        Phi = features[0][:, :p]
        assert norm == pytest.approx(np.linalg.norm(np.linalg.solve(Phi.T @ Phi + 2 * np.eye(p), Phi.T @ y)))
    assert width_sweep(features[0], y, features[1], y_test, [10]).threshold is None


def test_legendre_features_are_orthonormal():
    x, w = np.polynomial.legendre.leggauss(40)
    Phi = legendre_features(x, 12)
    np.testing.assert_allclose(Phi.T @ (w[:, None] * Phi), np.eye(12), atol=1e-12)
