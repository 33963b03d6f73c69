r"""Whole groups dealt into parts in which every class has about its frequency.

Large groups come first, and each goes where it disturbs the frequencies least: the part f with the least increase of

.. math:: \sum_c \frac{n_{fc}^2}{w_f N_c^2},

where :math:`n_{fc}` counts the rows of class c in the part, :math:`N_c` all of them and :math:`w_f` is the part's size.
Groups of a single row come last and fill what each class still lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.data.parameter_texts import SPLITTING
from margin.data.split_arguments import (
    Seed,
    TrainTest,
    check_parts,
    class_codes,
    each_part_once,
    generator_of,
    size_of_test,
)

__all__ = ["stratified_group_folds", "stratified_group_split"]


@with_parameters(SPLITTING)
def stratified_group_folds(y: ArrayLike, groups: ArrayLike, k: int = 5, seed: Seed = 0) -> Iterator[TrainTest]:
    """``k`` parts of whole groups in which classes are as evenly spread as the groups allow.

    Examples
    --------
    >>> y, groups = [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]
    >>> [sorted(np.asarray(y)[test].tolist()) for _, test in stratified_group_folds(y, groups, 2)]
    [[0, 0, 1, 1], [0, 0, 1, 1]]
    """
    where = "stratified_group_folds"
    codes, owners, n_groups = _codes(where, y, groups)
    check_parts(where, k, n_groups, "groups")
    part = _deal(codes, owners, np.full(k, 1 / k), generator_of(where, seed))
    return each_part_once(part, k)


@with_parameters(SPLITTING)
def stratified_group_split(y: ArrayLike, groups: ArrayLike, test_size: float = 0.25, seed: Seed = 0) -> TrainTest:
    """Whole groups on both sides, with classes as evenly spread as the groups allow."""
    where = "stratified_group_split"
    codes, owners, n_groups = _codes(where, y, groups)
    if n_groups < 2:
        raise ValueError(f"{where}: there must be at least two groups; got one.")
    fraction = size_of_test(where, len(codes), test_size) / len(codes)
    part = _deal(codes, owners, np.array([1 - fraction, fraction]), generator_of(where, seed))
    return np.flatnonzero(part == 0), np.flatnonzero(part == 1)


def _codes(where: str, y: Any, groups: Any) -> tuple[np.ndarray, np.ndarray, int]:
    codes, owners = class_codes(where, y)[0], class_codes(where, groups)[0]
    if len(codes) != len(owners):
        raise ValueError(f"{where}: y and groups must have equal length; got {len(codes)} and {len(owners)}.")
    return codes, owners, int(owners.max()) + 1


def _deal(codes: np.ndarray, owners: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The part of every row; ``sizes`` are the parts of all rows that the parts should have."""
    totals = np.bincount(codes).astype(np.float64)
    counts = np.zeros((owners.max() + 1, len(totals)))
    np.add.at(counts, (owners, codes), 1.0)
    per_group = counts.sum(axis=1)
    order = rng.permutation(len(counts))
    order = order[np.argsort(-per_group[order], kind="stable")]
    n_large = int(np.count_nonzero(per_group > 1))
    part_of_group = np.empty(len(counts), dtype=np.intp)
    filled = np.zeros((len(sizes), len(totals)))
    for group in order[:n_large]:
        own = counts[group] / totals**2
        best = int(np.argmin((2 * filled @ own + counts[group] @ own) / sizes))
        part_of_group[group] = best
        filled[best] += counts[group]
    _fill(order[n_large:], counts, totals, sizes, filled, part_of_group)
    return part_of_group[owners]


def _fill(
    single: np.ndarray,
    counts: np.ndarray,
    totals: np.ndarray,
    sizes: np.ndarray,
    filled: np.ndarray,
    part_of_group: np.ndarray,
) -> None:
    """Deal groups of one row, class by class, to the parts that lack most of the class; the whole stays even, too."""
    of_class = np.argmax(counts[single], axis=1)
    for c in range(len(totals)):
        mine = single[of_class == c]
        lacks = sizes * totals[c] - filled[:, c]
        # Each part gets what it lacks in whole rows; rows beyond that go, one each, to the parts with the fewest rows.
        share = np.maximum(np.floor(lacks), 0.0)
        share = np.floor(share * min(1.0, len(mine) / max(share.sum(), 1.0))).astype(np.intp)
        dealt = np.repeat(np.arange(len(sizes)), share)
        filled[:, c] += share
        rest = len(mine) - len(dealt)
        for _ in range(rest):
            need = (sizes * totals[c] - filled[:, c]) / sizes + 1e-3 * (sizes * totals.sum() - filled.sum(axis=1))
            part = int(np.argmax(need))
            dealt = np.append(dealt, part)
            filled[part, c] += 1
        part_of_group[mine] = dealt
