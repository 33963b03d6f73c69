r"""How well two labelings of the same rows agree, whatever the clusters are called.

Agreement rests on the contingency counts :math:`n_{ij}`, the rows in cluster :math:`i` of one labeling and :math:`j`
of the other. A label for noise (such as -1) is a cluster like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.metrics.arguments import labels_pair
from margin.metrics.parameter_texts import PARTITIONS

__all__ = ["adjusted_rand", "completeness", "homogeneity", "normalized_mutual_information", "v_measure"]


@with_parameters(PARTITIONS)
def adjusted_rand(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Rand index corrected for chance: 1 for equal partitions, 0 on average for independent ones.

    With :math:`\binom{n_{ij}}2` pairs together in both, :math:`a` and :math:`b` pairs together in each labeling and
    :math:`e = ab/\binom n2`, it is :math:`\bigl(\sum\binom{n_{ij}}2 - e\bigr) / \bigl(\tfrac12(a + b) - e\bigr)`.

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], ["b", "b", "a", "a"]), adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1])
    (1.0, -0.5)
    """
    joint, rows, columns = _contingency("adjusted_rand", labels_true, labels_pred)
    # Python's integers: a * b is of order n^4 and must not overflow or round.
    together, a, b, pairs = (
        sum(m * (m - 1) // 2 for m in counts.tolist()) for counts in (joint, rows, columns, rows.sum(keepdims=True))
    )
    if a == b == together:
        return 1.0
    return 2 * (together * pairs - a * b) / ((a + b) * pairs - 2 * a * b)


@with_parameters(PARTITIONS)
def normalized_mutual_information(labels_true: ArrayLike, labels_pred: ArrayLike, average: str = "arithmetic") -> float:
    r"""Mutual information over a mean of the two entropies, :math:`I(U; V)/\operatorname{mean}(H(U), H(V))`.

    ``average`` is "arithmetic", "geometric", "min" or "max". Two single clusters agree fully: 1.

    Parameters
    ----------
    average : {"arithmetic", "geometric", "min", "max"}
        The mean of the two entropies.
    """
    means: dict[str, Callable[[float, float], float]] = {
        "arithmetic": lambda u, v: (u + v) / 2,
        "geometric": lambda u, v: float(np.sqrt(u * v)),
        "min": min,
        "max": max,
    }
    if average not in means:
        raise ValueError(f"normalized_mutual_information: average must be one of {', '.join(means)}; got {average!r}.")
    information, h_true, h_pred = _information("normalized_mutual_information", labels_true, labels_pred)
    if h_true == h_pred == 0:
        return 1.0
    scale = float(means[average](h_true, h_pred))
    return min(information / scale, 1.0) if scale > 0 else 0.0


@with_parameters(PARTITIONS)
def homogeneity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Each cluster holds one class only: :math:`1 - H(\text{class} \mid \text{cluster})/H(\text{class})`."""
    information, h_true, _ = _information("homogeneity", labels_true, labels_pred)
    return min(information / h_true, 1.0) if h_true > 0 else 1.0


@with_parameters(PARTITIONS)
def completeness(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    r"""Each class lies in one cluster only: :math:`1 - H(\text{cluster} \mid \text{class})/H(\text{cluster})`."""
    information, _, h_pred = _information("completeness", labels_true, labels_pred)
    return min(information / h_pred, 1.0) if h_pred > 0 else 1.0


@with_parameters(PARTITIONS)
def v_measure(labels_true: ArrayLike, labels_pred: ArrayLike, beta: float = 1.0) -> float:
    r"""Weighted harmonic mean of homogeneity and completeness, :math:`(1 + \beta)hc/(\beta h + c)`.

    Parameters
    ----------
    beta : float
        Weight of completeness relative to homogeneity.
    """
    if not isinstance(beta, int | float | np.number) or not 0 <= beta < np.inf:
        raise ValueError(f"v_measure: beta must be a number of at least 0; got {beta!r}.")
    h, c = homogeneity(labels_true, labels_pred), completeness(labels_true, labels_pred)
    return (1 + beta) * h * c / (beta * h + c) if beta * h + c > 0 else 0.0


def _contingency(where: str, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of the pairs of labels that occur, and of each labeling alone."""
    true, predicted = (labels_pair(where, labels, labels)[1] for labels in (first, second))
    if len(true) != len(predicted):
        raise ValueError(f"{where}: the labelings must have equal length; got {len(true)} and {len(predicted)}.")
    k = int(predicted.max()) + 1
    _, joint = np.unique(true * k + predicted, return_counts=True)
    return joint, np.bincount(true), np.bincount(predicted)


def _information(where: str, first: Any, second: Any) -> tuple[float, float, float]:
    r"""(mutual information, entropy, entropy) in nats, by :math:`I = H(U) + H(V) - H(U, V)`."""
    from margin.foundations.information import entropy_of_weights  # with it comes SciPy

    joint, rows, columns = _contingency(where, first, second)
    h_joint, h_true, h_pred = (float(entropy_of_weights(counts)) for counts in (joint, rows, columns))
    return max(h_true + h_pred - h_joint, 0.0), h_true, h_pred
