r"""Which rows to train on and which to test on: functions that return positions, never data.

Every split function returns ``(train, test)`` and every fold function yields such pairs. The two never overlap, and
except for expanding time windows they cover all rows. ``test_size`` is a fraction strictly between 0 and 1 (rounded to
the nearest row) or a number of rows. ``seed`` is an integer or a generator; the same seed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from margin.core.classes import encode_classes
from margin.core.missing import any_missing

__all__ = [
    "group_folds",
    "group_split",
    "hold_out",
    "quantile_bins",
    "random_folds",
    "random_split",
    "stratified_fold_numbers",
    "stratified_folds",
    "stratified_split",
    "three_way_split",
    "time_folds",
    "time_split",
]

Seed = int | np.random.Generator
TrainTest = tuple[np.ndarray, np.ndarray]


def random_split(n: int, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    """Uniformly random rows.

    >>> train, test = random_split(10, 0.3, seed=1)
    >>> len(train), len(test), sorted({*train, *test}) == list(range(10))
    (7, 3, True)
    """
    n = _rows("random_split", n)
    n_test = _n_test("random_split", n, test_size)
    order = _generator("random_split", seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def three_way_split(
    n: int, validation_size: float = 0.2, test_size: float = 0.2, seed: Seed = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random (train, validation, test) rows: choose by the second, report on the third."""
    n = _rows("three_way_split", n)
    n_test = _n_test("three_way_split", n, test_size)
    n_validation = _n_test("three_way_split", n, validation_size, "validation_size")
    if n_test + n_validation >= n:
        raise ValueError(
            f"three_way_split: validation and test take {n_validation + n_test} of {n} rows; none is left."
        )
    order = _generator("three_way_split", seed).permutation(n)
    test, validation, train = np.split(order, [n_test, n_test + n_validation])
    return np.sort(train), np.sort(validation), np.sort(test)


