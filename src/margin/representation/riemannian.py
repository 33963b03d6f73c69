r"""A metric that changes from point to point: pulled back by a function, or learned from the spread of data.

A function f pulls distances back, :math:`M(x) = J(x)^\top J(x)`: a small step dx has the squared length
:math:`dx^\top M dx \approx \|f(x + dx) - f(x)\|^2`. Data give a metric too (Hauberg, Freifeld and Black 2012): the
inverse of a local diagonal covariance,

.. math:: M_{jj}(x) = \Bigl(\sum_n w_n(x)\,(x_{nj} - x_j)^2 + \rho\Bigr)^{-1}, \qquad
          w_n(x) = e^{-\|x_n - x\|^2 / 2\sigma^2},

small where data are many and along the directions in which they spread, so that short curves follow them. A curve
c_0, ..., c_T has the energy :math:`\frac12\sum_t \Delta_t^\top M(\bar c_t)\,\Delta_t \cdot T`; its minimum between two
ends is a geodesic, of constant speed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from margin.core.array_types import MatrixLike
from margin.metrics.arguments import finite

__all__ = ["curve_length", "geodesic_curve", "local_metric", "pullback_metric"]

Metric = Callable[[np.ndarray], np.ndarray]  # points (..., d) to the diagonal of the metric (..., d)


def pullback_metric(f: Callable[[Any], Any], x: Any) -> np.ndarray:
    """``J.T @ J`` (d, d) of a torch function ``f`` at the point ``x`` (d,), by automatic differentiation.

    >>> pullback_metric(lambda x: 2 * x, [1.0, 1.0])
    array([[4., 0.],
           [0., 4.]])
    """
    import torch

    point = torch.as_tensor(np.asarray(x, dtype=np.float64))
    J = torch.func.jacrev(f)(point)
    return (J.T @ J).numpy(force=True)


def local_metric(X: MatrixLike, sigma: float, rho: float) -> Metric:
    """The diagonal of the metric as a function of points (..., d).

    >>> metric = local_metric([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], sigma=1.0, rho=0.1)
    >>> along, across = metric(np.array([1.0, 0.0]))
    >>> bool(along < across), round(float(across), 6)
    (True, 10.0)
    """
    X = finite("local_metric", "X", X, ndim=(2,))
    if not sigma > 0 or not rho > 0:
        raise ValueError(f"local_metric: sigma and rho must be above 0; got {sigma!r} and {rho!r}.")

    def metric(points: np.ndarray) -> np.ndarray:
        squares = (X - np.asarray(points, dtype=np.float64)[..., None, :]) ** 2  # (..., n, d)
        weight = np.exp(-squares.sum(axis=-1, keepdims=True) / (2 * sigma**2))
        return 1 / ((weight * squares).sum(axis=-2) + rho)

    return metric


def curve_length(curve: np.ndarray, metric: Metric) -> float:
    """Length of a polygon (T + 1, d), the metric of every piece being that of its middle."""
    step, middle = np.diff(curve, axis=0), (curve[1:] + curve[:-1]) / 2
    return float(np.sqrt((metric(middle) * step**2).sum(axis=1)).sum())


def _energy(curve: np.ndarray, metric: Metric) -> float:
    step, middle = np.diff(curve, axis=0), (curve[1:] + curve[:-1]) / 2
    return float(0.5 * len(step) * (metric(middle) * step**2).sum())


def geodesic_curve(
    a: Any, b: Any, metric: Metric, n_pieces: int = 32, start: np.ndarray | None = None, max_iter: int = 500
) -> np.ndarray:
    """Points (n_pieces + 1, d) of a curve of least energy from ``a`` to ``b``.

    L-BFGS from the straight line, or from ``start``; what is found is a local minimum. The metric is known by its
    values only, so its slope is a central difference: pieces depend on two points each, which makes the cost of a
    gradient 2 d evaluations of all middles.
    """
    from scipy.optimize import minimize

    a, b = (finite("geodesic_curve", name, end, ndim=(1,)) for name, end in (("a", a), ("b", b)))
    if a.shape != b.shape:
        raise ValueError(f"geodesic_curve: a and b must have one dimension; got {a.shape} and {b.shape}.")
    line = np.linspace(a, b, n_pieces + 1)
    curve = line if start is None else np.array(start, dtype=np.float64)
    if curve.shape != line.shape:
        raise ValueError(f"geodesic_curve: start must have shape {line.shape}; got {curve.shape}.")

    def join(inner: np.ndarray) -> np.ndarray:
        return np.concatenate([a[None], inner.reshape(-1, len(a)), b[None]])

    def energy_and_slope(inner: np.ndarray) -> tuple[float, np.ndarray]:
        path = join(inner)
        return _energy(path, metric), _slope(path, metric)[1:-1].ravel()

    optimum = minimize(
        energy_and_slope,
        curve[1:-1].ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 10 * max_iter},
    )
    return join(optimum.x)


def _slope(curve: np.ndarray, metric: Metric, width: float = 1e-5) -> np.ndarray:
    """Gradient of the energy in every point of the curve."""
    step, middle = np.diff(curve, axis=0), (curve[1:] + curve[:-1]) / 2
    n, d = step.shape
    by_step = n * metric(middle) * step
    by_middle = np.empty((n, d))
    for j in range(d):
        move = np.zeros(d)
        move[j] = width
        change = (metric(middle + move) - metric(middle - move)) / (2 * width)
        by_middle[:, j] = 0.5 * n * (change * step**2).sum(axis=1)
    slope = np.zeros_like(curve)
    slope[1:] += by_step + by_middle / 2
    slope[:-1] += -by_step + by_middle / 2
    return slope
