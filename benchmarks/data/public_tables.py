"""Public tables without a network: of scikit-learn, statsmodels and the files below MARGIN_DATA; and a generated one.

A table comes divided: the rows set aside are seen by nobody before they are predicted.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from benchmarks.data.elevators import elevators_like
from benchmarks.peers.compare_contenders import Split, split
from margin.data import load, random_split, stratified_split

__all__ = ["GENERATED", "PUBLIC", "divided", "present"]

BUNDLED = ("breast-cancer", "diabetes", "digits", "iris", "wine")
FILES = (
    "abalone", "adult", "banknote", "california-housing", "german-credit", "horse-colic", "mammography", "pima",
    "sonar", "titanic", "wine-quality-red", "wine-quality-white",
)  # fmt: skip
#: Tables of statsmodels: module, target, task, columns that would give the target away or only name a row.
STATSMODELS: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "affairs": ("fair", "affairs", "regression", ()),
    "cancer-counties": ("cancer", "cancer", "regression", ()),
    "doctor-visits": ("randhie", "mdvis", "regression", ()),
    "food": ("engel", "foodexp", "regression", ()),
    "investments": ("grunfeld", "invest", "regression", ()),
    "party": ("anes96", "PID", "regression", ()),
    "schools": ("star98", "NABOVE", "regression", ("NBELOW",)),
    "travel": ("modechoice", "choice", "classification", ("individual",)),
    "travel-cost": ("modechoice", "gc", "regression", ("individual",)),
    "unemployment": ("macrodata", "unemp", "regression", ("year", "quarter")),
}
#: Other columns of the same tables as targets: table, target, columns left out. Rows without the target are left out.
OTHER_TARGETS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "adult-hours": ("adult", "hours_per_week", ()),
    "banknote-entropy": ("banknote", "entropy", ()),
    "breast-cancer-area": ("breast-cancer", "mean area", ()),
    "german-credit-amount": ("german-credit", "amount", ()),
    "horse-pulse": ("horse-colic", "pulse", ()),
    "iris-petal": ("iris", "petal width (cm)", ()),
    "pima-bmi": ("pima", "bmi", ()),
    "titanic-fare": ("titanic", "Fare", ("Name", "Ticket", "Cabin")),
    "wine-proline": ("wine", "proline", ()),
}
PUBLIC = (*BUNDLED, *FILES, *STATSMODELS, *OTHER_TARGETS)
GENERATED = ("elevators-like",)


def present(name: str) -> bool:
    """Whether the table can be read here."""
    table = OTHER_TARGETS[name][0] if name in OTHER_TARGETS else name
    return table not in FILES or bool(os.environ.get("MARGIN_DATA"))


def divided(name: str, seed: int) -> Split:
    """The table with a quarter of its rows, drawn by ``seed``, or its own test rows set aside."""
    if name not in (*STATSMODELS, *OTHER_TARGETS, *GENERATED):
        return split(name, seed)
    frame, target, task = _frame(name, seed)
    y = frame.pop(target).to_numpy()
    y = y.astype(int).astype(str) if task == "classification" else y.astype(float)
    train, test = stratified_split(y, 0.25, seed) if task == "classification" else random_split(len(y), 0.25, seed)
    return Split(name, task, frame.iloc[train], y[train], frame.iloc[test], y[test])


def _frame(name: str, seed: int) -> tuple[Any, str, str]:
    """All columns with the target, its name and the task."""
    if name in GENERATED:
        return elevators_like(seed=seed), "goal", "regression"
    if name in OTHER_TARGETS:
        table, target, left_out = OTHER_TARGETS[name]
        frame = load(table).table().to_pandas().dropna(subset=[target])
        return frame.drop(columns=list(left_out)).reset_index(drop=True), target, "regression"
    module, target, task, left_out = STATSMODELS[name]
    frame = importlib.import_module(f"statsmodels.datasets.{module}").load_pandas().data
    return frame.drop(columns=list(left_out)), target, task
