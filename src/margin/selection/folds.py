"""Folds that fit the data: by class, at random, by whole groups or forward in time, and rows that judge the winner.

The best of many models looks better in its folds than it is, because it was chosen by them. So a part of the rows is
set aside before anything is fitted; it judges the winner once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from margin.core.array_types import ArrayLike
from margin.core.classes import encode_classes
from margin.data import folds as data_folds
from margin.data import splits
from margin.data.grouped_classes import stratified_group_folds, stratified_group_split

__all__ = ["FoldPlan", "plan_folds"]

TrainTest = tuple[np.ndarray, np.ndarray]

#: From this many rows on, a fifth of them is held out; of fewer, so small a part would say little.
ROWS_FOR_HELD_OUT, HELD_OUT_FRACTION = 500, 0.2
#: The rarer of two classes needs so many rows for that: one to judge by, and one for each of two folds.
RARER_FOR_HELD_OUT = 3


@dataclass(frozen=True)
class FoldPlan:
    """Positions of rows: ``folds`` are (train, test) pairs within ``development``; ``held_out`` may be empty.

    ``kind`` is "stratified", "random", "groups" or "time"; ``labels`` are what is stratified by, the groups or the
    times of all rows. ``copies``, where given, has a number per row; rows that share one are on the same side of every
    division. ``classes`` are the labels whose frequencies whole groups keep as far as they can; None for a quantity.
    """

    kind: str
    development: np.ndarray
    held_out: np.ndarray
    folds: list[TrainTest]
    labels: np.ndarray | None = None
    label_name: str = ""
    both_classes: bool = False
    copies: np.ndarray | None = None
    classes: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray | None:
        return self.labels if self.kind == "groups" else None

    @property
    def times(self) -> np.ndarray | None:
        return self.labels if self.kind == "time" else None

    @cached_property
    def lacks_a_class(self) -> bool:
        """Whether some fold has no row of some class to be tested on."""
        if self.kind != "stratified" or self.labels is None:
            return False
        classes = len(set(self.labels[self.development].tolist()))
        return any(len(set(self.labels[test].tolist())) < classes for _, test in self.folds)

    @property
    def sentence(self) -> str:
        """How the rows were divided."""
        k, name = len(self.folds), f" of {self.label_name}" if self.label_name else ""
        equal = (
            "class frequencies as equal as the rarest class allows" if self.lacks_a_class else "equal class frequencies"
        )
        how = {
            "stratified": f"{k} folds with {equal}",
            "random": f"{k} random folds",
            "groups": f"{k} folds of whole groups{name}"
            + ("" if self.classes is None else ", class frequencies as equal as they allow"),
            "time": f"{k} steps forward in time{name}, each tested on what follows its training rows",
        }[self.kind]
        together = "" if self.copies is None else ", equal rows in one"
        held = f"; {len(self.held_out):,} rows held out for the winner" if len(self.held_out) else ""
        return f"{len(self.development):,} rows in {how}{together}{held}"

    def within(self, rows: np.ndarray, k: int, seed: int = 0) -> list[TrainTest]:
        """Folds of the same kind inside ``rows``, as positions in ``rows``: for choices made on training rows only."""
        labels = None if self.labels is None else self.labels[rows]
        classes = None if self.classes is None else self.classes[rows]
        if self.copies is None:
            k = _possible_folds(self.kind, labels, len(rows), k, self.both_classes)
            return _folds(self.kind, labels, len(rows), k, seed, classes)
        if self.kind == "stratified":
            dealt = _folds_of_copies(labels, self.copies[rows], k, seed)
            if dealt is not None and _have_all_classes(labels, [test for _, test in dealt], self.both_classes):
                return dealt
        first, number = _first_of_each(self.copies[rows])
        alone = replace(self, labels=None if labels is None else labels[first], copies=None)
        folds = alone.within(np.arange(len(first)), k, seed)
        return [(_rows_of(train, number), _rows_of(test, number)) for train, test in folds]

    def part(self, rows: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
        """``n`` of ``rows``, fewer for smaller ``n`` being among them: the latest ones in time, else drawn evenly.

        Where classes are stratified, each keeps its frequency and at least one row.
        """
        if n >= len(rows):
            return rows
        if self.kind == "time":
            return rows[-n:]
        rng = np.random.default_rng(seed)
        if self.kind != "stratified" or self.labels is None:
            return np.sort(rows[rng.permutation(len(rows))[:n]])
        # The rank of a row within its class, as a fraction: the n least are every class in its proportion.
        order = rng.permutation(len(rows))
        codes = encode_classes(self.labels[rows[order]].astype(str))[1]
        counts = np.bincount(codes)
        within = np.empty(len(rows))
        for code in range(len(counts)):
            within[codes == code] = np.arange(counts[code]) / counts[code]
        return np.sort(rows[order[np.argsort(within, kind="stable")[:n]]])


def plan_folds(
    y: ArrayLike,
    task: str,
    *,
    n_folds: int = 5,
    held_out: float | None = None,
    groups: ArrayLike | None = None,
    times: Any = None,
    label_name: str = "",
    both_classes: bool = False,
    copies: Any = None,
    seed: int = 0,
) -> FoldPlan:
    """Divide rows for a comparison; ``groups`` or ``times`` (one entry per row) decide how, else the task does.

    ``held_out`` is a fraction of the rows, 0 for none; by default a fifth from 500 rows on. With ``both_classes`` the
    rarer of two classes is in every part, at the price of fewer folds: without it nothing can be ranked. ``copies`` has
    a number per row; rows that share one have one target, and are trained on or tested on together. It does not go with
    groups or times, which decide that themselves.

    Parameters
    ----------
    y : array-like of shape (n,)
        Targets.
    task : {"classification", "regression"}
        Whether folds are stratified.
    n_folds : int
        Number of folds, at most.
    held_out : float, optional
        Fraction of the rows that judge the winner.
    groups : array-like of shape (n,), optional
        Rows with one value stay in one fold.
    times : array-like of shape (n,), optional
        Folds go forward in time.
    label_name : str
        The column of groups or times, for messages.
    both_classes : bool
        Whether every part must have both classes.
    copies : array-like of shape (n,), optional
        Rows with one number are copies of each other and stay together.
    seed : int
        Seed.

    Examples
    --------
    >>> plan = plan_folds([0, 1] * 50, "classification", held_out=0.2)
    >>> plan.kind, len(plan.development), len(plan.held_out), len(plan.folds)
    ('stratified', 80, 20, 5)
    """
    target = np.asarray(y)
    if len(target) < 4:
        raise ValueError(f"plan_folds: a comparison needs at least 4 rows with a target; got {len(target)}.")
    if groups is not None and times is not None:
        raise ValueError("plan_folds: give groups or times, not both.")
    if held_out is not None and not 0 <= held_out < 1:
        raise ValueError(f"plan_folds: held_out must be a fraction of the rows, 0 for none; got {held_out!r}.")
    kind = "groups" if groups is not None else "time" if times is not None else ""
    kind = kind or ("stratified" if task == "classification" else "random")
    labels = {"groups": groups, "time": times, "stratified": target}.get(kind)
    labels = None if labels is None else np.asarray(labels)
    if held_out is None:
        enough = len(target) >= ROWS_FOR_HELD_OUT and not (both_classes and _rarer(target) < RARER_FOR_HELD_OUT)
        held_out = HELD_OUT_FRACTION if enough else 0.0
    if copies is not None and kind in ("stratified", "random"):
        options = {"n_folds": n_folds, "held_out": held_out, "both_classes": both_classes, "seed": seed}
        return _with_copies(target, task, np.asarray(copies), labels, options)
    classes = target if kind == "groups" and task == "classification" else None
    development, judged = _hold_out(kind, labels, len(target), held_out, seed, classes)
    both_classes = both_classes and kind == "stratified"
    if both_classes and held_out:
        development, judged = _with_both_classes(labels, development, judged)
    inside = None if labels is None else labels[development]
    k = _possible_folds(kind, inside, len(development), n_folds, both_classes)
    # Another stream than that of the split: the same one would deal the same order again.
    relative = _folds(kind, inside, len(development), k, seed + 1, None if classes is None else classes[development])
    folds = [(development[train], development[test]) for train, test in relative]
    return FoldPlan(kind, development, judged, folds, labels, label_name, both_classes, classes=classes)


def _with_copies(
    target: np.ndarray, task: str, copies: np.ndarray, labels: np.ndarray | None, options: dict[str, Any]
) -> FoldPlan:
    """Equal rows are dealt together so that classes keep their frequencies; where that cannot be (a quantity, a class
    that would miss from a part), the first of all equal rows is divided, and the others follow it."""
    first, number = _first_of_each(copies)
    if task == "classification" and (plan := _dealt_copies(target, number, options)) is not None:
        return plan
    plan = plan_folds(target[first], task, **options)
    return replace(
        plan,
        development=_rows_of(plan.development, number),
        held_out=_rows_of(plan.held_out, number),
        folds=[(_rows_of(train, number), _rows_of(test, number)) for train, test in plan.folds],
        labels=labels,
        copies=number,
    )


def _dealt_copies(target: np.ndarray, copies: np.ndarray, options: dict[str, Any]) -> FoldPlan | None:
    """Folds of whole sets of equal rows with equal class frequencies, or None if a part would lack a class it needs."""
    development, judged, seed = np.arange(len(target)), np.arange(0), options["seed"]
    if options["held_out"]:
        development, judged = stratified_group_split(target, copies, options["held_out"], seed)
    folds = _folds_of_copies(target[development], copies[development], options["n_folds"], seed + 1)
    if folds is None:
        return None
    placed = [(development[train], development[test]) for train, test in folds]
    parts = [test for _, test in placed] + ([judged] if len(judged) else [])
    if not _have_all_classes(target, parts, options["both_classes"]):
        return None
    both = bool(options["both_classes"])
    return FoldPlan("stratified", development, judged, placed, target, both_classes=both, copies=copies)


def _folds_of_copies(labels: Any, copies: np.ndarray, k: int, seed: int) -> list[TrainTest] | None:
    k = min(k, len(np.unique(copies)))
    return list(stratified_group_folds(labels, copies, k, seed)) if k > 1 else None


def _have_all_classes(labels: Any, parts: list[np.ndarray], asked: bool) -> bool:
    """Whether each part has rows, and if ``asked`` rows of every class."""
    if not asked:
        return all(len(part) for part in parts)
    n_classes = len(np.unique(np.asarray(labels).astype(str)))
    return all(len(np.unique(np.asarray(labels)[part].astype(str))) == n_classes for part in parts)


def _first_of_each(copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each number, and for every row which of them it follows, both in order of appearance."""
    _, first, code = np.unique(copies, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(first), dtype=np.intp)
    place[order] = np.arange(len(first))
    return first[order], place[code]


