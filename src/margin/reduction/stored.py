"""What fitted projections and embeddings hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import Array, Count, Form, Real, Sizes, Stored, Text, Violation, optional

__all__ = ["FORMS"]

EMBEDDED: dict[str, Stored] = {
    "X_fit_": optional(Array("n_samples", "n_features")),
    "embedding_": Array("n_samples", "n_components"),
    "n_iter_": Count(),
}


def _enough_rows(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "X_fit_" in model and (model.get("n_neighbors") or 0) > sizes["n_samples"]:
        raise Violation("n_neighbors must be at most the number of rows that are stored")


FORMS: Mapping[str, Form] = {
    "PCA": Form(
        {
            "components_": Array("n_components", "n_features"),
            "explained_variance_": Array("n_components"),
            "explained_variance_ratio_": Array("n_components", finite=False),
            "singular_values_": Array("n_components"),
            "mean_": Array("n_features"),
            "noise_variance_": Real(finite=True),
            "n_components_": Count(size="n_components"),
            "n_samples_": Count(),
            "svd_solver_": Text(),
        }
    ),
    "FastICA": Form(
        {
            "mean_": Array("n_features"),
            "whitening_": Array("n_components", "n_features"),
            "components_": Array("n_components", "n_features"),
            "mixing_": Array("n_features", "n_components"),
            "n_iter_": Count(),
        }
    ),
    "CorrespondenceAnalysis": Form(
        {
            "row_coordinates_": Array("n_samples", "n_components"),
            "column_coordinates_": Array("n_features", "n_components"),
            "singular_values_": Array("n_components"),
            "inertia_": Real(),
            "row_masses_": Array("n_samples"),
            "column_masses_": Array("n_features"),
            "explained_inertia_ratio_": Array("n_components", finite=False),
        }
    ),
    "MDS": Form({**EMBEDDED, "stress_": Real(), "mean_squares_": Array("n_samples"), "eigenvalues_": Array(None)}),
    "Isomap": Form(
        {
            **EMBEDDED,
            "eigenvalues_": Array("n_components"),
            "dist_matrix_": Array("n_samples", "n_samples"),
            "n_parts_": Count(),
        },
        [_enough_rows],
    ),
    "TSNE": Form({**EMBEDDED, "kl_divergence_": Real()}),
    "UMAP": Form(EMBEDDED, [_enough_rows]),
}
