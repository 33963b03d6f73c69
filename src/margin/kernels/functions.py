r"""Kernels as objects: parameters with bounds, an algebra, and gradients for learning the parameters.

==================  ==================================================================================
``Linear``          :math:`x^\top z`
``Polynomial``      :math:`(s\,x^\top z + c)^d`
``RBF``             :math:`\exp(-\tfrac12\sum_j (x_j-z_j)^2/\ell_j^2)`
``Laplace``         :math:`\exp(-\sqrt{\sum_j (x_j-z_j)^2/\ell_j^2})`
``Periodic``        :math:`\exp(-\tfrac{2}{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`
``Constant``        :math:`v`
``White``           :math:`v` for a row with itself, else 0
``a + b``, ``a*b``  sum and product, kernels again; a number stands for ``Constant``
==================  ==================================================================================

A kernel is called on rows X (n, d) and Z (m, d) and gives the (n, m) matrix, or the symmetric (n, n) one without Z.
The positive parameters in ``hyper`` are learned by Gaussian processes as their logarithms ``theta``: each has bounds in
``<name>_bounds`` or "fixed" there, and :meth:`Kernel.gradient` contracts :math:`\partial K/\partial\theta` with a
matrix, so that no (n, n, p) array is ever made.
"""

from __future__ import annotations

import numbers
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from margin.core.domains import Choice, Domain, Either, Integer, Nested, Number, Sequence
from margin.core.parameters import check_parameters
from margin.foundations.probability.kernels import (
    laplace_kernel,
    length_scale_from_gamma,
    linear_kernel,
    periodic_kernel,
    polynomial_kernel,
    rbf_kernel,
)

__all__ = ["RBF", "Constant", "Kernel", "Laplace", "Linear", "Periodic", "Polynomial", "Product", "Sum", "White"]

Floats = NDArray[np.float64]
Bounds = tuple[float, float] | str

WIDE: tuple[float, float] = (1e-5, 1e5)
BOUNDS = Either(Choice("fixed"), Sequence(Number(above=0), min_length=2))
POSITIVE = Number(above=0)
LENGTH_SCALES = Either(POSITIVE, Sequence(POSITIVE, min_length=1))


