"""What fitted projections and embeddings hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import ArrayOf, Count, Form, Real, Sizes, Stored, StringOf, Violation, optional, sometimes

__all__ = ["FORMS"]

EMBEDDED: dict[str, Stored] = {
    "X_fit_": optional(ArrayOf("n_samples", "n_features")),
    "embedding_": ArrayOf("n_samples", "n_components"),
    "n_iter_": Count(),
}


def _enough_rows(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "X_fit_" in model and (model.get("n_neighbors") or 0) > sizes["n_samples"]:
        raise Violation("n_neighbors must be at most the number of rows that are stored")


FORMS: Mapping[str, Form] = {
    "PCA": Form(
        {
            "components_": ArrayOf("n_components", "n_features"),
            "explained_variance_": ArrayOf("n_components"),
            "explained_variance_ratio_": ArrayOf("n_components", finite=False),
            "singular_values_": ArrayOf("n_components"),
            "mean_": ArrayOf("n_features"),
            "noise_variance_": Real(finite=True),
            "n_components_": Count(size="n_components"),
            "n_samples_": Count(),
            "svd_solver_": StringOf(),
        }
    ),
    "FastICA": Form(
        {
            "mean_": sometimes(ArrayOf("n_features")),
            "whitening_": sometimes(ArrayOf("n_components", "n_features")),
            "components_": ArrayOf("n_components", "n_features"),
            "mixing_": ArrayOf("n_features", "n_components"),
            "n_iter_": Count(),
        }
    ),
    "CorrespondenceAnalysis": Form(
        {
            "row_coordinates_": ArrayOf("n_samples", "n_components"),
            "column_coordinates_": ArrayOf("n_features", "n_components"),
            "singular_values_": ArrayOf("n_components"),
            "inertia_": Real(),
            "row_masses_": ArrayOf("n_samples"),
            "column_masses_": ArrayOf("n_features"),
            "explained_inertia_ratio_": ArrayOf("n_components", finite=False),
        }
    ),
    "MDS": Form(
        {
            **EMBEDDED,
            "stress_": Real(),
            "dissimilarity_matrix_": ArrayOf("n_samples", "n_samples"),
            "mean_squares_": sometimes(ArrayOf("n_samples")),
            "knots_": sometimes(ArrayOf("n_knots")),
            "heights_": sometimes(ArrayOf("n_knots")),
        }
    ),
    "Isomap": Form(
        {
            **EMBEDDED,
            "n_iter_": sometimes(Count()),
            "eigenvalues_": ArrayOf("n_components"),
            "dist_matrix_": ArrayOf("n_samples", "n_samples"),
            "n_parts_": Count(),
        },
        [_enough_rows],
    ),
    "TSNE": Form({**EMBEDDED, "kl_divergence_": Real(), "learning_rate_": Real()}),
    "UMAP": Form(EMBEDDED, [_enough_rows]),
}