def _rows_of(chosen: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The rows that follow the chosen ones."""
    is_chosen = np.zeros(number.max() + 1, dtype=bool)
    is_chosen[chosen] = True
    return np.flatnonzero(is_chosen[number])


def _hold_out(
    kind: str, labels: np.ndarray | None, n: int, fraction: float, seed: int, classes: np.ndarray | None
) -> TrainTest:
    if fraction == 0:
        return np.arange(n), np.arange(0)
    if labels is None or kind == "random":
        return splits.random_split(n, fraction, seed)
    if kind == "groups" and classes is not None:
        development, judged = stratified_group_split(classes, labels, fraction, seed)
        if len(development) and len(judged):
            return development, judged
    if kind == "groups":
        return splits.group_split(labels, fraction, seed)
    return splits.time_split(labels, fraction) if kind == "time" else splits.stratified_split(labels, fraction, seed)


def _with_both_classes(labels: Any, development: np.ndarray, judged: np.ndarray) -> TrainTest:
    """The same division, but a class that is not among the judged rows gives one: a fifth of two rows may be none."""
    for label in np.setdiff1d(labels.astype(str), labels[judged].astype(str)):
        moved = development[labels[development].astype(str) == label][:1]
        development, judged = np.setdiff1d(development, moved), np.union1d(judged, moved)
    return development, judged


def _rarer(labels: Any) -> int:
    """How many rows the rarer of two classes has; of more classes, all rows count."""
    counts = np.unique(np.asarray(labels).astype(str), return_counts=True)[1]
    return int(counts.min()) if len(counts) == 2 else len(labels)


def _possible_folds(kind: str, labels: np.ndarray | None, n: int, k: int, both_classes: bool = False) -> int:
    """At most one fold per group, per moment after the first, or per row (of the rarer of two classes)."""
    if kind == "groups":
        n = len(np.unique(np.asarray(labels).astype(str)))
    elif kind == "time":
        n = len(np.unique(np.asarray(labels))) - 1
    elif both_classes:
        n = max(_rarer(labels), min(n, 2))  # a single row cannot be in two folds, and one fold is none
    if n < 2:
        raise ValueError(
            f"plan_folds: two folds need at least two {'groups' if kind == 'groups' else 'times or rows'}."
        )
    return min(k, n)


def _folds(
    kind: str, labels: np.ndarray | None, n: int, k: int, seed: int, classes: np.ndarray | None = None
) -> list[TrainTest]:
    if labels is None or kind == "random":
        return list(data_folds.random_folds(n, k, seed))
    if kind == "groups" and classes is not None:
        return list(stratified_group_folds(classes, labels, k, seed))
    if kind == "groups":
        return list(data_folds.group_folds(labels, k, seed))
    return list(data_folds.time_folds(labels, k) if kind == "time" else data_folds.stratified_folds(labels, k, seed))
