"""What a comparison has found at a moment, and in the end: the board, the winner, and everything they rest on.

A result does not change: the job that runs (:mod:`margin.service.comparison.job`) gives a new one after every trial, so
what follows from the trials is computed once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.selection import Candidate, LearningCurve, Output, Standing, Trial, board, in_words
from margin.selection.chance import chance_score
from margin.selection.diagnosis import rows_in_words
from margin.selection.outputs import join
from margin.selection.schedule import seconds_left
from margin.selection.steadiness import unsteady
from margin.selection.trial import CURVE, FOLD, HELD_OUT
from margin.service.comparison.candidates import BASELINE
from margin.service.comparison.caveats import cut_short, nothing_learned, of_which_rows
from margin.service.comparison.setup import ComparisonSetup
from margin.service.comparison.too_good import too_good

if TYPE_CHECKING:
    import pandas

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ComparisonSetup):
    """Models of the catalog compared on one table.

    ``board`` is the result as a data frame, ``best_`` the winner fitted to all rows; ``plot()``, ``report()`` and the
    notebook show it. ``standings``, ``trials``, ``output`` and ``out_of_fold`` are what it rests on; ``remarks`` say
    what was left out or should be looked at.

    ``given_up`` are models that time or a failure ended, ``passed_over`` those whose last fit would outlast the budget,
    ``left_out`` those that were never tried, each with the reason. ``stage`` says what is done after the trials.
    """

    candidates: tuple[Candidate, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[Trial, ...] = ()
    given_up: Mapping[str, str] = field(default_factory=dict)
    passed_over: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    status: str = "new"
    running: bool = False
    stage: str = ""
    n_jobs: int = 1
    seconds: float = 0.0
    started: float = field(default_factory=time.monotonic)

    # What was found

    @cached_property
    def standings(self) -> list[Standing]:
        """The rows of the board, best first."""
        return board(
            self.trials,
            self.metric,
            n_folds=len(self.plan.folds),
            cut=self.given_up,
            left_out=self.left_out,
            mixed=self.running,
        )

    @property
    def board(self) -> pandas.DataFrame:
        """The board as a data frame, best first; the last columns are the means of the other metrics."""
        from margin.service.comparison.showing import board_frame

        return board_frame(self)

    @cached_property
    def winner(self) -> str:
        """The best of the eligible models, or an empty string."""
        return next(iter(self.eligible), "")

    @cached_property
    def eligible(self) -> list[str]:
        """Models that can win, in the order of the board: all but the baseline and those passed over.

        What is ``unsteady`` can win only where no other model beats the baseline.
        Where time did not suffice for a single fold, those that were tried on a part of the rows.
        """
        out = {BASELINE, *self.passed_over, *self.not_saved}
        rows = self._steady([s for s in self.standings if s.model not in out])
        with_folds = [s.model for s in rows if s.status in ("ranked", "partial")]
        if with_folds or self.running:
            return with_folds
        known = {candidate.name for candidate in self.candidates}
        failed = {name for name, reason in self.given_up.items() if reason.startswith("failed")}
        cut = [s.model for s in rows if s.status == "cut" and s.mean == s.mean]
        return [model for model in cut if model in known - failed]

    @property
    def not_saved(self) -> list[str]:
        """Models that are compared but cannot win, because no model file can hold them."""
        return [candidate.name for candidate in self.candidates if not candidate.can_win]

    @cached_property
    def unsteady(self) -> dict[str, str]:
        """Models with a prediction, or a fold, that their mean score does not show, each with the reason."""
        return {} if self.classes else unsteady(self.trials, self.metric, BASELINE)

    def _steady(self, rows: list[Standing]) -> list[Standing]:
        wild = self.unsteady
        steady = [s for s in rows if s.model not in wild]
        sign = 1 if self.metric.greater_is_better else -1
        constant = next((s.mean for s in self.standings if s.model == BASELINE), float("nan"))
        # Without a score of the constant (NaN) any steady model will do.
        return steady if any(s.mean == s.mean and not sign * (s.mean - constant) <= 0 for s in steady) else rows

    @cached_property
    def winning_candidate(self) -> Candidate | None:
        """The candidate behind the winner."""
        return next((candidate for candidate in self.candidates if candidate.name == self.winner), None)

    @cached_property
    def best_(self) -> Any:
        """The winner, fitted to all rows; it predicts from rows of a data frame as they came."""
        return self.run.model()

    @cached_property
    def judged_(self) -> Any:
        """The winner fitted without the held-out rows, or None if nothing was held out."""
        from margin.store import load

        return load(self.kept.judged_path) if self.kept.judged_path.exists() else None

    # What it rests on

    def output(self, model: str, fold: int) -> Output:
        """Predictions of a model for the test rows of a fold; fold -1 is the held-out part."""
        return self.kept.output(model, fold)

    def out_of_fold(self, model: str) -> tuple[np.ndarray, Output]:
        """Positions of all rows that were test rows of a finished fold, and the predictions for them."""
        folds = sorted(t.fold for t in self.trials if t.model == model and t.stage == FOLD and not t.error)
        if not folds:
            raise KeyError(f"out_of_fold: {model!r} has no finished fold.")
        rows = np.concatenate([self.plan.folds[fold][1] for fold in folds])
        return rows, join([self.output(model, fold) for fold in folds])

    @property
    def held_out_trial(self) -> Trial | None:
        """The judgement of the winner on rows that had no part in the choice."""
        judgements = [t for t in self.trials if t.stage == HELD_OUT and t.model == self.winner and not t.error]
        return judgements[-1] if judgements else None

    @property
    def held_out_score(self) -> float | None:
        """Score of the winner on the held-out rows; None without them."""
        trial = self.held_out_trial
        return None if trial is None else trial.scores.get(self.metric.name)

    @property
    def held_out_scores(self) -> dict[str, float]:
        """Every metric of the winner on the held-out rows."""
        trial = self.held_out_trial
        return {} if trial is None else dict(trial.scores)

    @property
    def held_out_uses(self) -> int:
        """How many winners these rows have judged; from the second on they are not quite unseen."""
        return len({(t.model, t.settings) for t in self.trials if t.stage == HELD_OUT})

    @cached_property
    def curve(self) -> LearningCurve | None:
        """The winner's scores by number of training rows."""
        name, by_fold = self.metric.name, self._curve_trials
        if not by_fold:
            return None
        train, validation = (
            np.array([[getattr(t, part)[name] for t in trials] for trials in by_fold]).T
            for part in ("train_scores", "scores")
        )
        return LearningCurve(name, np.array([t.n_train for t in by_fold[0]]), train, validation)

    @cached_property
    def _curve_trials(self) -> list[list[Trial]]:
        """The points of the winner's learning curve, growing, in each of the folds that have all; none in one fold."""
        name, winner = self.metric.name, self.winning_candidate
        own = (
            ()
            if winner is None
            else (t for t in self.trials if (t.model, t.settings) == (winner.name, winner.settings))
        )
        points = [t for t in own if t.stage == CURVE and name in t.train_scores]
        by_fold: dict[int, list[Trial]] = {}
        for trial in sorted(points, key=lambda t: t.n_train):
            by_fold.setdefault(trial.fold, []).append(trial)
        longest = max((len(trials) for trials in by_fold.values()), default=0)
        complete_folds = [trials for trials in by_fold.values() if len(trials) == longest]
        return complete_folds if longest > 1 and len(complete_folds) > 1 else []

    @cached_property
    def diagnosis(self) -> str:
        """Whether the winner underfits or overfits and whether more rows would help, as a sentence.

        Where it is no better than a guess there is no fit to speak of, and only the rows are.
        """
        curve = self.curve
        if curve is None:
            return ""
        if nothing_learned(self):
            return rows_in_words(curve)
        return in_words(curve, *self._chance_at_the_end_of_the_curve())

    def _chance_at_the_end_of_the_curve(self) -> tuple[float, float]:
        """What the best guess has on the test and on the training rows of the curve's last points, means over folds."""
        scores = []
        for last in (trials[-1] for trials in self._curve_trials):
            train, test = self.plan.folds[last.fold]
            part = train if last.n_train >= len(train) else self.plan.part(train, last.n_train, seed=last.fold)
            scores.append([chance_score(self.metric, self.y, part, rows, self.classes) for rows in (test, part)])
        on_test, on_training = np.mean(scores, axis=0).tolist()
        return on_test, on_training

    @cached_property
    def held_out_chance(self) -> float | None:
        """What the best guess without a look at a column has on the held-out rows; None without them."""
        if not len(self.plan.held_out):
            return None
        rows = self.plan.development, self.plan.held_out
        value = chance_score(self.metric, self.y, *rows, self.classes)
        return value if value == value else None

    @cached_property
    def too_good(self) -> str:
        """A warning that names the columns by which next to no error is left, or an empty string."""
        return too_good(self)

    @property
    def fitted_on(self) -> str:
        """The rows that the saved winner has learned from."""
        if self.drawn is None:
            return "all rows"
        rows = self.run.manifest.get("winner", {}).get("all_rows")
        return f"all {rows:,} rows" if rows else f"the {len(self.y):,} rows drawn"

    @property
    def of_which_rows(self) -> str:
        """What the winner has learned from and what was measured, where they differ; empty for one table."""
        return of_which_rows(self)

    @property
    def unused_order(self) -> str:
        """What the table says about its rows and the folds do not know, as a sentence, or an empty string."""
        return self.opened.unused_order

    @cached_property
    def cut_short(self) -> str:
        """What time left out, as a sentence; empty where every model had all folds."""
        return cut_short(self)

    # How it was made

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the libraries it ran with."""
        return dict(self.run.manifest.get("versions", {}))

    @property
    def total(self) -> int:
        """Trials of the folds, if no model is given up."""
        return len(self._board_candidates) * self.n_folds

    @property
    def done(self) -> int:
        """Trials of the folds that are behind us."""
        names = {candidate.name for candidate in self._board_candidates}
        return sum(trial.stage == FOLD and trial.model in names for trial in self.trials)

    @property
    def eta(self) -> float:
        """About how many seconds the folds will still take."""
        names = [c.name for c in self._board_candidates if c.name not in self.given_up]
        failed = {trial.model for trial in self.trials if trial.error}
        left = seconds_left(self.trials, [n for n in names if n not in failed], self.n_folds, self.n_jobs)
        return left if self.budget is None else min(left, max(self.budget - self.seconds, 0.0))

    @property
    def _board_candidates(self) -> list[Candidate]:
        return [c for c in self.candidates if c.name not in ("blend", "stack")]

    # How it is shown

    def plot(self, figure: Any = None) -> Any:
        """The board as a matplotlib figure: means with their intervals."""
        from margin.service.comparison.showing import draw_board

        return draw_board(self, figure)

    def report(self, path: str | Path | None = None, seconds: float | None = None) -> Path:
        """Write the report, one HTML file that needs nothing else, and return its path.

        Parts that would take more than ``seconds`` are left for another time.
        """
        from margin.notes import atlas
        from margin.report import write

        return write(self, Path(path) if path is not None else self.folder / "report.html", seconds, atlas.rows())

    @property
    def seconds_left(self) -> float | None:
        """What this start has left of the budget, None without one."""
        return None if self.budget is None else max(self.started + self.budget - time.monotonic(), 0.0)

    def _repr_html_(self) -> str:
        from margin.service.comparison.showing import board_html

        return board_html(self)

    def __str__(self) -> str:
        from margin.service.comparison.showing import board_text

        return board_text(self)

    def __repr__(self) -> str:
        scored = f", best {self.winner}" if self.winner else ""
        return f"Comparison({self.name}: {self.task}, {len(self.candidates)} models by {self.metric.name}{scored})"
