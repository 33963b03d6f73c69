r"""Which rows to train on and which to test on: functions that return positions, never data.

Every function returns ``(train, test)``, which never overlap and cover all rows. ``test_size`` is a fraction strictly
between 0 and 1 (rounded to the nearest row) or a number of rows. ``seed`` is an integer or a generator; the same seed
gives the same rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.data.parameter_texts import SPLITTING
from margin.data.split_arguments import (
    Seed,
    TrainTest,
    checked_rows,
    class_codes,
    generator_of,
    moment_start,
    shuffle_by_class,
    size_of_test,
    time_order,
)

__all__ = [
    "group_split",
    "hold_out",
    "quantile_bins",
    "random_split",
    "stratified_split",
    "three_way_split",
    "time_split",
]


@with_parameters(SPLITTING)
def random_split(n: int, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    """Uniformly random rows.

    Examples
    --------
    >>> train, test = random_split(10, 0.3, seed=1)
    >>> len(train), len(test), sorted({*train, *test}) == list(range(10))
    (7, 3, True)
    """
    n = checked_rows("random_split", n)
    n_test = size_of_test("random_split", n, test_size)
    order = generator_of("random_split", seed).permutation(n)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


@with_parameters(SPLITTING)
def three_way_split(
    n: int, validation_size: float = 0.2, test_size: float = 0.2, seed: Seed = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random (train, validation, test) rows: choose by the second, report on the third.

    Parameters
    ----------
    validation_size : float or int
        Fraction of the rows for validation, or their number.
    """
    n = checked_rows("three_way_split", n)
    n_test = size_of_test("three_way_split", n, test_size)
    n_validation = size_of_test("three_way_split", n, validation_size, "validation_size")
    if n_test + n_validation >= n:
        raise ValueError(
            f"three_way_split: validation and test take {n_validation + n_test} of {n} rows; none is left."
        )
    order = generator_of("three_way_split", seed).permutation(n)
    test, validation, train = np.split(order, [n_test, n_test + n_validation])
    return np.sort(train), np.sort(validation), np.sort(test)


@with_parameters(SPLITTING)
def stratified_split(y: ArrayLike, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    r"""Random rows with the class proportions of ``y`` in both parts, to within one row per class.

    A class of :math:`n_c` of :math:`n` rows gives :math:`n_c n_\text{test}/n` test rows, rounded down or up so that
    the total is exact (largest remainders first). For a continuous response stratify on :func:`quantile_bins`.

    Examples
    --------
    >>> y = [0] * 500 + [1] * 500
    >>> train, test = stratified_split(y, 0.5)
    >>> int(sum(test < 500))
    250
    """
    codes, counts = class_codes("stratified_split", y)
    n_test = size_of_test("stratified_split", len(codes), test_size)
    rng = generator_of("stratified_split", seed)
    exact = counts * (n_test / len(codes))
    takes = np.floor(exact).astype(np.intp)
    # Equal remainders are ordered by chance, so that no class is favored for its name.
    rank = np.lexsort((rng.permutation(len(counts)), -(exact - takes)))
    takes[rank[: n_test - takes.sum()]] += 1
    order = shuffle_by_class(codes, rng)
    position = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
    in_test = position < np.repeat(takes, counts)
    return np.sort(order[~in_test]), np.sort(order[in_test])


def hold_out(n: int, fraction: float, seed: Seed, labels: ArrayLike | None = None) -> TrainTest:
    """Rows to learn from and a ``fraction`` of rows to judge by, for a model that stops early: with the class
    proportions of ``labels`` (n,) in both parts where they are given.

    >>> learn, judge = hold_out(10, 0.2, seed=0, labels=[0] * 5 + [1] * 5)
    >>> len(learn), [int(row >= 5) for row in judge]
    (8, [0, 1])
    """
    return random_split(n, fraction, seed) if labels is None else stratified_split(labels, fraction, seed)


@with_parameters(SPLITTING)
def group_split(groups: ArrayLike, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    """Whole groups (patients, writers, sites) at random: no group is on both sides.

    Groups are drawn in random order and put into the test part while they fit into ``test_size`` rows, so the part is
    never larger than asked for unless the smallest group alone is.
    """
    codes, counts = class_codes("group_split", groups)
    if len(counts) < 2:
        raise ValueError("group_split: there must be at least two groups; got one.")
    n_test = size_of_test("group_split", len(codes), test_size)
    order = generator_of("group_split", seed).permutation(len(counts))
    chosen, taken = [], 0
    for group in order:
        if taken + counts[group] <= n_test:
            chosen.append(group)
            taken += counts[group]
    in_test = np.isin(codes, chosen or [int(np.argmin(counts))])
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


@with_parameters(SPLITTING)
def time_split(times: ArrayLike, test_size: float = 0.25) -> TrainTest:
    """The latest rows for testing: every training time is before every test time.

    Rows of the same time stay together, on the test side if the cut would divide them; without ties the sizes are
    exact. Positions come in order of time.

    Examples
    --------
    >>> time_split([3, 1, 2, 4], 0.25)
    (array([1, 2, 0]), array([3]))
    """
    order, moments = time_order("time_split", times)
    cut = moment_start(moments, len(order) - size_of_test("time_split", len(order), test_size))
    if cut == 0:
        raise ValueError("time_split: so many rows share one time that none is left to train on.")
    return order[:cut], order[cut:]


def quantile_bins(y: ArrayLike, n_bins: int = 10) -> np.ndarray:
    """Bin numbers of a continuous response, cut at its quantiles: something to stratify on.

    Parameters
    ----------
    y : array-like of shape (n,)
        Responses.
    n_bins : int
        Number of bins, at most.

    Examples
    --------
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
