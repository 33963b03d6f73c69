"""What a fitted clustering holds."""

from __future__ import annotations

from collections.abc import Mapping

from margin.core.invariants import ArrayOf, Count, Form, Real

__all__ = ["FORMS"]

FORMS: Mapping[str, Form] = {
    "KMeans": Form(
        {
            "cluster_centers_": ArrayOf("n_clusters", "n_features"),
            "labels_": ArrayOf(None, kind="i", low=0, below="n_clusters"),
            "inertia_": Real(),
            "n_iter_": Count(),
        }
    )
}
