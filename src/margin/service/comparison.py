"""``margin compare``: every suitable model of the catalog on one table, with evidence, surviving a kill."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from margin import catalog
from margin.core.parameters import parameters_of
from margin.metrics import evaluate, metric
from margin.runs import Run, fingerprint, interruptible
from margin.selection import Candidate, Standing, Trial, board, compare
from margin.service.preparation import behind, on_standard_target, preparation
from margin.service.requests import BadRequest
from margin.service.sources import Source, open_source
from margin.store.container import write_atomically
from margin.store.models import library_versions

__all__ = ["PRIMARY", "Comparison", "candidates_for", "run_comparison"]

PRIMARY = {"classification": "accuracy", "regression": "rmse"}
BASELINE = "baseline"

Watch = Callable[["Comparison"], None]


class Comparison:
    """The state of one comparison: what it compares, the trials so far, and the run folder that keeps them.

    The folder is a run like that of a fit, so that what predicts with one takes the other; ``trials.jsonl`` and
    ``board.json`` stand beside the winner.
    """

    def __init__(self, source: Source, folder: Path, *, metric_name: str, n_folds: int, seed: int):
        self.source, self.n_folds, self.seed = source, n_folds, seed
        self.metric = metric(metric_name)
        self.candidates: list[Candidate] = []
        self.left_out: dict[str, str] = {}
        self.trials: list[Trial] = []
        self.run = Run(folder)

    def open(self) -> None:
        """Create the folder or take it up again; another comparison's is refused."""
        self.run = Run.open(
            self.run.folder,
            {
                "kind": "comparison",
                "data_hash": self.source.hash,
                "target": self.source.target,
                "task": self.source.task,
                "n_folds": self.n_folds,
                "seed": self.seed,
            },
            data=self.source.name,
            task=self.source.task,
            features=list(self.source.features),
        )

    def read_trials(self) -> None:
        """Read back what an earlier start finished; what failed then is tried again."""
        names = {candidate.name for candidate in self.candidates}
        self.trials = [trial for trial in _read_trials(self._trials_path) if trial.model in names]

    def standings(self) -> list[Standing]:
        """The board, best first; models left out stand last with the reason."""
        left_out = [Trial(name, 0, error=reason) for name, reason in self.left_out.items()]
        return board([*self.trials, *left_out], self.metric.name, self.metric.greater_is_better, self.metric.bounds)

    def winner(self) -> Candidate | None:
        """The best model that is not the baseline."""
        best = next((s.model for s in self.standings() if not s.error and s.model != BASELINE), None)
        return next((candidate for candidate in self.candidates if candidate.name == best), None)

    @property
    def total(self) -> int:
        return len(self.candidates) * self.n_folds

    @property
    def _trials_path(self) -> Path:
        return self.run.folder / "trials.jsonl"

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        with open(self._trials_path, "a") as file:
            file.write(json.dumps(asdict(trial)) + "\n")

    def write_board(self) -> None:
        table = [asdict(standing) for standing in self.standings()]
        write_atomically(self.run.folder / "board.json", json.dumps(table, indent=2).encode())


def candidates_for(source: Source, names: Sequence[str] = (), seed: int = 0) -> tuple[list[Candidate], dict[str, str]]:
    """The catalog's models for the task, behind preprocessing, and those left out with the reason.

    ``names`` picks some, and what is picked is tried however many rows there are.
    """
    kinds = {"table"} if source.image_shape is None else {"table", "images"}
    entries = [entry for entry in catalog.ENTRIES if entry.task == source.task and entry.data in kinds]
    if names:
        wanted = {catalog.entry(name).name for name in names if name != BASELINE}
        wrong = wanted - {entry.name for entry in entries}
        if wrong:
            name = sorted(wrong)[0]
            images = " on a table: it takes images" if catalog.entry(name).data == "images" else ""
            raise BadRequest(f"{name} is not a model for {source.task}{images}.")
        entries = [entry for entry in entries if entry.name in wanted]
    else:
        entries = [entry for entry in entries if entry.compared]
    left_out = {} if names else {e.name: _reason(e) for e in entries if e.max_rows and len(source.X) > e.max_rows}
    found = [
        Candidate(e.name, partial(_make, e.name, _prepared(source, e), seed, source.image_shape))
        for e in entries
        if e.name not in left_out
    ]
    return [Candidate(BASELINE, partial(_make_baseline, source.task)), *found], left_out


