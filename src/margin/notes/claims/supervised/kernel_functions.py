"""Claims about kernels: inner products of features that nobody has to compute."""

from __future__ import annotations

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.foundations.probability.feature_maps import polynomial_features, rbf_taylor_features
from margin.foundations.probability.kernels import gamma_from_length_scale, is_positive_semidefinite, rbf_kernel
from margin.kernels import RBF, SVC, KernelRegression, KernelRidge, LaplaceKernel, PeriodicKernel, PolynomialKernel
from margin.kernels.word_kernel import word_kernel
from margin.notes.claims import claim

ON_GARDENS = [
    "water the roses and cut the hedge in spring",
    "the roses need water and the hedge needs light",
    "spring light wakes the garden and its roses",
]
ON_SAILING = [
    "the boat leaves the harbor under full sail",
    "wind fills the sail and the boat turns",
    "a harbor without wind keeps every boat still",
]


@claim("kernel-function")
def kernels_are_inner_products_of_anything(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(40, 3))
    kernels = (RBF(0.7), LaplaceKernel(), PeriodicKernel(), PolynomialKernel(3), RBF() * LaplaceKernel())
    valid = [is_positive_semidefinite(kernel(X)) for kernel in kernels]
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    not_kernels = [is_positive_semidefinite(G) for G in (np.tanh(2 * X @ X.T - 1), distances)]
    books, topics = ON_GARDENS + ON_SAILING, [0, 0, 0, 1, 1, 1]
    model = SVC(kernel="precomputed", C=10.0).fit(word_kernel(books), topics)
    new = word_kernel(["roses in spring", "sail out of the harbor"], books)
    return every(
        valid=equal(valid, [True] * 5),
        sigmoid_and_distance_are_none=equal(not_kernels, [False, False]),
        books_form_a_gram_matrix=equal(is_positive_semidefinite(word_kernel(books)), True),
        topics=equal(model.predict(new).tolist(), [0, 1]),
    )


@claim("kernel-trick")
def explicit_features_and_kernel_agree(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(60, 2)), rng.normal(size=(20, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1, -1)
    kernel = PolynomialKernel(degree=2, coef0=1.0)
    phi_X, phi_Z = polynomial_features(X, 2), polynomial_features(Z, 2)
    by_kernel, by_features = SVC(kernel=kernel, tol=1e-10).fit(X, y), SVC(kernel="linear", tol=1e-10).fit(phi_X, y)
    ridge_kernel, ridge_features = (
        KernelRidge(0.1, kernel=kernel).fit(X, y),
        KernelRidge(0.1, kernel="linear").fit(phi_X, y),
    )
    weights = np.linalg.solve(phi_X.T @ phi_X + 0.1 * np.eye(6), phi_X.T @ y)  # ridge among the features themselves
    return every(
        gram=near(kernel(X, Z), phi_X @ phi_Z.T, tolerance=1e-12),
        machine=near(by_kernel.decision_function(Z), by_features.decision_function(phi_Z), tolerance=1e-6),
        ridge=near(ridge_kernel.predict(Z), ridge_features.predict(phi_Z), tolerance=1e-9),
        primal_ridge=near(ridge_kernel.predict(Z), phi_Z @ weights, tolerance=1e-9),
    )


@claim("kernel-methods")
def the_plain_sum_is_no_average(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(400, 2)), rng.normal(size=(300, 2))
    ones, labels = np.ones(400), np.where(X[:, 0] > 0, 1.0, -1.0)
    mean = KernelRegression(kernel=RBF(0.5)).fit(X, ones).predict(Z)
    plain = KernelRegression(kernel=RBF(0.5), normalize=False)
    vote = np.sign(plain.fit(X, labels).predict(Z))
    ridge = KernelRidge(1e-3, kernel=RBF(0.5)).fit(X, labels)
    truth = every(
        mean_of_ones=near(mean, np.ones(300), tolerance=1e-12),
        vote=above(float(np.mean(vote == np.sign(Z[:, 0]))), 0.9),
        ridge_weights=above(float(np.mean(np.sign(ridge.predict(Z)) == np.sign(Z[:, 0]))), 0.9),
    )
    return corrected(truth, printed=near(plain.fit(X, ones).predict(Z), np.ones(300), tolerance=0.5))


@claim("polynomial-kernel")
def lower_degrees_need_an_offset(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    spread = np.ptp(X[:, 0])

    def linear_trend(offset: float) -> float:
        """How well x_1, a monomial of degree one, can be represented: the largest error at new rows."""
        model = KernelRidge(1e-9, kernel=PolynomialKernel(degree=2, coef0=offset)).fit(X, X[:, 0])
        return float(np.abs(model.predict(Z) - Z[:, 0]).max())

    features = polynomial_features(X, 2, 0.7) @ polynomial_features(Z, 2, 0.7).T
    grams = [PolynomialKernel(degree, coef0=offset)(X) for degree in (2, 3) for offset in (0.0, 1.0)]
    truth = every(
        gram=near(PolynomialKernel(2, coef0=0.7)(X, Z), features, tolerance=1e-12),
        semidefinite=equal([is_positive_semidefinite(gram) for gram in grams], [True] * 4),
        degree_one_with_offset=below(linear_trend(1.0), 1e-4 * spread),
    )
    return corrected(truth, printed=below(linear_trend(0.0), 1e-4 * spread))


@claim("rbf-kernel")
def two_parameters_called_gamma(seed: int) -> Verdict:
    X = np.random.default_rng(seed).normal(size=(40, 2))
    spirals = load("spirals", n_samples=200, noise=0.02, seed=seed)
    model = SVC(kernel=RBF(0.15), C=100.0).fit(np.asarray(spirals.X), spirals.y)
    scale, gram = 0.8, RBF(0.8)(X)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    truth = every(
        ones=near(np.diag(gram), np.ones(40), tolerance=0.0),
        semidefinite=above(float(np.linalg.eigvalsh(gram)[0]), -1e-12),
        second_form=near(RBF.from_gamma(gamma_from_length_scale(scale))(X), gram, tolerance=1e-12),
        formula=near(gram, np.exp(-distances / (2 * scale**2)), tolerance=1e-12),
        as_function=near(rbf_kernel(X, X[:7], scale), gram[:, :7], tolerance=1e-12),
        spirals=above(model.score(np.asarray(spirals.X), spirals.y), 0.95),
    )
    return corrected(truth, printed=near(np.exp(-scale * distances), gram, tolerance=1e-3))


@claim("claim-gaussian-kernel-infinite-dimensional")
def taylor_features_approach_the_gaussian(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, size=(20, 2))
    errors = []
    for order in (2, 5, 10, 20):
        phi = rbf_taylor_features(X, order)
        errors.append(float(np.abs(phi @ phi.T - RBF(1.0)(X)).max()))
    ranks = [int(np.linalg.matrix_rank(RBF(0.1)(np.linspace(0, 1, n)[:, None]))) for n in (3, 6, 9)]
    return every(
        falling=equal(errors == sorted(errors, reverse=True), True),
        last=below(errors[-1], 1e-8),
        as_many_dimensions_as_points=equal(ranks, [3, 6, 9]),
    )
