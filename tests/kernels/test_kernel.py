"""Kernel objects: values against scikit-learn, gradients against finite differences, algebra, storage."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels as peer

from margin.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    LaplaceKernel,
    LinearKernel,
    Matern,
    PeriodicKernel,
    PolynomialKernel,
    RationalQuadratic,
    WhiteKernel,
)

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(30, 3)), RNG.normal(size=(7, 3))

EVERY = [
    LinearKernel(),
    PolynomialKernel(degree=3, gamma=0.4, coef0=0.7),
    PolynomialKernel(degree=2, coef0=0.0),
    RBF(1.3),
    RBF([0.5, 1.0, 2.0]),
    LaplaceKernel(0.8),
    LaplaceKernel([0.5, 1.0, 2.0]),
    PeriodicKernel(1.5, 2.5),
    ConstantKernel(3.0),
    WhiteKernel(0.2),
    DotProduct(0.7),
    RationalQuadratic(1.4, 0.6),
    Matern([0.5, 1.0, 2.0], nu=0.8),
    Matern(1.1, nu=3.3),
    Matern(1.1, nu=np.inf),
    (LinearKernel() + 1.0) ** 3,
    RBF(1.3) ** 0.5,
    2.0 * RBF([0.5, 1.0, 2.0]) + WhiteKernel(0.1),
    (LinearKernel() + 1.0) * PeriodicKernel(1.5, 2.5, periodicity_bounds="fixed")
    + RBF(2.0, "fixed") * LaplaceKernel(0.7),
]
NAMES = [repr(kernel)[:40] for kernel in EVERY]


@pytest.mark.parametrize("kernel", EVERY, ids=NAMES)
def test_gram_is_symmetric_positive_semidefinite_and_has_its_diagonal(kernel):
    gram = kernel(X)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram)[0] > -1e-9 * np.trace(gram)
    np.testing.assert_allclose(np.diag(gram), kernel.diag(X), rtol=1e-12)
    cross = kernel(X, Z)
    assert cross.shape == (30, 7)
    together = kernel(np.vstack([X, Z]))[:30, 30:]
    np.testing.assert_allclose(cross, together, atol=1e-10)


@pytest.mark.parametrize("kernel", EVERY, ids=NAMES)
def test_contracted_gradient_against_finite_differences(kernel):
    weights = RNG.normal(size=(30, 30))
    weights = weights + weights.T
    theta, step = kernel.theta, 1e-5
    differences = [
        (
            np.vdot(weights, kernel.clone_with_theta(theta + step * e)(X))
            - np.vdot(weights, kernel.clone_with_theta(theta - step * e)(X))
        )
        / (2 * step)
        for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(kernel.gradient(X, weights), differences, rtol=1e-6, atol=1e-6)
    assert kernel.bounds.shape == (len(theta), 2)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (LinearKernel() + 4.0, peer.DotProduct(2.0)),
        (RBF([0.5, 1.0, 2.0]), peer.RBF([0.5, 1.0, 2.0])),
        (RBF.from_gamma(0.3), peer.RBF(1 / np.sqrt(0.6))),
        (LaplaceKernel(0.8), peer.Matern(0.8, nu=0.5)),
        (DotProduct(0.7), peer.DotProduct(0.7)),
        (RationalQuadratic(1.4, 0.6), peer.RationalQuadratic(1.4, 0.6)),
        (Matern([0.5, 1.0, 2.0], nu=0.8), peer.Matern([0.5, 1.0, 2.0], nu=0.8)),
        (Matern(1.1, nu=np.inf), peer.Matern(1.1, nu=np.inf)),
        (ExpSineSquared(1.5, 2.5), peer.ExpSineSquared(1.5, 2.5)),
        (DotProduct(0.7) ** 2, peer.DotProduct(0.7) ** 2),
        (3.0 * RBF(0.5) + WhiteKernel(0.1), peer.ConstantKernel(3.0) * peer.RBF(0.5) + peer.WhiteKernel(0.1)),
    ],
)
def test_values_of_the_peer(ours, theirs):
    np.testing.assert_allclose(ours(X), theirs(X), atol=1e-12)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), atol=1e-12)


def test_periodic_on_a_line_is_the_peers():
    line = X[:, :1]
    np.testing.assert_allclose(PeriodicKernel(1.5, 2.5)(line), peer.ExpSineSquared(1.5, 2.5)(line), atol=1e-12)


def test_theta_round_trip_and_fixed_parameters():
    kernel = 2.0 * RBF([0.5, 2.0]) + WhiteKernel(0.1, "fixed")
    np.testing.assert_allclose(np.exp(kernel.theta), [2.0, 0.5, 2.0])
    np.testing.assert_allclose(np.exp(kernel.bounds), [[1e-5, 1e5]] * 3)
    moved = kernel.clone_with_theta(np.log([3.0, 1.0, 4.0]))
    assert moved.k1.k1.constant_value == pytest.approx(3.0)
    np.testing.assert_allclose(moved.k1.k2.length_scale, [1.0, 4.0])
    assert kernel.k1.k1.constant_value == 2.0, "the kernel itself is unchanged"
    assert PolynomialKernel(coef0=0.0).free == ["gamma"], "zero has no logarithm"


def test_bounds_are_one_pair_or_one_for_each_number():
    pairs = [(0.1, 1.0), (0.2, 2.0), (0.3, 3.0)]
    np.testing.assert_allclose(np.exp(RBF([0.5, 1.0, 2.0], pairs).bounds), pairs)
    np.testing.assert_allclose(np.exp((RBF([0.5, 1.0, 2.0], pairs) * 2.0).bounds), [*pairs, (1e-5, 1e5)])
    for wrong in (pairs[:2], (1.0, 2.0, 3.0), [(2.0, 1.0)]):
        with pytest.raises(ValueError, match="RBF: length_scale_bounds must be 'fixed' or a lowest and a highest"):
            _ = RBF([0.5, 1.0, 2.0], wrong).bounds


def test_exp_sine_squared_gradient_on_a_line():
    line, kernel = X[:, :1], ExpSineSquared(1.5, 2.5)
    assert Exponentiation(kernel, 2.0).theta.tolist() == kernel.theta.tolist()
    _, slopes = peer.ExpSineSquared(1.5, 2.5)(line, eval_gradient=True)
    weights = RNG.normal(size=(30, 30))
    weights += weights.T
    np.testing.assert_allclose(kernel.gradient(line, weights), np.einsum("ij,ijk->k", weights, slopes), atol=1e-10)


def test_clone_and_nested_parameters():
    kernel = 2.0 * RBF(1.0)
    again = clone(kernel).set_params(k2__length_scale=3.0)
    assert again.k2.length_scale == 3.0
    assert kernel.k2.length_scale == 1.0


def test_stationary_says_so():
    assert (RBF() * PeriodicKernel() + 1.0).is_stationary()
    assert not (RBF() + LinearKernel()).is_stationary()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(-1.0), "RBF: length_scale must be a number above 0"),
        (RBF([1.0, 2.0]), "RBF: length_scale must have one number per column, 3; got 2."),
        (PolynomialKernel(degree=0), "PolynomialKernel: degree must be an integer at least 1; got 0."),
        (PeriodicKernel(periodicity="x"), "PeriodicKernel: periodicity must be"),
        (2.0 * ConstantKernel(0.0), "ConstantKernel: constant_value must be a number above 0; got 0.0."),
    ],
)
def test_bad_parameters_are_one_sentence(kernel, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        kernel(X)


def test_only_kernels_and_numbers_combine():
    with pytest.raises(TypeError, match="combined with kernels and positive numbers; got 'a'"):
        RBF() + "a"
