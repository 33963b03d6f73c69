r"""Solutions of :math:`A\theta = b` with more unknowns than equations, and several outputs with their noise.

All of them are :math:`\theta^+ + z` with the minimum-norm solution :math:`\theta^+ = A^+ b` and z in the null space.
"""

from __future__ import annotations

import numpy as np

__all__ = ["gaussian_outputs_log_likelihood", "interpolating_solutions", "minimum_norm_solution", "null_space_part"]


def minimum_norm_solution(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The shortest solution, by the pseudo-inverse.

    >>> minimum_norm_solution(np.array([[1.0, 1.0]]), np.array([2.0])).round(12)
    array([1., 1.])
    """
    return np.linalg.lstsq(A, b, rcond=None)[0]


def null_space_part(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The part of ``v`` that ``A`` maps to zero."""
    return v - np.linalg.lstsq(A, A @ v, rcond=None)[0]


def interpolating_solutions(A: np.ndarray, b: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n + 1, d) the minimum-norm solution, then ``n`` others shifted by random vectors of the null space."""
    shortest = minimum_norm_solution(A, b)
    shifts = [null_space_part(A, v) for v in rng.standard_normal((n, A.shape[1]))]
    return np.vstack([shortest, *(shortest + shift for shift in shifts)])


def gaussian_outputs_log_likelihood(residuals: np.ndarray, covariance: str = "full") -> float:
    r"""The largest normal log-likelihood of residuals (n, q); ``covariance`` is "spherical", "diagonal" or "full".

    .. math:: -\tfrac n2 \bigl(q \log 2\pi + \log\det\hat\Sigma + q\bigr),\qquad \hat\Sigma = \tfrac1n R^\top R

    (its diagonal, or the mean of that). For a spherical covariance it falls with the sum of squares over all outputs.

    >>> R = np.array([[1.0, 1.0], [-1.0, -1.0], [0.5, 0.4], [-0.5, -0.4]])
    >>> gaussian_outputs_log_likelihood(R) > gaussian_outputs_log_likelihood(R, "diagonal")
    True
    """
    n, q = residuals.shape
    full = residuals.T @ residuals / n
    if covariance == "full":
        sign, log_det = np.linalg.slogdet(full)
        if sign <= 0:
            raise ValueError("gaussian_outputs_log_likelihood: the outputs' residuals are linearly dependent.")
    elif covariance == "diagonal":
        log_det = np.log(full.diagonal()).sum()
    elif covariance == "spherical":
        log_det = q * np.log(full.diagonal().mean())
    else:
        raise ValueError(
            f"gaussian_outputs_log_likelihood: covariance must be spherical, diagonal or full; got {covariance!r}."
        )
    return float(-n / 2 * (q * np.log(2 * np.pi) + log_det + q))
