"""What fitted kernel machines and Gaussian processes hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import (
    Array,
    Count,
    Either,
    Form,
    Items,
    Model,
    Real,
    Sizes,
    Sparse,
    Stored,
    Text,
    Violation,
)

__all__ = ["FORMS"]

KERNEL = Either(Model(["diag"]), Text(("precomputed",)))
ROWS = Either(Array("n_support", "n_features"), Array(0, 0), Sparse("n_support", "n_features"))
FITTED_ROWS = Either(Array("n_samples", "n_features"), Sparse("n_samples", "n_features"))
PER_MACHINE = Either(Real(), Array(None, finite=False))
MACHINE: dict[str, Stored] = {
    "kernel_": KERNEL,
    "support_": Array("n_support", kind="i", low=0),
    "support_vectors_": ROWS,
    "intercept_": Array("n_machines"),
    "objective_": PER_MACHINE,
    "gap_": PER_MACHINE,
    "violation_": PER_MACHINE,
    "n_iter_": Either(Count(), Array(None, kind="i", low=0)),
    "margin_": PER_MACHINE,
    "fit_status_": Count(),
    "shape_fit_": Items(Count()),
}
CLASSIFIER: dict[str, Stored] = {
    **MACHINE,
    "classes_": Array("n_classes", kind="labels"),
    "n_support_": Array("n_classes", kind="i", low=0),
    "dual_coef_": Array(None, "n_support"),
    "sigmoids_": Array("n_machines", 2, finite=False),
    "class_weight_": Array("n_classes"),
}
GAUSSIAN: dict[str, Stored] = {
    "kernel_": Model(["diag"]),
    "y_mean_": Either(Real(finite=True), Array("n_targets")),
    "y_std_": Either(Real(finite=True), Array("n_targets")),
    "jitter_": Real(finite=True),
    "noise_": Either(Real(), Array("n_targets")),
    "log_marginal_likelihood_value_": Real(),
    "bound_": Real(),
    "n_iter_": Count(),
}


def _pairs_of_classes(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "dual_coef_" not in model:
        return
    k = sizes["n_classes"]
    if len(model["dual_coef_"]) != max(k - 1, 1) or int(model["n_support_"].sum()) != sizes["n_support"]:
        raise Violation("dual_coef_ and n_support_ must fit the number of classes and support vectors")
    if sizes["n_machines"] != k * (k - 1) // 2:
        raise Violation("intercept_ must have one entry per pair of classes")


def _latent_functions(model: Mapping[str, Any], sizes: Sizes) -> None:
    k, machines = sizes["n_classes"], sizes["n_machines"]
    if machines not in ((1,) if k == 2 else (k, k * (k - 1) // 2)):
        raise Violation("kernels_ must have one entry per class or per pair of classes")
    parts = zip(model["train_rows_"], model["dual_weights_"], model["root_weights_"], model["factors_"])
    for rows, weights, roots, factor in parts:
        n = len(rows)
        if len(weights) != n or len(roots) != n or factor.shape != (n, n):
            raise Violation("dual_weights_, root_weights_ and factors_ must have an entry per row of train_rows_")
        if n and int(rows.max()) >= sizes["n_samples"]:
            raise Violation("train_rows_ must be rows of X_train_")


FORMS: Mapping[str, Form] = {
    "SVC": Form(CLASSIFIER, [_pairs_of_classes]),
    "HardMarginSVC": Form(CLASSIFIER, [_pairs_of_classes]),
    "SVR": Form({**MACHINE, "dual_coef_": Array(1, "n_support")}),
    "LinearSVC": Form(
        {
            **MACHINE,
            "classes_": Array("n_classes", kind="labels"),
            "coef_": Array("n_machines", "n_features"),
            "dual_coef_": Array(...),
        }
    ),
    "KernelRidge": Form(
        {
            "kernel_": KERNEL,
            "X_fit_": FITTED_ROWS,
            "dual_coef_": Either(Array("n_samples"), Array("n_samples", None)),
        }
    ),
    "KernelRegression": Form(
        {
            "kernel_": KERNEL,
            "X_fit_": FITTED_ROWS,
            "y_fit_": Either(Array("n_samples"), Array("n_samples", None)),
            "weights_": Array("n_samples"),
        }
    ),
    "GaussianProcessRegressor": Form(
        {
            **GAUSSIAN,
            "X_train_": Array("n_samples", "n_features"),
            "y_train_": Either(Array("n_samples"), Array("n_samples", "n_targets")),
            "train_noise_": Either(Real(finite=True), Array("n_samples")),
            "L_": Array("n_samples", "n_samples"),
            "alpha_": Either(Array("n_samples"), Array("n_samples", "n_targets")),
        }
    ),
    "GaussianProcessClassifier": Form(
        {
            **GAUSSIAN,
            "classes_": Array("n_classes", kind="labels"),
            "X_train_": Array("n_samples", "n_features"),
            "kernels_": Items(Model(["diag"]), "n_machines"),
            "train_rows_": Items(Array(None, kind="i", low=0), "n_machines"),
            "dual_weights_": Items(Array(None), "n_machines"),
            "root_weights_": Items(Array(None), "n_machines"),
            "factors_": Items(Array(None, None), "n_machines"),
            "log_marginal_likelihoods_": Items(Real(), "n_machines"),
        },
        [_latent_functions],
    ),
    "SparseGaussianProcessRegressor": Form(
        {
            **GAUSSIAN,
            "inducing_points_": Array("n_inducing", "n_features"),
            "L_": Array("n_inducing", "n_inducing"),
            "B_factor_": Array("n_inducing", "n_inducing"),
            "weights_": Either(Array("n_inducing"), Array("n_inducing", "n_targets")),
        }
    ),
    **{
        name: Form({})
        for name in (
            "ConstantKernel",
            "DotProduct",
            "ExpSineSquared",
            "Exponentiation",
            "LaplaceKernel",
            "LinearKernel",
            "Matern",
            "PeriodicKernel",
            "PolynomialKernel",
            "Product",
            "RBF",
            "RationalQuadratic",
            "Sum",
            "WhiteKernel",
        )
    },
}
