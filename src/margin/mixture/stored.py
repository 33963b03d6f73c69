"""What a fitted mixture holds."""

from __future__ import annotations

from collections.abc import Mapping

from margin.core.invariants import ArrayOf, Count, Form, OneOf, Real, TrueOrFalse, sometimes

__all__ = ["FORMS"]

FORMS: Mapping[str, Form] = {
    "GaussianMixture": Form(
        {
            "weights_": ArrayOf("n_components", low=0),
            "means_": ArrayOf("n_components", "n_features"),
            # One form per covariance_type: full, tied, diag, spherical.
            "covariances_": OneOf(
                ArrayOf("n_components", "n_features", "n_features"),
                ArrayOf("n_features", "n_features"),
                ArrayOf("n_components", "n_features"),
                ArrayOf("n_components"),
            ),
            "log_likelihood_": Real(),
            "lower_bound_": sometimes(Real()),
            "converged_": TrueOrFalse(),
            "lower_bounds_": ArrayOf("n_iterations"),
            "n_iter_": Count(),
        },
        may_be_empty=["n_iterations"],
    )
}