def stratified_split(y: Any, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    r"""Random rows with the class proportions of ``y`` in both parts, to within one row per class.

    A class of :math:`n_c` of :math:`n` rows gives :math:`n_c n_\text{test}/n` test rows, rounded down or up so that
    the total is exact (largest remainders first). For a continuous response stratify on :func:`quantile_bins`.

    >>> y = [0] * 500 + [1] * 500
    >>> train, test = stratified_split(y, 0.5)
    >>> int(sum(test < 500))
    250
    """
    codes, counts = _classes("stratified_split", y)
    n_test = _n_test("stratified_split", len(codes), test_size)
    rng = _generator("stratified_split", seed)
    exact = counts * (n_test / len(codes))
    takes = np.floor(exact).astype(np.intp)
    # Equal remainders are ordered by chance, so that no class is favored for its name.
    rank = np.lexsort((rng.permutation(len(counts)), -(exact - takes)))
    takes[rank[: n_test - takes.sum()]] += 1
    order = _shuffled_by_class(codes, rng)
    position = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    in_test = position < np.repeat(takes, counts)
    return np.sort(order[~in_test]), np.sort(order[in_test])


def hold_out(n: int, fraction: float, seed: Seed, labels: Any = None) -> TrainTest:
    """Rows to learn from and a ``fraction`` of rows to judge by, for a model that stops early: with the class
    proportions of ``labels`` (n,) in both parts where they are given.

    >>> learn, judge = hold_out(10, 0.2, seed=0, labels=[0] * 5 + [1] * 5)
    >>> len(learn), [int(row >= 5) for row in judge]
    (8, [0, 1])
    """
    return random_split(n, fraction, seed) if labels is None else stratified_split(labels, fraction, seed)


def group_split(groups: Any, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    """Whole groups (patients, writers, sites) at random: no group is on both sides.

    Groups are drawn in random order and put into the test part while they fit into ``test_size`` rows, so the part is
    never larger than asked for unless the smallest group alone is.
    """
    codes, counts = _classes("group_split", groups)
    if len(counts) < 2:
        raise ValueError("group_split: there must be at least two groups; got one.")
    n_test = _n_test("group_split", len(codes), test_size)
    order = _generator("group_split", seed).permutation(len(counts))
    chosen, taken = [], 0
    for group in order:
        if taken + counts[group] <= n_test:
            chosen.append(group)
            taken += counts[group]
    in_test = np.isin(codes, chosen or [int(np.argmin(counts))])
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def time_split(times: Any, test_size: float = 0.25) -> TrainTest:
    """The latest rows for testing: every training time is before every test time.

    Rows of the same time stay together, on the test side if the cut would divide them; without ties the sizes are
    exact. Positions come in order of time.

    >>> time_split([3, 1, 2, 4], 0.25)
    (array([1, 2, 0]), array([3]))
    """
    order, moments = _ordered("time_split", times)
    cut = _moment_start(moments, len(order) - _n_test("time_split", len(order), test_size))
    if cut == 0:
        raise ValueError("time_split: so many rows share one time that none is left to train on.")
    return order[:cut], order[cut:]


def random_folds(n: int, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` random parts, sizes equal up to one row, each the test part once.

    >>> [len(test) for _, test in random_folds(11, 3)]
    [4, 4, 3]
    """
    n = _rows("random_folds", n)
    _check_k("random_folds", k, n, "rows")
    fold = np.empty(n, dtype=np.intp)
    fold[_generator("random_folds", seed).permutation(n)] = np.arange(n) % k
    return _folds(fold, k)


def stratified_folds(y: Any, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` parts in which each class, and the table, is spread evenly: counts differ by at most one row."""
    return _folds(stratified_fold_numbers(y, k, seed), k)


def stratified_fold_numbers(y: Any, k: int = 5, seed: Seed = 0) -> np.ndarray:
    """The part, 0 to ``k`` - 1, of every row under :func:`stratified_folds`."""
    codes, _ = _classes("stratified_folds", y)
    _check_k("stratified_folds", k, len(codes), "rows")
    fold = np.empty(len(codes), dtype=np.intp)
    # Rows sorted by class are dealt like cards; the deal does not start anew with each class.
    fold[_shuffled_by_class(codes, _generator("stratified_folds", seed))] = np.arange(len(codes)) % k
    return fold


def group_folds(groups: Any, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` parts of whole groups; large groups are placed first, each into the part that is smallest so far."""
    codes, counts = _classes("group_folds", groups)
    _check_k("group_folds", k, len(counts), "groups")
    order = _generator("group_folds", seed).permutation(len(counts))
    sizes, fold_of_group = np.zeros(k, dtype=np.intp), np.empty(len(counts), dtype=np.intp)
    for group in order[np.argsort(-counts[order], kind="stable")]:
        smallest = int(np.argmin(sizes))
        fold_of_group[group] = smallest
        sizes[smallest] += counts[group]
    return _folds(fold_of_group[codes], k)


def time_folds(times: Any, k: int = 5, gap: int = 0) -> Iterator[TrainTest]:
    """``k`` steps forward: train on the past, test on the next part; the past grows from step to step.

    The rows in order of time are cut into ``k + 1`` parts; the first is only ever trained on. ``gap`` rows before each
    test part are left out of training. Rows of the same time stay together: no training row is as late as a test row.
    """
    order, moments = _ordered("time_folds", times)
    _check_k("time_folds", k, len(order) - 1, "rows after the first")
    if isinstance(gap, bool) or not isinstance(gap, int | np.integer) or gap < 0:
        raise ValueError(f"time_folds: gap must be an integer of at least 0; got {gap!r}.")
    size = len(order) // (k + 1)
    cuts = [_moment_start(moments, len(order) - (k - i) * size) for i in range(k)] + [len(order)]
    for start, stop in pairwise(cuts):
        if start - gap < 1 or stop == start:
            raise ValueError(
                f"time_folds: {len(order)} rows with their equal times and gap {gap} do not give {k} folds."
            )
    return ((order[: start - gap], order[start:stop]) for start, stop in pairwise(cuts))


def quantile_bins(y: Any, n_bins: int = 10) -> np.ndarray:
    """Bin numbers of a continuous response, cut at its quantiles: something to stratify on.

    >>> quantile_bins([1.0, 5.0, 2.0, 9.0], 2)
    array([0, 1, 0, 1])
    """
    values = np.asarray(y)
    if values.ndim != 1 or not values.size or values.dtype.kind not in "iuf" or not np.all(np.isfinite(values)):
        raise ValueError("quantile_bins: y must be a non-empty list of finite numbers.")
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or not 1 <= n_bins <= len(values):
        raise ValueError(f"quantile_bins: n_bins must be between 1 and the {len(values)} values; got {n_bins!r}.")
    inner = np.quantile(values, np.arange(1, n_bins) / n_bins)
    return np.searchsorted(inner, values, side="left")


def _folds(fold: np.ndarray, k: int) -> Iterator[TrainTest]:
    return ((np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k))


def _shuffled_by_class(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Positions sorted by class and in random order within each."""
    order = rng.permutation(len(codes))
    return order[np.argsort(codes[order], kind="stable")]


def _moment_start(moments: np.ndarray, position: int) -> int:
    """The first position that has the same time as ``position``."""
    return int(np.searchsorted(moments, moments[position], side="left"))


def _ordered(where: str, times: Any) -> TrainTest:
    """Positions in order of time, and the ordered times."""
    moments = np.asarray(times)
    if moments.ndim != 1 or len(moments) < 2 or moments.dtype.kind not in "iufM":
        raise ValueError(f"{where}: times must be a list of at least two numbers or dates; got {moments.dtype}.")
    if np.any(np.isnat(moments)) if moments.dtype.kind == "M" else np.any(np.isnan(moments)):
        raise ValueError(f"{where}: times must not be missing.")
    order = np.argsort(moments, kind="stable")
    return order, moments[order]


def _classes(where: str, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Each row's class as a code, and the count of each code; labels may be of mixed types."""
    labels = np.asarray(values)
    if labels.ndim != 1 or len(labels) < 2:
        raise ValueError(f"{where}: labels must be a list of at least two; got shape {labels.shape}.")
    if any_missing(labels.tolist()):
        raise ValueError(f"{where}: labels must not be missing.")
    if labels.dtype == object:
        labels = np.array([f"{type(value).__name__} {value}" for value in labels.tolist()])
    codes = encode_classes(labels)[1]
    return codes, np.bincount(codes)


def _rows(where: str, n: int) -> int:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(f"{where}: n must be a number of rows of at least 2; got {n!r}.")
    return int(n)


def _n_test(where: str, n: int, size: float, argument: str = "test_size") -> int:
    """Rows in the test part: at least one, and at least one left."""
    if isinstance(size, bool) or not isinstance(size, int | float | np.number) or not np.isfinite(size):
        raise ValueError(f"{where}: {argument} must be a number; got {size!r}.")
    is_count = isinstance(size, int | np.integer)
    if not (1 <= size < n if is_count else 0 < size < 1):
        raise ValueError(f"{where}: {argument} must be a fraction between 0 and 1 or 1 to {n - 1} rows; got {size!r}.")
    return int(size) if is_count else min(max(round(float(size) * n), 1), n - 1)


def _check_k(where: str, k: int, n: int, what: str) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 2 <= k <= n:
        raise ValueError(f"{where}: k must be between 2 and the {n} {what}; got {k!r}.")


def _generator(where: str, seed: Seed) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"{where}: seed must be an integer of at least 0 or a generator; got {seed!r}.")
    return np.random.default_rng(seed)
