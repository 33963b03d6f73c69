"""What is compared and on which rows: all that is fixed before the first trial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from margin.data import Profile
from margin.metrics import Metric
from margin.runs import Run
from margin.selection import FoldPlan
from margin.service.comparison.data import OpenedData
from margin.service.comparison.drawn import DrawnTable
from margin.service.comparison.folder import ComparisonFolder
from margin.service.comparison_request import ComparisonRequest, budget_seconds
from margin.service.sources import Source

__all__ = ["ComparisonSetup"]


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonSetup:
    """Rows, folds, the metric that decides and the folder of a comparison.

    ``given`` says how the data came: "spec" (a file or a name), "frame", "stream" or "arrays"; ``shown_folder`` is the
    folder as the user named it, empty for a temporary one.
    """

    opened: OpenedData
    request: ComparisonRequest
    metric: Metric
    plan: FoldPlan
    kept: ComparisonFolder
    given: str
    shown_folder: str

    @property
    def source(self) -> Source:
        """Where the rows came from."""
        return self.opened.source

    @property
    def drawn(self) -> DrawnTable | None:
        """More rows, from which those that are compared on were drawn; None if these are all."""
        drawn = self.opened.drawn
        return drawn if drawn is not None and drawn.is_part else None

    @property
    def heading(self) -> str:
        """Task, rows and folds, as stands above the board."""
        rows = "" if self.drawn is None else f"{self.drawn.sentence}; "
        return f"{self.task}, {rows}{self.plan.sentence}"

    @property
    def name(self) -> str:
        """The name of the data."""
        return self.source.name

    @property
    def task(self) -> str:
        """Classification or regression."""
        return self.source.task

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.source.target

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that models see."""
        return self.source.features

    @property
    def X(self) -> Any:
        """The rows as models see them."""
        return self.source.X

    @property
    def y(self) -> np.ndarray:
        """The targets."""
        assert self.source.y is not None
        return self.source.y

    @property
    def profile(self) -> Profile | None:
        """What was judged of each column; None for arrays."""
        return self.opened.profile

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes in order; none for a regression."""
        return self.opened.classes

    @cached_property
    def budget(self) -> float | None:
        """Seconds for all of it, None for no limit."""
        return budget_seconds(self.request.budget, *self.X.shape)

    @property
    def seed(self) -> int:
        """Seed of folds and models."""
        return self.request.seed

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.plan.folds)

    @property
    def run(self) -> Run:
        """The run whose folder keeps everything."""
        return self.kept.run

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.run.folder

    @property
    def command(self) -> str:
        """The shell command that asks for the same; empty where data were given in Python."""
        return self.request.command(self.name, self.shown_folder) if self.given == "spec" else ""

    @property
    def call(self) -> str:
        """The Python call that asks for the same."""
        data = {"spec": repr(self.name), "frame": "df", "arrays": "X, y", "stream": "rows"}[self.given]
        return self.request.call(data, self.shown_folder)
