"""What a comparison of generative models has found: the board, the winner, and rows drawn from it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.runs import Run
from margin.runs.temporary import temporary_folder
from margin.service.comparison.generative.budget import TimeShares, end_at
from margin.service.comparison.generative.data import GenerativeData
from margin.service.comparison.generative.keeping import keep_generator
from margin.service.comparison.generative.measuring import MEASURES, FittedGenerator, Measured, make_model
from margin.service.comparison.generative.standings import GeneratorStanding, standings
from margin.service.comparison_request import ComparisonRequest
from margin.store.models import library_versions

if TYPE_CHECKING:
    import pandas

__all__ = ["COPIES", "GenerativeComparison"]

COPIES = "training rows"


class GenerativeComparison:
    """Generative models of the catalog compared on one table.

    ``board`` is the result as a data frame, best first; ``best_`` is the winner fitted to all rows, and
    ``best_.sample(n)`` draws rows of the table from it; ``plot()`` draws the board. ``standings`` and ``measured`` are
    what it rests on; ``remarks`` say what was left out or should be looked at.
    """

    def __init__(self, data: GenerativeData, request: ComparisonRequest, folder: Path | None):
        self.data, self.request, self.name = data, request, data.name
        self.remarks = list(data.remarks)
        self.candidates: dict[str, Mapping[str, Any]] = {}
        self.left_out: dict[str, str] = {}
        self.cut: dict[str, str] = {}
        self.budget = TimeShares(None)
        self.measured: list[Measured] = []
        self.run = Run(folder or temporary_folder(self, "margin-generative-"))
        shown = str(folder) if folder else ""
        self.command = request.command(data.name, shown) if data.given == "spec" else ""

    @property
    def standings(self) -> list[GeneratorStanding]:
        """The rows of the board, best first."""
        return standings(self.measured, self.left_out, self.cut, COPIES)

    @property
    def board(self) -> pandas.DataFrame:
        """One row per model, best first; ``measures`` says what each number is."""
        import pandas as pd

        return pd.DataFrame([_flat(s) for s in self.standings])

    @property
    def measures(self) -> Mapping[str, str]:
        """What each number of the board is, and where it should be."""
        return MEASURES

    @property
    def winner(self) -> str:
        """The best model by log-density, or by its samples if no model has a density; "" if none could be fitted."""
        first = next(iter(self.standings), None)
        return first.model if first is not None and first.status == "ranked" else ""

    @cached_property
    def best_(self) -> FittedGenerator:
        """The winner fitted to all rows."""
        name = self.winner
        if not name:
            raise ValueError("GenerativeComparison: no model could be fitted, so there is no best one.")
        rows = np.concatenate([self.data.train, self.data.held_out])
        model = make_model(name, self.candidates[name], self.data, self.request.seed)
        measured = next(m for m in self.measured if m.model == name)
        with end_at(self.budget.rest(least=measured.fit_seconds)):
            return FittedGenerator(model, self.data.code).fit(rows, np.random.default_rng([self.request.seed, 2]))

    @property
    def seconds_for_the_winner(self) -> float:
        """About what the best model so far takes to learn from all rows and to draw as many."""
        measured = next((m for m in self.measured if m.model == self.winner), None)
        if measured is None:
            return 0.0
        more = self.data.n_rows / max(len(self.data.train), 1), self.data.n_rows / max(len(self.data.held_out), 1)
        return more[0] * measured.fit_seconds + more[1] * measured.sample_seconds

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: every number beside what it is, null where there is none."""
        return {
            "data": self.name,
            "rows": {"train": len(self.data.train), "held_out": len(self.data.held_out)},
            "columns": [column.name for column in self.data.code.columns],
            "measures": dict(MEASURES),
            "board": [{key: _strict(value) for key, value in _flat(s).items()} for s in self.standings],
            "winner": self.winner,
            "remarks": [*verdict(self), *self.remarks],
        }

    def plot(self, figure: Any = None) -> Any:
        """The board as a matplotlib figure."""
        from margin.service.comparison.generative.showing import draw_board

        return draw_board(self, figure)

    def write(self) -> None:
        """The board as JSON and as a picture, the winner fitted to all rows, and as many new rows as the table has."""
        from margin.store.container import write_atomically

        folder = self.run.folder
        write_atomically(folder / "board.json", json.dumps(self.as_dict(), indent=2, allow_nan=False).encode())
        if self.winner:
            self.plot().savefig(folder / "board.png", dpi=120)
            frame = self.best_.sample(self.data.n_rows, random_state=self.request.seed)
            write_atomically(folder / "sampled.csv", frame.to_csv(index=False).encode())
            keep_generator(self.best_, self.run, self.data.hash)
            self.run.update(winner={"model": self.winner}, task="density", versions=library_versions())

    def __repr__(self) -> str:
        ranked = [s.model for s in self.standings if s.status == "ranked"]
        return f"<GenerativeComparison of {self.name}: {', '.join(ranked) or 'no model yet'}>"


def verdict(comparison: GenerativeComparison) -> list[str]:
    """What a reader should take away."""
    standings = comparison.standings
    remarks = []
    tied = [s.model for s in standings if s.tied]
    if tied:
        remarks.append(f"≈ not distinguishable from the best by log-density: {', '.join(tied)}.")
    if any(s.log_density_kind == "bound" for s in standings):
        remarks.append("A bound is at most the log-density: a model with a bound may stand too low, not too high.")
    copying = [s.model for s in standings if s.status == "ranked" and s.is_memorizing]
    if copying:
        remarks.append(f"Rows of {', '.join(copying)} are nearer to training rows than new rows are: copies?")
    ended = [f"{s.model}: {s.ended}" for s in standings if s.ended]
    if ended:
        remarks.append(f"More time may help who did not learn to the end: {'; '.join(ended)}.")
    impossible = [f"{s.model} ({s.impossible:.1%})" for s in standings if s.impossible]
    if impossible:
        remarks.append(f"Held-out rows have density 0 under {', '.join(impossible)}.")
    return remarks


def _flat(s: GeneratorStanding) -> dict[str, Any]:
    plain = asdict(s)
    measures = plain.pop("measures")
    at = list(plain).index("is_memorizing")
    pairs = list(plain.items())
    return dict([*pairs[:at], *((name, measures.get(name, float("nan"))) for name in list(MEASURES)[1:]), *pairs[at:]])


def _strict(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