class Kernel(BaseEstimator):
    """A positive semi-definite function of two rows; ``hyper`` names its positive parameters."""

    domains: ClassVar[dict[str, Domain]] = {}
    hyper: ClassVar[tuple[str, ...]] = ()
    stationary: bool = False

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        """k(x, z) for all pairs of rows, (n, m); of X with itself without Z."""
        check_parameters(self)
        return self._matrix(X, Z)

    @abstractmethod
    def _matrix(self, X: Any, Z: Any) -> Floats: ...

    @abstractmethod
    def diagonal(self, X: Any) -> Floats:
        """k(x, x) for every row, (n,), without the matrix."""

    @abstractmethod
    def gradient(self, X: Floats, weights: Floats) -> Floats:
        r""":math:`\sum_{ij} W_{ij}\,\partial k(x_i, x_j)/\partial\theta_k` for symmetric W (n, n): (len(theta),)."""

    @property
    def free(self) -> list[str]:
        """Parameters that are learned: not fixed, and positive, since zero has no logarithm."""
        return [
            name
            for name in self.hyper
            if not isinstance(getattr(self, f"{name}_bounds"), str) and np.all(np.asarray(getattr(self, name)) > 0)
        ]

    @property
    def theta(self) -> Floats:
        """Logarithms of the free parameters, one after another (a vector of length scales gives several)."""
        parts = [np.log(np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))) for name in self.free]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def bounds(self) -> Floats:
        """Lowest and highest ``theta``, (len(theta), 2)."""
        rows = [np.tile(np.log(getattr(self, f"{name}_bounds")), (self._size(name), 1)) for name in self.free]
        return np.concatenate([np.zeros((0, 2)), *rows])

    def with_theta(self, theta: Floats) -> Kernel:
        """The same kernel with other free parameters.

        >>> import numpy as np
        >>> RBF(1.0).with_theta(np.log([2.0])).length_scale
        2.0
        """
        changed, start = {}, 0
        for name in self.free:
            stop = start + self._size(name)
            values = np.exp(np.asarray(theta, dtype=np.float64)[start:stop])
            changed[name] = values if np.ndim(getattr(self, name)) else float(values[0])
            start = stop
        return clone(self).set_params(**changed)

    def __add__(self, other: Kernel | float) -> Sum:
        return Sum(self, _kernel(other))

    def __radd__(self, other: float) -> Sum:
        return Sum(_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product:
        return Product(self, _kernel(other))

    def __rmul__(self, other: float) -> Product:
        return Product(_kernel(other), self)

    def _size(self, name: str) -> int:
        return int(np.size(getattr(self, name)))


class Linear(Kernel):
    """The inner product of the rows themselves; ``Linear() + 1.0`` lets lines miss the origin.

    >>> (Linear() + 1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[12.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return linear_kernel(X, Z)

    def diagonal(self, X: Any) -> Floats:
        rows = _rows(X)
        return np.einsum("ij,ij->i", rows, rows)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.zeros(0)


class Polynomial(Kernel):
    r""":math:`(s\,x^\top z + c)^d`: monomials up to ``degree`` d if ``offset`` c > 0, only those of degree d if c = 0.

    >>> Polynomial(degree=2, offset=1.0)([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[144.0]]
    """

    domains = {
        "degree": Integer(low=1),
        "scale": POSITIVE,
        "offset": Number(low=0),
        "scale_bounds": BOUNDS,
        "offset_bounds": BOUNDS,
    }
    hyper = ("scale", "offset")

    def __init__(
        self,
        degree: int = 2,
        scale: float = 1.0,
        offset: float = 1.0,
        scale_bounds: Bounds = WIDE,
        offset_bounds: Bounds = WIDE,
    ):
        self.degree = degree
        self.scale = scale
        self.offset = offset
        self.scale_bounds = scale_bounds
        self.offset_bounds = offset_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        root = float(np.sqrt(self.scale))
        return polynomial_kernel(root * _rows(X), None if Z is None else root * _rows(Z), self.degree, self.offset)

    def diagonal(self, X: Any) -> Floats:
        rows = _rows(X)
        return (self.scale * np.einsum("ij,ij->i", rows, rows) + self.offset) ** self.degree

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        inner = self.scale * linear_kernel(X)
        slope = weights * (self.degree * (inner + self.offset) ** (self.degree - 1))
        parts = {"scale": np.vdot(slope, inner), "offset": self.offset * slope.sum()}
        return np.array([parts[name] for name in self.free])


class _Scaled(Kernel):
    """A function of the distance between rows divided by ``length_scale`` (one number, or one per column)."""

    domains = {"length_scale": LENGTH_SCALES, "length_scale_bounds": BOUNDS}
    hyper = ("length_scale",)
    stationary = True

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Bounds = WIDE):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    def diagonal(self, X: Any) -> Floats:
        return np.ones(len(_rows(X)))

    def scaled(self, X: Any) -> Floats:
        """Rows divided by the length scale, so that distances are pure numbers."""
        rows = _rows(X)
        scale = np.asarray(self.length_scale, dtype=rows.dtype)
        if scale.ndim and len(scale) != rows.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: length_scale must have one number per column, {rows.shape[1]}; "
                f"got {len(scale)}."
            )
        return rows / scale

    def _contract(self, X: Floats, weights: Floats) -> Floats:
        r""":math:`\sum_{ab} M_{ab}(x_{aj}-x_{bj})^2/\ell_j^2` per column, or their sum for one length scale.

        With M symmetric it is :math:`2\sum_a (\sum_b M_{ab}) x_{aj}^2 - 2x_j^\top M x_j`: one matrix product.
        """
        if not self.free:
            return np.zeros(0)
        rows = self.scaled(X)
        rows = rows - rows.mean(axis=0)  # a common offset would cost digits in the difference
        per_column = 2 * (weights.sum(axis=1) @ rows**2 - np.einsum("ij,ij->j", rows, weights @ rows))
        return per_column if np.ndim(self.length_scale) else np.array([per_column.sum()])


class RBF(_Scaled):
    r"""The Gaussian kernel :math:`\exp(-\tfrac12\sum_j (x_j-z_j)^2/\ell_j^2)`: very smooth functions.

    >>> RBF(length_scale=[1.0, 2.0])([[0.0, 0.0]], [[1.0, 2.0]]).round(6).tolist()
    [[0.367879]]
    """

    @classmethod
    def from_gamma(cls, gamma: float) -> RBF:
        r"""The kernel written :math:`\exp(-\gamma\|x-z\|^2)`: :math:`\ell = 1/\sqrt{2\gamma}`."""
        return cls(length_scale_from_gamma(gamma))

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return rbf_kernel(self.scaled(X), None if Z is None else self.scaled(Z))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return self._contract(X, weights * self(X))


class Laplace(_Scaled):
    r""":math:`\exp(-r)` of the scaled Euclidean distance r: continuous functions without derivatives."""

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return laplace_kernel(self.scaled(X), None if Z is None else self.scaled(Z))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        gram = self(X)
        distance = -_log(gram)
        # At distance zero (x_j - z_j)^2 / r is zero, whatever the direction.
        factor = np.divide(gram, distance, out=np.zeros_like(gram), where=distance > 0)
        return self._contract(X, weights * factor)


class Periodic(Kernel):
    r""":math:`\exp(-\tfrac2{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`: functions that repeat after ``period`` p."""

    domains = {
        "length_scale": POSITIVE,
        "period": POSITIVE,
        "length_scale_bounds": BOUNDS,
        "period_bounds": BOUNDS,
    }
    hyper = ("length_scale", "period")
    stationary = True

    def __init__(
        self,
        length_scale: float = 1.0,
        period: float = 1.0,
        length_scale_bounds: Bounds = WIDE,
        period_bounds: Bounds = WIDE,
    ):
        self.length_scale = length_scale
        self.period = period
        self.length_scale_bounds = length_scale_bounds
        self.period_bounds = period_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return periodic_kernel(X, Z, self.period, self.length_scale)

    def diagonal(self, X: Any) -> Floats:
        return np.ones(len(_rows(X)))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        gram = self(X)
        slope = weights * gram
        parts = {"length_scale": -2 * np.vdot(slope, _log(gram)), "period": self._period_gradient(X, slope)}
        return np.array([parts[name] for name in self.free])

    def _period_gradient(self, X: Floats, slope: Floats) -> float:
        r""":math:`\frac1{\ell^2}\sum_{ab}M_{ab}\sum_j\sin(u_{aj}-u_{bj})(u_{aj}-u_{bj})` with :math:`u=2\pi x/p`."""
        angle = 2 * np.pi * (X - X.mean(axis=0)) / self.period
        sine, cosine = np.sin(angle), np.cos(angle)
        return (
            2
            * float(np.vdot(sine * angle, slope @ cosine) - np.vdot(cosine * angle, slope @ sine))
            / (self.length_scale**2)
        )


class Constant(Kernel):
    """The same number for every pair: the variance of an unknown offset, or the amplitude of a product."""

    domains = {"value": POSITIVE, "value_bounds": BOUNDS}
    hyper = ("value",)
    stationary = True

    def __init__(self, value: float = 1.0, value_bounds: Bounds = WIDE):
        self.value = value
        self.value_bounds = value_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        n = len(_rows(X))
        return np.full((n, n if Z is None else len(_rows(Z))), float(self.value))

    def diagonal(self, X: Any) -> Floats:
        return np.full(len(_rows(X)), float(self.value))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([self.value * weights.sum() for _ in self.free])


class White(Kernel):
    """Independent noise of variance ``value``: each row is only like itself, so X against another Z is zero."""

    domains = {"value": POSITIVE, "value_bounds": BOUNDS}
    hyper = ("value",)
    stationary = True

    def __init__(self, value: float = 1.0, value_bounds: Bounds = WIDE):
        self.value = value
        self.value_bounds = value_bounds

    def _matrix(self, X: Any, Z: Any) -> Floats:
        n = len(_rows(X))
        return self.value * np.eye(n) if Z is None else np.zeros((n, len(_rows(Z))))

    def diagonal(self, X: Any) -> Floats:
        return np.full(len(_rows(X)), float(self.value))

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.array([self.value * np.trace(weights) for _ in self.free])


class _Pair(Kernel):
    """Two kernels joined; ``theta`` is that of the first followed by that of the second."""

    domains = {"left": Nested("diagonal", "gradient"), "right": Nested("diagonal", "gradient")}

    def __init__(self, left: Kernel, right: Kernel):
        self.left = left
        self.right = right

    @property
    def stationary(self) -> bool:  # type: ignore[override]
        return self.left.stationary and self.right.stationary

    @property
    def theta(self) -> Floats:
        return np.concatenate([self.left.theta, self.right.theta])

    @property
    def bounds(self) -> Floats:
        return np.concatenate([self.left.bounds, self.right.bounds])

    def with_theta(self, theta: Floats) -> Kernel:
        cut = len(self.left.theta)
        return type(self)(self.left.with_theta(theta[:cut]), self.right.with_theta(theta[cut:]))


class Sum(_Pair):
    """:math:`k_1 + k_2`: features side by side, or independent effects added.

    >>> (RBF() + Linear())([[1.0]], [[1.0]]).tolist()
    [[2.0]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.left(X, Z) + self.right(X, Z)

    def diagonal(self, X: Any) -> Floats:
        return self.left.diagonal(X) + self.right.diagonal(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        return np.concatenate([self.left.gradient(X, weights), self.right.gradient(X, weights)])


class Product(_Pair):
    """:math:`k_1 k_2`: all products of a feature of one with a feature of the other.

    >>> (4.0 * RBF())([[0.0]], [[1.0]]).round(4).tolist()
    [[2.4261]]
    """

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return self.left(X, Z) * self.right(X, Z)

    def diagonal(self, X: Any) -> Floats:
        return self.left.diagonal(X) * self.right.diagonal(X)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        first = self.left.gradient(X, weights * self.right(X))
        return np.concatenate([first, self.right.gradient(X, weights * self.left(X))])


def _kernel(value: Kernel | float) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(float(value))
    raise TypeError(f"Kernel: a kernel is combined with kernels and positive numbers; got {value!r}.")


def _rows(X: Any) -> NDArray[Any]:
    """Rows as float32 or float64; a vector is read as points on a line."""
    array = np.asarray(X)
    array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    return array[:, None] if array.ndim == 1 else array


def _log(gram: Floats) -> Floats:
    """Logarithms of kernel values, zero where the value has underflowed (its product with the value is zero)."""
    return np.log(gram, out=np.zeros_like(gram), where=gram > 0)
