"""What a fitted mixture holds."""

from __future__ import annotations

from collections.abc import Mapping

from margin.core.invariants import Array, Count, Either, Flag, Form, Real

__all__ = ["FORMS"]

FORMS: Mapping[str, Form] = {
    "GaussianMixture": Form(
        {
            "weights_": Array("n_components", low=0),
            "means_": Array("n_components", "n_features"),
            # One form per covariance_type: full, tied, diag, spherical.
            "covariances_": Either(
                Array("n_components", "n_features", "n_features"),
                Array("n_features", "n_features"),
                Array("n_components", "n_features"),
                Array("n_components"),
            ),
            "log_likelihood_": Real(),
            "lower_bound_": Real(),
            "converged_": Flag(),
            "n_iter_": Count(),
        }
    )
}
