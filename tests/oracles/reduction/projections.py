"""Reductions against scikit-learn's, on rows whose columns are shifted and of unlike size."""

from __future__ import annotations

import numpy as np
from sklearn import decomposition, manifold
from tests.oracles import oracle

from margin import reduction as ours
from margin.core.verdict import Verdict, every, near


def rows(seed: int, n: int = 40) -> np.ndarray:
    rng = np.random.default_rng([seed, 14])
    return rng.normal(size=(n, 4)) * [3.0, 1.0, 0.4, 2.0] @ rng.normal(size=(4, 4)) + [5.0, -1.0, 0.0, 2.0]


def same_up_to_sign(a: np.ndarray, b: np.ndarray, tolerance: float) -> Verdict:
    """Columns of an embedding are equal or each other's mirror image."""
    return near(a * np.sign(np.sum(a * b, axis=0)), b, tolerance=tolerance)


@oracle("margin.reduction.PCA")
def pca(seed: int) -> Verdict:
    X, fresh = rows(seed), rows(seed + 100, 7)
    parts = {}
    for whiten in (False, True):
        for solver in ("full", "covariance_eigh"):
            model, theirs = (m(2, whiten=whiten, svd_solver=solver).fit(X) for m in (ours.PCA, decomposition.PCA))
            key = f"{solver}_{whiten}"
            parts[f"transformed_{key}"] = same_up_to_sign(model.transform(fresh), theirs.transform(fresh), 1e-8)
            back = [m.inverse_transform(m.transform(fresh)) for m in (model, theirs)]
            parts[f"back_{key}"] = near(back[0], back[1], tolerance=1e-8)
            parts[f"variance_{key}"] = near(model.explained_variance_, theirs.explained_variance_, tolerance=1e-8)
            parts[f"ratio_{key}"] = near(
                model.explained_variance_ratio_, theirs.explained_variance_ratio_, tolerance=1e-10
            )
            parts[f"singular_{key}"] = near(model.singular_values_, theirs.singular_values_, tolerance=1e-8)
            parts[f"noise_{key}"] = near(model.noise_variance_, theirs.noise_variance_, tolerance=1e-8)
            if not whiten:  # whitening does not change the law of the rows, and scikit-learn's density then does
                parts[f"density_{key}"] = near(model.score_samples(fresh), theirs.score_samples(fresh), tolerance=1e-6)
    return every(**parts)


@oracle("margin.reduction.Isomap")
def isomap(seed: int) -> Verdict:
    X, fresh = rows(seed, 60), rows(seed + 100, 5)
    model, theirs = (m(n_neighbors=6, n_components=2).fit(X) for m in (ours.Isomap, manifold.Isomap))
    by_signs = np.sign(np.sum(model.embedding_ * theirs.embedding_, axis=0))
    return every(
        embedding=same_up_to_sign(model.embedding_, theirs.embedding_, 1e-4),
        fresh=near(model.transform(fresh) * by_signs, theirs.transform(fresh), tolerance=1e-4),
        distances=near(model.dist_matrix_, theirs.dist_matrix_, tolerance=1e-5),
    )


@oracle("margin.reduction.principal_components")
def components_by_both_ways(seed: int) -> Verdict:
    X = rows(seed)
    parts: dict[str, Verdict] = {}
    for name, table in (("tall", X), ("wide", X[:3])):
        values, vectors = np.linalg.eigh(np.cov(table.T))
        most = min(table.shape)
        for solver in ("auto", "full", "covariance_eigh"):
            principal = ours.principal_components(table, solver=solver, ddof=1)
            count = len(principal.variances) - (name == "wide")  # three rows span two directions
            parts |= {
                f"{name}_{solver}": near(principal.variances, values[::-1][:most], tolerance=1e-6),
                f"{name}_{solver}_total": near(principal.total_variance, values.sum(), tolerance=1e-6),
                f"{name}_{solver}_mean": near(principal.mean, table.mean(axis=0), tolerance=1e-9),
                f"{name}_{solver}_vectors": near(
                    np.abs(np.sum(principal.components[:count] * vectors.T[::-1][:count], axis=1)),
                    np.ones(count),
                    tolerance=1e-6,
                ),
            }
    two = ours.principal_components(X, 2)
    share = two.variances / two.total_variance
    fewer = ours.principal_components(X, fraction=float(share[0]) + 0.5 * float(share[1]))
    return every(
        **parts,
        divisor=near(two.variances, np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1][:2], tolerance=1e-8),
        fewer=near(len(fewer.variances), 2, tolerance=0),
        signs=near((two.components == np.abs(two.components).max(axis=1)[:, None]).any(axis=1).sum(), 2, tolerance=0),
    )
