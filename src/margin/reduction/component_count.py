r"""How many principal components the data have: the evidence of every number, by Laplace's approximation (Minka 2000).

For probabilistic PCA of n rows with eigenvalues :math:`\lambda_1 \ge \dots \ge \lambda_p` of the covariance and
:math:`\hat v_k` the mean of those after the k-th,

.. math::
    \log p(X\mid k) \approx \log p(U) - \tfrac n2 \sum_{j\le k} \log\lambda_j - \tfrac{n(p-k)}2 \log \hat v_k
    + \tfrac{m+k}2 \log 2\pi - \tfrac12 \log|A_z| - \tfrac k2 \log n,\qquad m = pk - \tfrac{k(k+1)}2 .
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

__all__ = ["most_likely_count"]


def most_likely_count(variances: np.ndarray, n: int) -> int:
    """The k from 1 to p - 1 of the largest evidence, from all p ``variances`` (falling) of ``n`` rows.

    >>> most_likely_count(np.array([9.0, 8.0, 1.02, 1.0, 0.98, 0.97]), 500)
    2
    """
    least = np.finfo(variances.dtype).eps * variances[0]
    p = len(variances)
    evidence = [_log_evidence(variances, k, n, least) if variances[k - 1] > least else -np.inf for k in range(1, p)]
    return int(np.argmax(evidence)) + 1


def _log_evidence(variances: np.ndarray, k: int, n: int, least: float) -> float:
    p = len(variances)
    noise = max(float(variances[k:].mean()), least)  # rows without any noise have all the evidence, as good as infinite
    dimensions = np.arange(p, p - k, -1) / 2
    prior = float((gammaln(dimensions) - dimensions * np.log(np.pi)).sum()) - k * np.log(2.0)
    fitted = -0.5 * n * float(np.log(variances[:k]).sum()) - 0.5 * n * (p - k) * np.log(noise)
    m = p * k - k * (k + 1) / 2
    spectrum = np.where(np.arange(p) < k, variances, noise)
    # |A_z|: for every pair i < j with i among the first k, (1/l_j - 1/l_i)(v_i - v_j) n.
    i, j = np.nonzero(np.arange(k)[:, None] < np.arange(p))
    factors = (1 / spectrum[j] - 1 / spectrum[i]) * (variances[i] - variances[j])
    with np.errstate(divide="ignore"):
        determinant = float(np.log(factors).sum()) + len(i) * np.log(n)
    return prior + fitted + 0.5 * (m + k) * np.log(2 * np.pi) - 0.5 * determinant - 0.5 * k * np.log(n)
