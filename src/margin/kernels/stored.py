"""What fitted kernel machines and Gaussian processes hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import (
    ArrayOf,
    Count,
    Form,
    ListOf,
    ModelWith,
    OneOf,
    Real,
    Sizes,
    SparseOf,
    Stored,
    StringOf,
    Violation,
    sometimes,
)

__all__ = ["FORMS"]

KERNEL = OneOf(ModelWith(["diag"]), StringOf(("precomputed",)))
ROWS = OneOf(ArrayOf("n_support", "n_features"), ArrayOf(0, 0), SparseOf("n_support", "n_features"))
FITTED_ROWS = OneOf(ArrayOf("n_samples", "n_features"), SparseOf("n_samples", "n_features"))
PER_MACHINE = OneOf(Real(), ArrayOf(None, finite=False))
MACHINE: dict[str, Stored] = {
    "kernel_": KERNEL,
    "support_": ArrayOf("n_support", kind="i", low=0),
    "support_vectors_": ROWS,
    "intercept_": ArrayOf("n_machines"),
    "objective_": PER_MACHINE,
    "gap_": PER_MACHINE,
    "violation_": PER_MACHINE,
    "n_iter_": OneOf(Count(), ArrayOf(None, kind="i", low=0)),
    "margin_": sometimes(PER_MACHINE),
    "fit_status_": Count(),
    "shape_fit_": ListOf(Count()),
}
CLASSIFIER: dict[str, Stored] = {
    **MACHINE,
    "classes_": ArrayOf("n_classes", kind="labels"),
    "n_support_": ArrayOf("n_classes", kind="i", low=0),
    "dual_coef_": OneOf(ArrayOf("n_lines", "n_support"), SparseOf("n_lines", "n_support")),
    "sigmoids_": sometimes(ArrayOf("n_machines", 2, finite=False)),
    "class_weight_": sometimes(ArrayOf("n_classes")),
}
GAUSSIAN: dict[str, Stored] = {
    "kernel_": ModelWith(["diag"]),
    "y_mean_": OneOf(Real(finite=True), ArrayOf("n_targets")),
    "y_std_": OneOf(Real(finite=True), ArrayOf("n_targets")),
    "jitter_": Real(finite=True),
    "noise_": sometimes(OneOf(Real(), ArrayOf("n_targets"))),
    "log_marginal_likelihood_value_": sometimes(Real()),
    "bound_": sometimes(Real()),
    "n_iter_": Count(),
}


def _pairs_of_classes(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "dual_coef_" not in model:
        return
    k = sizes["n_classes"]
    _every_coefficient(model, sizes)
    if sizes["n_lines"] != max(k - 1, 1) or int(model["n_support_"].sum()) != sizes["n_support"]:
        raise Violation("dual_coef_ and n_support_ must fit the number of classes and support vectors")
    if sizes["n_machines"] != k * (k - 1) // 2:
        raise Violation("intercept_ must have one entry per pair of classes")


def _every_coefficient(model: Mapping[str, Any], _sizes: Sizes) -> None:
    """Sparse coefficients are written out before use: a file may not ask for more than it holds."""
    coef = model.get("dual_coef_")
    if coef is not None and coef.size != coef.shape[0] * coef.shape[1]:
        raise Violation("dual_coef_ must store every coefficient")


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
    "SVC": Form(CLASSIFIER, [_pairs_of_classes], may_be_empty=["n_support"]),
    "HardMarginSVC": Form(CLASSIFIER, [_pairs_of_classes], may_be_empty=["n_support"]),
    "SVR": Form(
        {**MACHINE, "dual_coef_": OneOf(ArrayOf(1, "n_support"), SparseOf(1, "n_support"))},
        [_every_coefficient],
        may_be_empty=["n_support"],
    ),
    "LinearSVC": Form(
        {
            **{name: sometimes(stored) for name, stored in MACHINE.items()},
            "intercept_": MACHINE["intercept_"],
            "classes_": ArrayOf("n_classes", kind="labels"),
            "coef_": OneOf(ArrayOf("n_machines", "n_features"), SparseOf("n_machines", "n_features")),
            "dual_coef_": sometimes(ArrayOf(...)),
        }
    ),
    "KernelRidge": Form(
        {
            "kernel_": KERNEL,
            "X_fit_": FITTED_ROWS,
            "dual_coef_": OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", None)),
        }
    ),
    "KernelRegression": Form(
        {
            "kernel_": KERNEL,
            "X_fit_": FITTED_ROWS,
            "y_fit_": OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", None)),
            "weights_": ArrayOf("n_samples"),
        }
    ),
    "GaussianProcessRegressor": Form(
        {
            **GAUSSIAN,
            "X_train_": ArrayOf("n_samples", "n_features"),
            "y_train_": OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", "n_targets")),
            "train_noise_": OneOf(Real(finite=True), ArrayOf("n_samples")),
            "L_": ArrayOf("n_samples", "n_samples"),
            "alpha_": OneOf(ArrayOf("n_samples"), ArrayOf("n_samples", "n_targets")),
        }
    ),
    "GaussianProcessClassifier": Form(
        {
            **{name: sometimes(stored) for name, stored in GAUSSIAN.items()},
            "classes_": ArrayOf("n_classes", kind="labels"),
            "X_train_": ArrayOf("n_samples", "n_features"),
            "kernels_": ListOf(ModelWith(["diag"]), "n_machines"),
            "train_rows_": ListOf(ArrayOf(None, kind="i", low=0), "n_machines"),
            "dual_weights_": ListOf(ArrayOf(None), "n_machines"),
            "root_weights_": ListOf(ArrayOf(None), "n_machines"),
            "factors_": ListOf(ArrayOf(None, None), "n_machines"),
            "log_marginal_likelihoods_": ListOf(Real(), "n_machines"),
        },
        [_latent_functions],
    ),
    "SparseGaussianProcessRegressor": Form(
        {
            **GAUSSIAN,
            "inducing_points_": ArrayOf("n_inducing", "n_features"),
            "L_": ArrayOf("n_inducing", "n_inducing"),
            "B_factor_": ArrayOf("n_inducing", "n_inducing"),
            "weights_": OneOf(ArrayOf("n_inducing"), ArrayOf("n_inducing", "n_targets")),
        }
    ),
    **{
        name: Form({})
        for name in (
            "AdditiveChiSquaredKernel",
            "ChiSquaredKernel",
            "ConstantKernel",
            "CosineKernel",
            "DotProduct",
            "ExpSineSquared",
            "Exponentiation",
            "LaplaceKernel",
            "LaplacianKernel",
            "LinearKernel",
            "Matern",
            "PeriodicKernel",
            "PolynomialKernel",
            "Product",
            "RBF",
            "RationalQuadratic",
            "SigmoidKernel",
            "Sum",
            "WhiteKernel",
        )
    },
}
