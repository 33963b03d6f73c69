"""The kernel a fit starts from: the user's object, or one made from a name and the spread of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margin.core.domains import Choice, Domain, Either, Optional
from margin.kernels.algebra import Product, Sum
from margin.kernels.dot_product import LinearKernel
from margin.kernels.gaussian_process.radial import terms_of
from margin.kernels.kernel import WIDE, ConstantKernel, Kernel
from margin.kernels.matern import Matern
from margin.kernels.stationary import RBF, LaplaceKernel, RadialKernel, WhiteKernel

__all__ = ["KERNEL_DOMAIN", "KERNEL_SENTENCE", "initial_kernel", "row_rules", "with_noise_term"]

Floats = NDArray[np.float64]

NAMES = ("rbf", "matern", "laplace", "linear")


@dataclass(frozen=True)
class CovarianceObject(Domain):
    """A kernel of ours, or one of scikit-learn's form."""

    description = "a kernel of margin.kernels or of sklearn.gaussian_process.kernels"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, Kernel):
            return True
        if not _is_scikit_learns(value):
            return False
        from margin.kernels.gaussian_process.sklearn_kernels import can_translate

        return can_translate(value)

    def type_text(self) -> str:
        return "kernel object"

    def wrong(self) -> list[Any]:
        return ["no such kernel", 3]


KERNEL_DOMAIN = Optional(Either(Choice(*NAMES), CovarianceObject()))
KERNEL_SENTENCE = (
    "Covariance function: an object of ours or of scikit-learn's, or the name of one whose amplitude and length scale "
    "start at the spread of the data (a classifier's amplitude stays below 300); None is scikit-learn's default, "
    "ConstantKernel() * RBF()."
)

NEAR = np.log(1.25)  # length scales within this factor of the spread of the data are where a search may begin
NOISE_START = 0.1  # a tenth of the variance of the targets, the amplitude of the signal being one
NOISE_BOUNDS = (1e-8, 1e3)
# Amplitudes of the named kernels of a classifier: where classes are separable the likelihood grows on and on with the
# amplitude, while Laplace's approximation, and with it the probabilities, get worse (chosen on breast-cancer and wine).
LATENT = (1e-5, 300.0)


def initial_kernel(kernel: Any, X: Floats | None, ard: bool, *, learned: bool = True) -> Kernel:
    """``kernel`` itself (a copy), or amplitude times the named one with the spread of the rows of ``X`` as scale.

    ``ard`` replaces single length scales by one per column, which needs ``X``. None is scikit-learn's default, whose
    parameters are ``learned`` in regression and not in classification.
    """
    if kernel is None:
        bounds: Any = WIDE if learned else "fixed"
        made: Kernel = ConstantKernel(1.0, bounds) * RBF(1.0, bounds)
    else:
        made = _make_kernel(kernel, X, WIDE if learned else LATENT) if isinstance(kernel, str) else _object(kernel)
    return _one_scale_per_column(made, X.shape[1]) if ard and X is not None else made


def with_noise_term(kernel: Kernel) -> Kernel:
    """``kernel`` with white noise to be learned, unless it has some already."""
    if any(isinstance(term, WhiteKernel) for term in terms_of(kernel)):
        return kernel
    return kernel + WhiteKernel(NOISE_START, noise_level_bounds=NOISE_BOUNDS)


def row_rules(kernel: Any) -> dict[str, Any]:
    """How rows are checked: numbers, or anything that a kernel of strings or other things says it can read."""
    if _is_scikit_learns(kernel):
        from margin.kernels.gaussian_process.sklearn_kernels import requires_numbers

        if not requires_numbers(kernel):
            return {"dtype": None, "ensure_2d": False}
    return {"dtype": np.float64, "order": "C"}


def _is_scikit_learns(value: Any) -> bool:
    """Without an import of its package, which a kernel of ours does not need."""
    return any(base.__module__ == "sklearn.gaussian_process.kernels" for base in type(value).__mro__)


def _object(kernel: Any) -> Kernel:
    if isinstance(kernel, Kernel):
        return clone(kernel)
    from margin.kernels.gaussian_process.sklearn_kernels import translated

    return translated(kernel)


def _make_kernel(kernel: str, X: Floats | None, amplitudes: Any) -> Kernel:
    if kernel == "linear":
        return ConstantKernel(1.0, amplitudes) * LinearKernel() + 1.0
    # The root mean square distance of two rows is sqrt(2) times this.
    spread = 1.0 if X is None else float(np.sqrt(X.var(axis=0).sum())) or 1.0
    bounds = (1e-3 * spread, 1e3 * spread)
    radial = {"rbf": RBF, "laplace": LaplaceKernel, "matern": Matern}[kernel]
    return ConstantKernel(1.0, amplitudes) * radial(length_scale=spread, length_scale_bounds=bounds)


def start_at_spread(kernel: Kernel, X: Any) -> Floats:
    """Another ``theta`` to search from, (1, p): learned length scales at the spread of the rows; (0, p) if they are.

    Where rows are many length scales apart, the kernel matrix is the identity whatever the length scale, so that its
    slope is zero and a search that begins there ends there.
    """
    moved = _at_spread(kernel, X).theta if np.issubdtype(np.asarray(X).dtype, np.number) else kernel.theta
    return np.clip(moved, *kernel.bounds.T)[None] if np.any(np.abs(moved - kernel.theta) > NEAR) else moved[None][:0]


def _at_spread(kernel: Kernel, X: Floats) -> Kernel:
    if isinstance(kernel, Sum | Product):
        return type(kernel)(*(_at_spread(part, X) for part in (kernel.k1, kernel.k2)))
    if not isinstance(kernel, RadialKernel) or "length_scale" not in kernel.free:
        return kernel
    deviations = np.sqrt(X.shape[1]) * X.std(axis=0)  # as far apart as if all columns were alike
    spread = deviations if np.ndim(kernel.length_scale) else np.sqrt(np.mean(deviations**2))
    return clone(kernel).set_params(length_scale=np.where(spread > 0, spread, kernel.length_scale)[()])


def _one_scale_per_column(kernel: Kernel, columns: int) -> Kernel:
    if isinstance(kernel, Sum | Product):
        return type(kernel)(*(_one_scale_per_column(part, columns) for part in (kernel.k1, kernel.k2)))
    if isinstance(kernel, RadialKernel) and not np.ndim(kernel.length_scale):
        return clone(kernel).set_params(length_scale=np.full(columns, float(kernel.length_scale)))
    return kernel
