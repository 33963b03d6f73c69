r"""A kernel matrix is an operator seen through n points

A function sampled at n points is a vector, and the integral operator
:math:`(Kf)(s) = \int_0^1 k(s, t) f(t)\,dt` of a covariance kernel k becomes the matrix :math:`k(t_i, t_j)/n`. As the
points grow dense its leading eigenvalues settle, and its eigenvectors become the samples of fixed functions: the
finite object converges to its infinite-dimensional counterpart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, near
from margin.foundations.linalg import brownian_kernel, discretized_operator, eigh, midpoints, operator_eigenvalues

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = (50, 200, 800)
LEADING = 6
LENGTH_SCALE = 0.15


def rbf_kernel(s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.exp(-((s - t) ** 2) / (2 * LENGTH_SCALE**2))


def run(seed: int, fast: bool) -> dict[str, Any]:
    points = (*POINTS[:2], 400) if fast else POINTS
    functions = []
    for n in points:
        vectors = eigh(discretized_operator(rbf_kernel, n)).vectors[:, ::-1][:, :3] * np.sqrt(n)
        functions.append((midpoints(n), vectors * np.sign(vectors[0])))  # an eigenvector's sign is arbitrary
    return {
        "points": points,
        "rbf": np.array([operator_eigenvalues(rbf_kernel, n, LEADING) for n in points]),
        "brownian": np.array([operator_eigenvalues(brownian_kernel, n, LEADING) for n in points]),
        "brownian_exact": 1 / ((np.arange(1, LEADING + 1) - 0.5) * np.pi) ** 2,
        "functions": functions,
    }


def check(data: dict[str, Any]) -> Verdict:
    first_move, second_move = np.abs(np.diff(data["rbf"], axis=0)).max(axis=1)
    return every(
        settling=below(second_move, first_move / 4),
        settled=below(second_move, 1e-4),
        brownian=near(data["brownian"][-1], data["brownian_exact"], tolerance=1e-5),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2)
    index = np.arange(1, LEADING + 1)
    for n, values, marker in zip(data["points"], data["rbf"], ("o", "x", "+")):
        left.semilogy(index, values, marker, label=f"RBF kernel, n = {n}", markersize=9, markerfacecolor="none")
    left.semilogy(index, data["brownian_exact"], color="0.6", label="Brownian kernel, exact")
    left.semilogy(index, data["brownian"][-1], "k.", label=f"Brownian kernel, n = {data['points'][-1]}")
    left.set(title="Leading eigenvalues of K / n", xlabel="index", ylabel="eigenvalue")
    left.legend(fontsize="small")
    for column, color in zip(range(3), ("C0", "C1", "C2")):
        (coarse_t, coarse), (fine_t, fine) = data["functions"][0], data["functions"][-1]
        right.plot(fine_t, fine[:, column], color=color, label=f"eigenfunction {column + 1}")
        right.plot(coarse_t, coarse[:, column], ".", color=color, markersize=5)
    right.set(title=f"Eigenvectors: n = {data['points'][0]} (dots), {data['points'][-1]} (lines)", xlabel="t")
    right.legend(fontsize="small")
