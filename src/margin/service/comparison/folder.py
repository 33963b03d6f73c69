"""The folder of a comparison: every trial as soon as it is done, so that a kill loses nothing but what was running."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.full_disk import append_line
from margin.core.strict_json import strict_text
from margin.metrics import Metric
from margin.runs import Run
from margin.runs.folder import OUTPUTS
from margin.runs.temporary import temporary_folder
from margin.selection import FoldPlan, Output, Standing, Trial
from margin.selection.outputs import scores_of
from margin.selection.trial import CURVE, FOLD, HELD_OUT
from margin.store.container import write_atomically

__all__ = ["ComparisonFolder"]


class ComparisonFolder:
    """A run folder (as a fit has one, so that what predicts with one takes the other) and what stands beside the model:
    ``trials.jsonl``, ``outputs/MODEL/FOLD.npz``, ``folds.npz``, ``board.json``, ``curve.json``, ``judged.safetensors``.
    """

    def __init__(
        self, path: Path | None, identity: Mapping[str, Any], facts: Mapping[str, Any], classes: Sequence[Any]
    ):
        """Create the folder or take it up again; without a ``path`` a temporary one, which goes with this object."""
        self.run = Run.open(path or temporary_folder(self, "margin-compare-"), identity, **facts)
        self.classes = list(classes)

    @property
    def judged_path(self) -> Path:
        return self.run.folder / "judged.safetensors"

    @property
    def _trials_path(self) -> Path:
        return self.run.folder / "trials.jsonl"

    def add(self, trial: Trial, output: Output | None) -> None:
        """Keep a trial: first its predictions, then the line that counts it as done."""
        if output is not None and trial.stage in (FOLD, HELD_OUT):
            self.write_output(trial.model, trial.fold, output)
        append_line(self._trials_path, strict_text(asdict(trial)))

    def trials(self, settings: Mapping[str, str], metric: Metric, plan: FoldPlan, y: np.ndarray) -> list[Trial]:
        """What an earlier start finished for models that still have the same settings.

        One that failed, was given up, or whose line a kill cut short is left out and runs again. A metric that was not
        asked for then is measured now on what the model said.
        """
        if not self._trials_path.exists():
            return []
        trials, lines = [], []
        for line in self._trials_path.read_text().splitlines():
            trial = _parse(line)
            if trial is None or trial.error:
                continue
            lines.append(line)
            if settings.get(trial.model, trial.settings) == trial.settings:
                trial = self._measure_stored(trial, metric, plan, y)
                trials += [trial] if trial is not None else []
        write_atomically(self._trials_path, "".join(line + "\n" for line in lines).encode())
        return list({trial.key: trial for trial in trials}.values())

    def _measure_stored(self, trial: Trial, metric: Metric, plan: FoldPlan, y: np.ndarray) -> Trial | None:
        if metric.name in trial.scores or metric.name in trial.reasons:
            return trial
        if trial.stage not in (FOLD, HELD_OUT) or not self._output_path(trial.model, trial.fold).exists():
            return None
        rows = plan.held_out if trial.stage == HELD_OUT else plan.folds[trial.fold][1]
        values, reasons = scores_of(self.output(trial.model, trial.fold), y[rows], self.classes, [metric])
        merged = {"scores": {**trial.scores, **values}, "reasons": {**trial.reasons, **reasons}}
        return Trial(**{**asdict(trial), **merged})

    def write_output(self, model: str, fold: int, output: Output) -> None:
        """Labels are kept as codes: a file of arrays must not hold objects."""
        content = {"predicted": output.predicted, "kind": np.array(output.kind)}
        if self.classes:
            position = {label: code for code, label in enumerate(self.classes)}
            content["predicted"] = np.array([position[label] for label in output.predicted.tolist()], dtype=np.int32)
        if output.scores is not None:
            content["scores"] = output.scores
        path = self._output_path(model, fold)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_arrays(path, content)

    def output(self, model: str, fold: int) -> Output:
        """Predictions of a model for the test rows of a fold, or for the held-out rows (fold -1)."""
        with np.load(self._output_path(model, fold), allow_pickle=False) as file:
            predicted = file["predicted"]
            if self.classes:
                predicted = np.asarray(self.classes)[predicted]
            return Output(predicted, file.get("scores"), str(file["kind"]))

    def has_output(self, model: str, folds: Collection[int]) -> bool:
        return all(self._output_path(model, fold).exists() for fold in folds)

    def _output_path(self, model: str, fold: int) -> Path:
        return self.run.folder / OUTPUTS / model / ("held-out.npz" if fold < 0 else f"{fold}.npz")

    def plan_or(self, plan: FoldPlan, n_rows: int) -> FoldPlan:
        """The division of rows that an earlier start made, with which its trials were run, or ``plan`` if none is kept
        or the file is not one for so many rows."""
        path = self.run.folder / "folds.npz"
        if not path.exists() or not self._trials_path.exists():
            return plan
        try:
            with np.load(path, allow_pickle=False) as file:
                rows = {name: file[name] for name in file.files}
            folds = [(rows[f"train_{i}"], rows[f"test_{i}"]) for i in range(len(plan.folds))]
            kept = replace(plan, development=rows["development"], held_out=rows["held_out"], folds=folds)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return plan
        return kept if len(rows) == 2 + 2 * len(folds) and _divides(kept, n_rows) else plan

    def write_plan(self, plan: FoldPlan) -> None:
        pairs = {
            f"{part}_{i}": rows for i, fold in enumerate(plan.folds) for part, rows in zip(("train", "test"), fold)
        }
        _write_arrays(
            self.run.folder / "folds.npz", {"development": plan.development, "held_out": plan.held_out, **pairs}
        )

    def write_board(self, standings: Sequence[Standing]) -> None:
        self._write_json("board.json", [asdict(standing) for standing in standings])

    def write_curve(self, trials: Sequence[Trial]) -> None:
        self._write_json("curve.json", [asdict(trial) for trial in trials if trial.stage == CURVE])

    def _write_json(self, name: str, value: Any) -> None:
        write_atomically(self.run.folder / name, strict_text(value, indent=2).encode())


def _divides(plan: FoldPlan, n_rows: int) -> bool:
    """Whether the parts are positions of rows, and those that are trained on and tested on differ."""
    parts = [plan.development, plan.held_out, *(part for fold in plan.folds for part in fold)]
    if any(p.ndim != 1 or p.dtype.kind not in "iu" or (len(p) and not 0 <= p.min() <= p.max() < n_rows) for p in parts):
        return False
    pairs = [(plan.development, plan.held_out), *plan.folds]
    return all(len(np.intersect1d(*pair)) == 0 for pair in pairs)


def _write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def _parse(line: str) -> Trial | None:
    try:
        facts = json.loads(line)
        seconds = {name: _number(facts[name]) for name in ("fit_seconds", "predict_seconds")}
        scores = {part: {k: _number(v) for k, v in facts[part].items()} for part in ("scores", "train_scores")}
        excess = facts.get("excess", 0.0)
        return Trial(**{**facts, **seconds, **scores, "excess": float("inf") if excess is None else float(excess)})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
