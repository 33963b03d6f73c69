"""Principal components: most variance, orthogonal to one another, from centered rows, and precisely by the SVD."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA as Reference

from margin.core.verdict import Verdict, above, below, corrected, equal, every, near
from margin.data import load
from margin.notes.claims import claim
from margin.reduction import PCA, principal_components, projected_variance


def _unit(rng: np.random.Generator, p: int, count: int) -> np.ndarray:
    vectors = rng.normal(size=(p, count))
    return vectors / np.linalg.norm(vectors, axis=0)


@claim("projected-variance")
def variance_along_a_direction_is_a_quadratic_form(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6)) + 5, _unit(rng, 6, 20)
    model, size = PCA().fit(X), np.var(X @ u, axis=0).max()
    along = projected_variance(X, model.components_.T)
    return every(
        directions=near(projected_variance(X, u), np.var(X @ u, axis=0), tolerance=1e-12 * size),
        as_run=near(along * len(X) / (len(X) - 1), model.explained_variance_, tolerance=1e-9 * size),
    )


@claim("principal-component-analysis")
def components_are_eigenvectors_of_the_covariance(seed: int) -> Verdict:
    """The printed recursion forgets orthogonality (every step finds the first direction again) and the mean."""
    rng = np.random.default_rng(seed)
    X = np.asarray(load("wine").X)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model, theirs = PCA(3).fit(X), Reference(3, svd_solver="full").fit(X)
    S, principal = np.cov(X.T, bias=True), principal_components(X, 3)
    again = principal_components(X, 1).components[0]  # the printed second step: same problem, unit length only
    shifted = X + 20
    first_uncentered = np.linalg.svd(shifted, full_matrices=False)[2][0]
    return corrected(
        every(
            eigenvectors=near(
                S @ principal.components.T, principal.components.T * principal.variances, tolerance=1e-12
            ),
            as_scikit_learn=near(model.transform(X), theirs.transform(X), tolerance=1e-10),
            orthonormal=near(model.components_ @ model.components_.T, np.eye(3), tolerance=1e-12),
            nothing_larger=below(projected_variance(X, _unit(rng, 13, 10_000)).max(), principal.variances[0]),
            uncentered_finds_the_mean=above(abs(first_uncentered @ np.ones(13)) / np.sqrt(13), 0.99),
            reduced=equal(model.transform(X).shape, (len(X), 3)),
        ),
        unit_length_is_enough=near(again @ principal.components[0], 0.0, tolerance=0.5),
        without_centering=near(abs(first_uncentered @ principal.components[0]), 1.0, tolerance=0.1),
    )


@claim("claim-pca-maximises-projected-variance")
def no_frame_has_more_projected_variance(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 8)) @ rng.normal(size=(8, 8))
    best = principal_components(X, 3).variances.sum()
    frames = np.linalg.qr(rng.normal(size=(1000, 8, 3)))[0]
    others = np.array([projected_variance(X, frame).sum() for frame in frames])
    return every(largest=above(best - others.max(), 0.0), many=equal(len(others), 1000))


@claim("pca-by-svd")
def right_singular_vectors_are_principal_directions_of_centered_rows(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + [9, 0, 0, 0, 0]
    centered, n = X - X.mean(axis=0), len(X)
    U, singular, _ = np.linalg.svd(centered, full_matrices=False)
    by = {solver: principal_components(X, 5, solver=solver) for solver in ("full", "covariance_eigh")}
    return corrected(
        every(
            same_directions=near(by["full"].components, by["covariance_eigh"].components, tolerance=1e-10),
            variances=near(by["covariance_eigh"].variances, singular**2 / n, tolerance=1e-12 * singular[0] ** 2),
            estimator=near(np.abs(PCA().fit_transform(X)), np.abs(U * singular), tolerance=1e-10 * singular[0]),
            explained=near(PCA().fit(X).explained_variance_, singular**2 / (n - 1), tolerance=1e-10 * singular[0] ** 2),
            left=near(centered @ (centered.T @ U), U * singular**2, tolerance=1e-11 * singular[0] ** 2),
        ),
        without_the_factor=near(centered.T @ centered, np.cov(X.T, bias=True), tolerance=1.0),
        without_centering=near(X.T @ X / n, np.cov(X.T, bias=True), tolerance=1.0),
    )


@claim("claim-svd-more-precise-than-covariance")
def a_gram_matrix_loses_small_singular_values() -> Verdict:
    """Rows of Lauchli's matrix, mirrored so that they are centered: sqrt(2) times its singular values."""
    small = 1e-9
    half = np.array([[1.0, 1.0], [small, 0.0], [0.0, small]])
    X = np.vstack([half, -half])
    smallest = {
        s: np.sqrt(principal_components(X, solver=s).variances * len(X) / 2)[1]
        for s in ("full", "covariance_eigh", "auto")
    }
    return every(
        svd=near(smallest["full"], small, tolerance=1e-3 * small),
        through_the_gram_matrix=equal(bool(abs(smallest["covariance_eigh"] - small) < 0.5 * small), False),
        automatic=near(smallest["auto"], small, tolerance=1e-3 * small),
    )


@claim("claim-eigendecomposition-slower-than-svd")
def for_tall_tables_the_gram_matrix_is_less_work(seed: int) -> Verdict:
    """Multiplications by the textbook: a product of p^2 n, then a problem of size p whatever n is; the singular value
    decomposition begins with a QR factorization of the table, which alone is twice that."""
    X = np.random.default_rng(seed).normal(size=(8000, 60)) * np.linspace(1, 3, 60)
    (n, p), mean = X.shape, X.mean(axis=0)
    by_solver = {solver: principal_components(X, 10, solver=solver) for solver in ("covariance_eigh", "full")}
    S = sum((part - mean).T @ (part - mean) for part in np.array_split(X, 9))  # every row is read once, in any chunks
    values, vectors = np.linalg.eigh(S / n)
    directions = vectors[:, :-11:-1].T
    work = {"eigh": n * p**2 + 9 * p**3, "svd": 2 * n * p**2 + 11 * p**3}
    return corrected(
        every(
            same_components=near(by_solver["covariance_eigh"].components, by_solver["full"].components, tolerance=1e-8),
            gram_matrix_is_enough=near(
                np.abs(directions), np.abs(by_solver["covariance_eigh"].components), tolerance=1e-8
            ),
            variances=near(values[::-1][:10], by_solver["full"].variances, tolerance=1e-8),
            times_the_work=above(work["svd"] / work["eigh"], 1.9),
        ),
        printed=below(work["svd"], work["eigh"]),
    )
