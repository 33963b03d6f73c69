r"""Shapley values of the columns for any model, asked through its predictions alone.

A row :math:`x` whose columns :math:`S` are known is worth its mean prediction over background rows :math:`b` that fill
the others, :math:`v_x(S) = \frac1B\sum_b f(x_S, b_{\bar S})`, and

.. math:: \phi_j = \sum_{S \subseteq P \setminus j} \frac{|S|!\,(p-|S|-1)!}{p!}\,\big[v_x(S \cup j) - v_x(S)\big],
          \qquad \sum_j \phi_j = f(x) - v_x(\emptyset).

Three ways to the same numbers. *Exact*: all :math:`2^p` coalitions. *Permutation*: the mean over orders of the columns
of what each adds as it becomes known; an order and its reverse are drawn together. *Kernel*: the linear function of
membership that is closest to :math:`v_x` under weights :math:`\frac{p-1}{\binom{p}{s}\,s\,(p-s)}` and exact for the
empty and the full coalition; with all coalitions it equals the sum above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb, factorial
from typing import Any

import numpy as np

from margin.core.randomness import RandomLike, as_generator
from margin.interpretation.columns import TableColumns
from margin.trees.shap import Attribution

__all__ = ["coalition_values", "shapley_values"]

Predict = Callable[[Any], np.ndarray]
METHODS = ("auto", "exact", "permutation", "kernel")
#: Rows handed to ``predict`` at a time: enough for its overhead not to matter, few enough for memory.
CHUNK = 20_000
#: Beyond this many columns 2 ** p coalitions are refused.
MOST_EXACT = 16


def shapley_values(
    predict: Predict,
    X: Any,
    background: Any,
    *,
    method: str = "auto",
    n_samples: int = 64,
    random_state: RandomLike = None,
) -> Attribution:
    """Attributions (n, p, outputs) of the predictions for the rows ``X``, against ``background`` rows.

    ``predict`` maps rows to one number or several. ``X`` and ``background`` are arrays, or data frames as a pipeline
    takes them: then the columns are those before any encoding. ``n_samples`` are the orders of the columns
    ("permutation") or the coalitions ("kernel") that are tried; "auto" is "exact" where that asks for no more
    coalitions than "permutation" would, else "permutation".

    Parameters
    ----------
    predict : callable
        Maps rows to predictions.
    X : array or data frame of shape (n, p)
        Rows to explain.
    background : array or data frame of shape (m, p)
        Rows that stand for absent columns.
    method : {"auto", "exact", "permutation", "kernel"}
        How the sum over coalitions is computed or estimated.
    n_samples : int
        Orders or coalitions to try.
    random_state : int, RandomState, Generator or None
        Source of randomness.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 3.0]])
    >>> attribution = shapley_values(lambda rows: rows[:, 0] + rows[:, 1] * rows[:, 2], X, np.zeros((1, 3)))
    >>> attribution.values[0, :, 0], attribution.expected
    (array([1., 3., 3.]), array([0.]))
    """
    table = TableColumns(X, background)
    n, p = len(X), len(table)
    _check(method, n_samples, n, table.n_rows - n, p)
    if method == "auto":
        method = "exact" if 2**p <= max(n_samples * (p + 1) // max(table.n_rows - n, 1), 2) else "permutation"
    if method == "exact":
        return _exact(predict, table, n)
    rng = as_generator(random_state)
    if method == "permutation":
        return _by_orders(predict, table, n, n_samples, rng)
    return _by_regression(predict, table, n, n_samples, rng)


def coalition_values(predict: Predict, table: TableColumns, n: int, known: np.ndarray) -> np.ndarray:
    """Worth (n, m, outputs) of the coalitions ``known`` (m, p) for the first ``n`` rows, the others being background.

    Many rows and coalitions share a call of ``predict``: that of a pipeline costs milliseconds however few rows it has.
    """
    filling = np.arange(n, table.n_rows)
    size = max(CHUNK // len(filling), 1)
    pairs = np.arange(n * len(known))
    worth = []
    for start in range(0, len(pairs), size):
        row, coalition = np.divmod(pairs[start : start + size], len(known))
        rows = [np.where(known[coalition, j][:, None], row[:, None], filling).ravel() for j in range(len(table))]
        outputs = _outputs(predict, table.compose(rows))
        worth.append(outputs.reshape(len(row), len(filling), -1).mean(axis=1))
    return np.concatenate(worth).reshape(n, len(known), -1)


def _exact(predict: Predict, table: TableColumns, n: int) -> Attribution:
    """The sum over all coalitions, which are numbered by the bits of their members."""
    p = len(table)
    numbers = np.arange(2**p)
    known = (numbers[:, None] >> np.arange(p)) & 1 == 1
    sizes = known.sum(axis=1)
    chance = np.array([factorial(s) * factorial(p - s - 1) / factorial(p) for s in range(p)])
    worth = coalition_values(predict, table, n, known)
    values = np.empty((n, p, worth.shape[2]))
    for j in range(p):
        without = numbers[~known[:, j]]
        gain = worth[:, without | (1 << j)] - worth[:, without]
        values[:, j] = np.einsum("s,nso->no", chance[sizes[without]], gain)
    return Attribution(values, worth[0, 0])


def _by_orders(predict: Predict, table: TableColumns, n: int, n_samples: int, rng: np.random.Generator) -> Attribution:
    """What each column adds when the columns of a row become known one after another, over orders and their reverses.

    Each order starts from one background row; they are taken in turn, so that each is used equally often. All rows
    see the same orders and starts.
    """
    p, n_background = len(table), table.n_rows - n
    pairs = -(-n_samples // 2)
    orders = np.concatenate([[order, order[::-1]] for order in (rng.permutation(p) for _ in range(pairs))])
    starts = np.repeat(rng.permutation(n_background)[np.arange(pairs) % n_background], 2) + n
    rank = np.argsort(orders, axis=1)  # (orders, p): when a column becomes known
    known = rank[:, None, :] < np.arange(p + 1)[:, None]  # (orders, p + 1, p)
    values, expected = [], np.zeros(1)
    for row, outputs in _walks(predict, table, n, known, starts):
        gains = np.diff(outputs, axis=1)  # (orders, p, outputs): gain of the column that came k-th
        values.append(np.take_along_axis(gains, rank[:, :, None], axis=1).mean(axis=0))
        expected = outputs[:, 0].mean(axis=0) if row == 0 else expected
    return Attribution(np.array(values), expected)


def _walks(
    predict: Predict, table: TableColumns, n: int, known: np.ndarray, starts: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """For each row the predictions (orders, p + 1, outputs) along all orders; several rows per call of ``predict``."""
    orders, points, p = known.shape
    from_start = np.repeat(starts, points)
    flat = known.reshape(-1, p)
    at_once = max(CHUNK // len(flat), 1)
    for first in range(0, n, at_once):
        rows = np.arange(first, min(first + at_once, n))
        picked = [np.where(flat[:, j], rows[:, None], from_start).ravel() for j in range(p)]
        outputs = _outputs(predict, table.compose(picked)).reshape(len(rows), orders, points, -1)
        yield from zip(rows.tolist(), outputs, strict=True)


def _by_regression(
    predict: Predict, table: TableColumns, n: int, n_samples: int, rng: np.random.Generator
) -> Attribution:
    known, weight = _coalitions(len(table), n_samples, rng)
    ends = np.array([[False] * len(table), [True] * len(table)])
    worth = coalition_values(predict, table, n, np.concatenate([ends, known]))
    Z = known.astype(np.float64)
    values = [_constrained_fit(Z, row[2:] - row[0], weight, row[1] - row[0]) for row in worth]
    return Attribution(np.array(values), worth[0, 0])


def _coalitions(p: int, n_samples: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All coalitions but the two ends with the kernel's weights, if they are few; else pairs drawn by those weights."""
    if 2**p - 2 <= n_samples:
        known = (np.arange(1, 2**p - 1)[:, None] >> np.arange(p)) & 1 == 1
        sizes = known.sum(axis=1)
        return known, np.array([(p - 1) / (comb(p, s) * s * (p - s)) for s in sizes])
    chance = np.array([1 / (s * (p - s)) for s in range(1, p)])
    sizes = rng.choice(np.arange(1, p), size=-(-n_samples // 2), p=chance / chance.sum())
    half = np.array([rng.permutation(p) < s for s in sizes])
    return np.concatenate([half, ~half]), np.ones(2 * len(half))


def _constrained_fit(Z: np.ndarray, gain: np.ndarray, weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Weighted least squares of ``gain`` (m, outputs) on membership, the coefficients adding up to ``total``."""
    if Z.shape[1] == 1:
        return total[None]
    # The last coefficient is what the others leave of the total.
    design = Z[:, :-1] - Z[:, -1:]
    rest = gain - Z[:, -1:] * total
    root = np.sqrt(weight)[:, None]
    first = np.linalg.lstsq(root * design, root * rest, rcond=None)[0]
    return np.concatenate([first, (total - first.sum(axis=0))[None]])


def _outputs(predict: Predict, rows: Any) -> np.ndarray:
    outputs = np.asarray(predict(rows), dtype=np.float64)
    if outputs.ndim not in (1, 2) or len(outputs) != len(rows):
        raise ValueError(f"shapley_values: predict must give one number or several per row; got shape {outputs.shape}.")
    return outputs.reshape(len(outputs), -1)


def _check(method: str, n_samples: int, n: int, n_background: int, p: int) -> None:
    where = "shapley_values"
    if method not in METHODS:
        raise ValueError(f"{where}: method must be one of {', '.join(METHODS)}; got {method!r}.")
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"{where}: n_samples must be an integer of at least 1; got {n_samples!r}.")
    if n < 1 or n_background < 1 or p < 1:
        raise ValueError(f"{where}: X and background must have rows and columns; got {n} and {n_background} rows.")
    if method == "exact" and p > MOST_EXACT:
        raise ValueError(f"{where}: method 'exact' takes at most {MOST_EXACT} columns; got {p}.")
