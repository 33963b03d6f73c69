"""What fitted kernel machines and Gaussian processes hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from margin.core.invariants import (
    ArrayOf,
    ModelWith,
    OneOf,
    Real,
    Sizes,
    SparseOf,
    StringOf,
    Violation,
)

__all__ = [
    "FITTED_KERNEL",
    "FITTED_ROWS",
    "PER_MACHINE",
    "ROWS",
    "every_coefficient",
    "latent_functions",
    "pairs_of_classes",
]

FITTED_KERNEL = OneOf(ModelWith(["diag"]), StringOf(("precomputed",)))
ROWS = OneOf(ArrayOf("n_support", "n_features"), ArrayOf(0, 0), SparseOf("n_support", "n_features"))
FITTED_ROWS = OneOf(ArrayOf("n_samples", "n_features"), SparseOf("n_samples", "n_features"))
PER_MACHINE = OneOf(Real(), ArrayOf(None, finite=False))


def pairs_of_classes(model: Mapping[str, Any], sizes: Sizes) -> None:
    if "dual_coef_" not in model:
        return
    k = sizes["n_classes"]
    every_coefficient(model, sizes)
    if sizes["n_lines"] != max(k - 1, 1) or int(model["n_support_"].sum()) != sizes["n_support"]:
        raise Violation("dual_coef_ and n_support_ must fit the number of classes and support vectors")
    if sizes["n_machines"] != k * (k - 1) // 2:
        raise Violation("intercept_ must have one entry per pair of classes")


def every_coefficient(model: Mapping[str, Any], _sizes: Sizes) -> None:
    """Sparse coefficients are written out before use: a file may not ask for more than it holds."""
    coef = model.get("dual_coef_")
    if coef is not None and coef.size != coef.shape[0] * coef.shape[1]:
        raise Violation("dual_coef_ must store every coefficient")


def latent_functions(model: Mapping[str, Any], sizes: Sizes) -> None:
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