def _prepared(source: Source, entry: catalog.Entry) -> Any:
    """The preprocessor of a model's columns; a model of images takes the pixels as they are."""
    return None if entry.data == "images" else preparation(source, entry.takes)


def _reason(entry: catalog.Entry) -> str:
    return f"left out above {entry.max_rows:,} rows; --model {entry.name} tries it all the same"


def run_comparison(
    data: str,
    *,
    out: Path,
    target: str | None = None,
    task: str | None = None,
    metric_name: str | None = None,
    models: Sequence[str] = (),
    n_folds: int = 5,
    seed: int = 0,
    n_jobs: int | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Cross-validate, keep every trial as soon as it is done, and save the winner fitted on all rows."""
    source = open_source(data, target, task)
    if source.y is None or source.task not in PRIMARY:
        raise BadRequest(f"compare: {data} needs a target; name its column with --target.")
    comparison = Comparison(source, out, metric_name=metric_name or PRIMARY[source.task], n_folds=n_folds, seed=seed)
    comparison.candidates, comparison.left_out = candidates_for(source, models, seed)
    if source.task not in comparison.metric.tasks:
        raise BadRequest(f"compare: the metric {comparison.metric.name!r} is not one for {source.task}.")
    comparison.open()
    with comparison.run.locked():
        comparison.read_trials()
        _run_trials(comparison, n_jobs, watch or (lambda _: None))
        comparison.write_board()
        _fit_winner(comparison)
    return comparison


def _run_trials(comparison: Comparison, n_jobs: int | None, watch: Watch) -> None:
    source = comparison.source
    assert source.y is not None
    done = {(trial.model, trial.fold) for trial in comparison.trials}
    comparison.run.update(status="running", versions=library_versions())
    watch(comparison)
    measure = partial(evaluate, task=source.task)
    trials = compare(comparison.candidates, source.X, source.y, _folds(comparison), measure, done=done, n_jobs=n_jobs)
    for trial in trials:
        comparison.add(trial)
        watch(comparison)


def _folds(comparison: Comparison) -> list[tuple[np.ndarray, np.ndarray]]:
    from margin.data import splits

    y = comparison.source.y
    assert y is not None
    if comparison.source.task == "classification":
        return list(splits.stratified_folds(y, comparison.n_folds, seed=comparison.seed))
    return list(splits.random_folds(len(y), comparison.n_folds, seed=comparison.seed))


def _fit_winner(comparison: Comparison) -> None:
    """Fit the winner on all rows, as ``margin fit`` would: continued after a kill, trained once."""
    run, winner = comparison.run, comparison.winner()
    if winner is None:
        run.update(status="failed")
        return
    model = winner.make()
    facts = {"model": winner.name, "fingerprint": fingerprint(model)}
    known = run.manifest.get("winner", {})
    if known != {**facts, "finished": True} or not run.model_path.exists():
        if known.get("fingerprint") != facts["fingerprint"]:  # more models or another metric: another one wins
            run.forget_fit()
        run.update(winner={**facts, "finished": False})
        with interruptible() as stop:
            run.fit(model, comparison.source.X, comparison.source.y, stop=stop)
        if run.status == "interrupted":
            return
    run.update(winner={**facts, "finished": True}, status="finished")


def _make(name: str, prepare: Any, seed: int, image_shape: tuple[int, ...] | None = None) -> Any:
    cls: Any = catalog.class_of(name)
    entry = catalog.entry(name)
    seeded = {"random_state": seed} if "random_state" in parameters_of(cls) else {}
    if prepare is None:
        return cls(**entry.settings, **seeded, image_shape=image_shape)
    model = behind(prepare, cls(**entry.settings, **seeded))
    return on_standard_target(model) if entry.standard_target else model


def _make_baseline(task: str) -> Any:
    """What any model must beat: the most frequent class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()


def _read_trials(path: Path) -> list[Trial]:
    """Trials with scores; one that failed, or whose line a kill cut short, is left out and runs again."""
    if not path.exists():
        return []
    trials, kept = [], []
    for line in path.read_text().splitlines():
        try:
            trial = Trial(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if not trial.error:
            trials.append(trial)
            kept.append(line)
    write_atomically(path, "".join(line + "\n" for line in kept).encode())
    return trials
