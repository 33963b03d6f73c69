"""Cross-validation: which rows each fold trains on and which it tests on, as pairs of positions.

The parts of a fold never overlap, and except for expanding time windows they cover all rows. ``seed`` is an integer or
a generator; the same seed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.data.parameter_texts import SPLITTING
from margin.data.split_arguments import (
    Seed,
    TrainTest,
    check_parts,
    checked_rows,
    class_codes,
    each_part_once,
    generator_of,
    moment_start,
    shuffle_by_class,
    time_order,
)

__all__ = ["group_folds", "random_folds", "stratified_fold_numbers", "stratified_folds", "time_folds"]


@with_parameters(SPLITTING)
def random_folds(n: int, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` random parts, sizes equal up to one row, each the test part once.

    Examples
    --------
    >>> [len(test) for _, test in random_folds(11, 3)]
    [4, 4, 3]
    """
    n = checked_rows("random_folds", n)
    check_parts("random_folds", k, n, "rows")
    fold = np.empty(n, dtype=np.intp)
    fold[generator_of("random_folds", seed).permutation(n)] = np.arange(n) % k
    return each_part_once(fold, k)


@with_parameters(SPLITTING)
def stratified_folds(y: ArrayLike, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` parts in which each class, and the table, is spread evenly: counts differ by at most one row."""
    return each_part_once(stratified_fold_numbers(y, k, seed), k)


@with_parameters(SPLITTING)
def stratified_fold_numbers(y: ArrayLike, k: int = 5, seed: Seed = 0) -> np.ndarray:
    """The part, 0 to ``k`` - 1, of every row under :func:`stratified_folds`."""
    codes, _ = class_codes("stratified_folds", y)
    check_parts("stratified_folds", k, len(codes), "rows")
    fold = np.empty(len(codes), dtype=np.intp)
    # Rows sorted by class are dealt like cards; the deal does not start anew with each class.
    fold[shuffle_by_class(codes, generator_of("stratified_folds", seed))] = np.arange(len(codes)) % k
    return fold


@with_parameters(SPLITTING)
def group_folds(groups: ArrayLike, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` parts of whole groups; large groups are placed first, each into the part that is smallest so far."""
    codes, counts = class_codes("group_folds", groups)
    check_parts("group_folds", k, len(counts), "groups")
    order = generator_of("group_folds", seed).permutation(len(counts))
    sizes, fold_of_group = np.zeros(k, dtype=np.intp), np.empty(len(counts), dtype=np.intp)
    for group in order[np.argsort(-counts[order], kind="stable")]:
        smallest = int(np.argmin(sizes))
        fold_of_group[group] = smallest
        sizes[smallest] += counts[group]
    return each_part_once(fold_of_group[codes], k)


@with_parameters(SPLITTING)
def time_folds(times: ArrayLike, k: int = 5, gap: int = 0) -> Iterator[TrainTest]:
    """``k`` steps forward: train on the past, test on the next part; the past grows from step to step.

    The rows in order of time are cut into ``k + 1`` parts; the first is only ever trained on. ``gap`` rows before each
    test part are left out of training. Rows of the same time stay together: no training row is as late as a test row.

    Parameters
    ----------
    k : int
        Number of steps.
    gap : int
        Rows left out before each test part.
    """
    order, moments = time_order("time_folds", times)
    check_parts("time_folds", k, len(order) - 1, "rows after the first")
    if isinstance(gap, bool) or not isinstance(gap, int | np.integer) or gap < 0:
        raise ValueError(f"time_folds: gap must be an integer of at least 0; got {gap!r}.")
    size = len(order) // (k + 1)
    cuts = [moment_start(moments, len(order) - (k - i) * size) for i in range(k)] + [len(order)]
    for start, stop in pairwise(cuts):
        if start - gap < 1 or stop == start:
            raise ValueError(
                f"time_folds: {len(order)} rows with their equal times and gap {gap} do not give {k} folds."
            )
    return ((order[: start - gap], order[start:stop]) for start, stop in pairwise(cuts))
