"""Codes made by hand and by linear networks, against principal component analysis."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near, raises
from margin.notes.claims import claim


def plane(rng: np.random.Generator, n: int, noise: float, columns: int = 5) -> np.ndarray:
    """Rows near a plane through the origin of the given number of columns, centered."""
    axes = np.linalg.qr(rng.normal(size=(columns, 2)))[0].T
    rows = rng.normal(size=(n, 2)) * [2.0, 1.2] @ axes + noise * rng.normal(size=(n, columns))
    return rows - rows.mean(axis=0)


def train_network(X: np.ndarray, n_components: int, seed: int, **options: Any) -> Any:
    """A linear autoencoder at its optimum."""
    from margin.generative import Autoencoder

    model = Autoencoder(n_components, (), solver="lbfgs", max_iter=1000, tol=1e-6, standardize=False, random_state=seed)
    return model.set_params(**options).fit(X)


def pca_error(X: np.ndarray, k: int) -> float:
    """Squared error per row of the best affine map through k coordinates: the discarded variance."""
    return float(np.linalg.eigvalsh(np.cov(X.T, bias=True))[: X.shape[1] - k].sum())


@claim("autoencoder")
def an_autoencoder_restores_rows_and_is_no_distribution(seed: int) -> Verdict:
    from margin.generative import Autoencoder

    X = plane(np.random.default_rng(seed), 300, 0.2) + 1.0
    errors = {k: -train_network(X, k, seed).score(X) for k in (1, 2, 3)}
    bent = Autoencoder(2, (16,), solver="lbfgs", max_iter=100, random_state=seed)
    losses = bent.fit(X).loss_curve_
    truth = every(
        shapes=equal((bent.encode(X).shape, bent.reconstruct(X).shape), ((300, 2), (300, 5))),
        error_falls_with_the_code=equal(errors[1] > errors[2] > errors[3], True),
        linear_equals_pca=near([errors[k] / pca_error(X, k) for k in errors], np.ones(3), tolerance=0.01),
        loss_falls=below(losses[-1], 0.7 * losses[0]),
        better_than_the_mean=below(-bent.score(X), 0.5 * float(X.var(axis=0).sum())),
    )
    # Were exp(-error) a density, up to a factor, its mass would be used up at some distance from the rows.
    plain = train_network(X, 2, seed)
    growth = _mass_of_errors(plain, X, 40.0) / _mass_of_errors(plain, X, 20.0)
    return corrected(truth, printed=near(growth, 1.0, tolerance=0.5))


def _mass_of_errors(model: Any, X: np.ndarray, radius: float) -> float:
    """The integral of exp(-squared error) over a square of the plane that the rows lie in."""
    axes = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
    side = np.linspace(-radius, radius, 41)
    points = X.mean(axis=0) + np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2) @ axes
    errors = np.square(points - model.reconstruct(points)).sum(axis=1)
    return float(np.exp(-errors).mean() * (2 * radius) ** 2)


@claim("latent-space")
def the_code_loses_nothing_if_it_has_the_dimension_of_the_data(seed: int) -> Verdict:
    from margin.generative import Autoencoder

    X = plane(np.random.default_rng(seed), 200, 0.0, columns=4)
    losses = {k: -train_network(X, k, seed).score(X) / X.var(axis=0).sum() for k in (1, 2, 3)}
    angle = np.random.default_rng([seed, 1]).uniform(-2.5, 2.5, size=300)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0.5 * angle])  # a curve: one coordinate, no line
    bent = Autoencoder(1, (16,), activation="tanh", solver="lbfgs", max_iter=100, standardize=False, random_state=seed)
    curved = -bent.fit(circle).score(circle) / circle.var(axis=0).sum()
    return every(
        one_coordinate_is_lossy=above(losses[1], 0.1),
        two_are_enough=below(losses[2], 1e-6),
        three_are_too=below(losses[3], 1e-6),
        a_curve_needs_one=below(curved, 0.5 * pca_error(circle, 1) / float(circle.var(axis=0).sum())),
    )


@claim("example-autoencoder-disc")
def codes_made_by_hand_on_a_disc(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    box = rng.uniform(-1, 1, size=(200_000, 2)) * [np.sqrt(0.5), 1.0]
    a, b = box[2 * box[:, 0] ** 2 + box[:, 1] ** 2 <= 1].T
    X = np.column_stack([a, a, b])
    two, one = X[:, [0, 0, 2]], X[:, [0, 0, 0]]
    few = X[:500]
    return every(
        two_coordinates_lose_nothing=near(two, X, tolerance=0.0),
        one_coordinate=near(np.square(one - X).sum(axis=1), (b - a) ** 2, tolerance=1e-12),
        number=near(float(np.mean((b - a) ** 2)), 3 / 8, tolerance=0.005),
        trained=below(-train_network(few, 2, seed).score(few), 1e-6),
    )


@claim("undercomplete-autoencoder")
def the_error_falls_to_the_noise_at_the_dimension_of_the_plane(seed: int) -> Verdict:
    import warnings

    X = plane(np.random.default_rng(seed), 400, 0.1)
    errors = [-train_network(X, k, seed).score(X) for k in (1, 2)]

    def copying() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            train_network(X, 5, seed)

    return every(
        above_the_noise=above(errors[0], 10 * 3 * 0.1**2),
        at_the_noise=near(errors[1] / (3 * 0.1**2), 1.0, tolerance=0.2),  # three directions without signal
        a_code_that_can_copy_is_remarked_on=raises(UserWarning, copying, match="can copy"),
    )


def span(model: Any) -> np.ndarray:
    """Directions of the decoder, one per row."""
    k = model.network_["n_components"]
    return model.decode(np.eye(k)) - model.decode(np.zeros((k, k)))


def largest_angle(first: np.ndarray, second: np.ndarray) -> float:
    from scipy.linalg import subspace_angles

    return float(np.degrees(subspace_angles(first.T, second.T)).max())


def largest_turn(rows: np.ndarray, axes: np.ndarray) -> float:
    """Degrees between the row that lies farthest from all axes and the one nearest to it."""
    cosines = np.abs(rows @ axes.T) / np.linalg.norm(rows, axis=1, keepdims=True)
    return float(np.degrees(np.arccos(np.minimum(cosines.max(axis=1), 1.0))).max())


@claim("claim-linear-autoencoder-spans-pca")
def a_linear_code_spans_the_principal_subspace(seed: int) -> Verdict:
    from margin.reduction import PCA

    X = plane(np.random.default_rng(seed), 300, 0.3)
    components = PCA(n_components=2).fit(X).components_
    model = train_network(X, 2, seed)
    rows, elsewhere = span(model), span(train_network(X + 1.0, 2, seed + 1))
    turned = max(largest_turn(rows, components), largest_turn(elsewhere, components))
    # Without biases the optimum is the singular subspace of the rows as they are, which the mean dominates.
    shifted = np.linalg.svd(X + 10.0, full_matrices=False)[2][:2]
    uncentered = largest_angle(shifted, components)
    truth = every(
        angle=below(largest_angle(rows, components), 0.1),
        error_is_the_discarded_variance=near(-model.score(X) / pca_error(X, 2), 1.0, tolerance=1e-4),
        with_biases_a_shift_is_no_matter=below(largest_angle(elsewhere, components), 0.1),
        axes_differ=above(turned, 0.1),  # one of two starts may end at the axes by chance
    )
    return corrected(truth, printed=below(uncentered, 0.1))


@cache
def few_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = plane(np.random.default_rng(seed), 240, 0.5, columns=10)
    return X[:40], X[40:]


@claim("claim-pca-vs-autoencoder")
def pca_is_uncorrelated_and_an_oversized_autoencoder_overfits(seed: int) -> Verdict:
    from margin.generative import Autoencoder
    from margin.reduction import PCA

    train, test = few_rows(seed)
    pca = PCA(n_components=2).fit(train)
    covariance = np.cov(pca.transform(train).T)
    linear = train_network(train, 2, seed)
    codes = np.corrcoef(linear.encode(train).T)
    large = Autoencoder(2, (64,), solver="lbfgs", max_iter=120, standardize=False, random_state=seed).fit(train)

    def gap(restore: Any) -> float:
        errors = [float(np.square(rows - restore(rows)).sum(axis=1).mean()) for rows in (test, train)]
        return errors[0] / errors[1]

    turn = np.array([[math.cos(0.5), math.sin(0.5)], [-math.sin(0.5), math.cos(0.5)]])
    turned = np.corrcoef((pca.transform(train) @ turn).T)[0, 1]  # other directions of the same plane, as orthogonal
    truth = every(
        pca_scores_are_uncorrelated=below(abs(float(covariance[0, 1])), 1e-10),
        codes_are_not=above(abs(float(codes[0, 1])), 1e-6),  # any number may come out, but not a zero by rounding
        linear_reaches_pca=near(-linear.score(train) / pca_error(train, 2), 1.0, tolerance=1e-3),
        oversized_overfits=above(gap(large.reconstruct), 1.3 * gap(lambda X: pca.inverse_transform(pca.transform(X)))),
    )
    return corrected(truth, orthogonal_is_uncorrelated=near(float(turned), 0.0, tolerance=0.02))
