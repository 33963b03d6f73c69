r"""Targets that are computed from several columns: their sum or difference, an absolute value, a product.

``total = offense + defense`` and ``error = |bias|`` are no findings. Columns (with their absolute values) are added one
by one, each time the one that explains most of what is left of the target (orthogonal matching pursuit),

.. math:: j_{k+1} = \arg\max_j \frac{(x_j^\top r_k)^2}{x_j^\top x_j}, \qquad r_k = y - P_{j_1, \dots, j_k} y,

until nothing is left but rounding or ``MOST_PARTS`` are not enough. The same on logarithms finds products and ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from margin.data.facts import ColumnFacts

__all__ = ["Combination", "find_combination"]

#: From so many rows on a perfect relation is no accident; more than these are not needed to see it.
FEWEST_ROWS, ENOUGH_ROWS = 30, 2_000
LARGEST = 1e100  # beyond it squares of sums overflow
#: Parts of the target's variance that so many columns together explain only if it is computed from them: columns with
#: weights of any size, and two columns whose sum or difference it is, which nothing but rounding may disturb.
ALL_OF_IT, SUM_OF_TWO = 0.9999, 0.995
MOST_PARTS = 5
#: More columns than these are not tried together.
MOST_COLUMNS = 2_000
#: A weight within this of 1 or -1 is one.
ROUNDING = 0.02


class Combination:
    """The columns from which the target is computed, and how, as a phrase."""

    def __init__(self, columns: Sequence[str], phrase: str):
        self.columns, self.phrase = tuple(columns), phrase


def find_combination(columns: Mapping[str, ColumnFacts], target: ColumnFacts) -> Combination | None:
    """How a quantity is computed from two to five of the ``columns`` or the absolute value of one; None if it is not.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 50))
    >>> facts = {name: ColumnFacts(name, "number", v, np.arange(50), v) for name, v in (("a", a), ("b", b))}
    >>> find_combination(facts, ColumnFacts("y", "number", a - b, np.arange(50), a - b)).phrase
    "it is 'a' - 'b'"
    """
    numbers = {n: c for n, c in columns.items() if c.kind == "number" and c.n_distinct > 1}
    if not numbers or len(numbers) > MOST_COLUMNS or target.kind != "number":
        return None
    known = np.flatnonzero(np.isfinite(target.values.astype(np.float64)))
    some = known[np.linspace(0, len(known) - 1, min(len(known), ENOUGH_ROWS)).astype(np.intp)]
    table = np.column_stack([c.values[some].astype(np.float64) for c in numbers.values()])
    # A column that is often missing does not determine a target that is there; of the others, whole rows are compared.
    often = np.isfinite(table).mean(axis=0) > 0.5
    names, table = [n for n, kept in zip(numbers, often) if kept], table[:, often]
    whole = np.isfinite(table).all(axis=1)
    y, table = target.values[some][whole].astype(np.float64), table[whole]
    if len(y) < FEWEST_ROWS or not names or np.ptp(y) == 0 or np.abs(y).max() > LARGEST:
        return None
    squarable = np.abs(table).max(axis=0) <= LARGEST
    names, table = [name for name, kept in zip(names, squarable) if kept], table[:, squarable]
    if not names:
        return None
    return _sum(names, table, y) or _product(names, table, y)


def _sum(names: list[str], table: np.ndarray, y: np.ndarray) -> Combination | None:
    signed = [j for j in range(len(names)) if table[:, j].min() < 0 < table[:, j].max()]
    labels = [repr(name) for name in names] + [f"|{names[j]!r}|" for j in signed]
    owners = [*names, *(names[j] for j in signed)]
    chosen, weights, explained = _pursue(np.column_stack([table, np.abs(table[:, signed])]), y)
    plain = all(abs(abs(w) - 1) < ROUNDING for w in weights)
    enough = SUM_OF_TWO if plain and len(chosen) <= 2 else ALL_OF_IT
    if explained < enough or (len(chosen) == 1 and chosen[0] < len(names)):
        return None  # one column by itself is looked at where single columns are
    found = [owners[j] for j in chosen]
    if not plain:
        return Combination(found, f"it is a sum of {_list([labels[j] for j in chosen])} with constant weights")
    terms = sorted(zip(weights, (labels[j] for j in chosen)), key=lambda term: -term[0])
    text = " ".join(f"{'-' if w < 0 else '+'} {label}" for w, label in terms).removeprefix("+ ")
    return Combination(found, f"it is {text}")


def _product(names: list[str], table: np.ndarray, y: np.ndarray) -> Combination | None:
    positive = [j for j in range(len(names)) if table[:, j].min() > 0 and np.ptp(table[:, j]) > 0]
    if y.min() <= 0 or len(positive) < 2:
        return None
    chosen, weights, explained = _pursue(np.log(table[:, positive]), np.log(y))
    if explained < ALL_OF_IT or len(chosen) < 2 or any(abs(abs(w) - 1) >= ROUNDING for w in weights):
        return None
    found = [names[positive[j]] for j in chosen]
    above, below = ([n for n, w in zip(found, weights) if (w > 0) == up] for up in (True, False))
    text = " × ".join(map(repr, above)) or "1"
    return Combination(found, f"it is {text}" + "".join(f" / {name!r}" for name in below))


def _pursue(table: np.ndarray, y: np.ndarray) -> tuple[list[int], np.ndarray, float]:
    """Columns added one by one, their weights, and the part of the variance of ``y`` that they explain."""
    centered = table - table.mean(axis=0)
    lengths = np.linalg.norm(centered, axis=0)
    units = centered / np.where(lengths > 0, lengths, 1.0)
    goal = y - y.mean()
    total, rest = float(goal @ goal), goal
    chosen: list[int] = []
    weights = np.empty(0)
    while len(chosen) < min(MOST_PARTS, table.shape[1]) and float(rest @ rest) > (1 - ALL_OF_IT) * total:
        gains = np.abs(units.T @ rest)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        weights = np.linalg.lstsq(centered[:, chosen], goal, rcond=None)[0]
        rest = goal - centered[:, chosen] @ weights
        if len(chosen) == 2 and _is_rounded_sum(weights, rest, total):
            break
    return chosen, weights, 1.0 - float(rest @ rest) / total


def _is_rounded_sum(weights: np.ndarray, rest: np.ndarray, total: float) -> bool:
    return bool(np.all(np.abs(np.abs(weights) - 1) < ROUNDING) and rest @ rest <= (1 - SUM_OF_TWO) * total)


def _list(labels: list[str]) -> str:
    return f"{', '.join(labels[:-1])} and {labels[-1]}" if len(labels) > 1 else labels[0]
