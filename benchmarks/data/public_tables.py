"""Public tables without a network: of scikit-learn, statsmodels and the files below MARGIN_DATA; and a generated one.

A table comes divided: the rows set aside are seen by nobody before they are predicted.
"""

from __future__ import annotations

import importlib
import os

from benchmarks.data.elevators import elevators_like
from benchmarks.peers.compare_contenders import Split, split
from margin.data import random_split, stratified_split

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
}
PUBLIC = (*BUNDLED, *FILES, *STATSMODELS)
GENERATED = ("elevators-like",)


def present(name: str) -> bool:
    """Whether the table can be read here."""
    return name not in FILES or bool(os.environ.get("MARGIN_DATA"))


def divided(name: str, seed: int) -> Split:
    """The table with a quarter of its rows, drawn by ``seed``, or its own test rows set aside."""
    if name not in (*STATSMODELS, *GENERATED):
        return split(name, seed)
    if name in GENERATED:
        frame, target, task = elevators_like(seed=seed), "goal", "regression"
    else:
        module, target, task, left_out = STATSMODELS[name]
        frame = (
            importlib.import_module(f"statsmodels.datasets.{module}").load_pandas().data.drop(columns=list(left_out))
        )
    y = frame.pop(target).to_numpy()
    y = y.astype(int).astype(str) if task == "classification" else y.astype(float)
    train, test = stratified_split(y, 0.25, seed) if task == "classification" else random_split(len(y), 0.25, seed)
    return Split(name, task, frame.iloc[train], y[train], frame.iloc[test], y[test])
