"""A comparison at work: what changes while it runs, and the result that is known at a moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from margin.metrics import Metric, metrics_of
from margin.selection import Candidate, Trial, TrialData
from margin.service.comparison.result import Comparison
from margin.service.comparison.setup import ComparisonSetup

__all__ = ["ComparisonJob", "Oversight", "Watch"]

Watch = Callable[[Comparison], None]


@dataclass(frozen=True)
class Oversight:
    """Who watches a comparison at work, since when (of ``time.monotonic``) its budget counts, by default from now, and
    what ends it: ``stop`` as Ctrl-C does, ``halt`` as a second one does, where it runs in a thread."""

    watch: Watch = lambda _: None
    started: float | None = None
    stop: threading.Event | None = None
    halt: threading.Event | None = None


class ComparisonJob:
    """A comparison at work: its trials so far, and who was given up or passed over, with the reason.

    ``started`` (of ``time.monotonic``) is when its budget began to count.
    """

    def __init__(
        self,
        setup: ComparisonSetup,
        candidates: Sequence[Candidate],
        left_out: Mapping[str, str],
        remarks: Sequence[str],
        started: float,
    ):
        self.setup, self.left_out, self.started = setup, dict(left_out), started
        self.candidates, self.remarks = list(candidates), list(remarks)
        self.trials: list[Trial] = []
        self.given_up: dict[str, str] = {}
        self.passed_over: dict[str, str] = {}  # ranked, but its last fit would outlast the budget
        self.running, self.stage, self.n_jobs = False, "", 1
        self.watch: Watch = lambda _: None
        self.halt: threading.Event | None = None  # ends the last fit, where no Ctrl-C can

    def result(self) -> Comparison:
        """What is known now; it does not change when the job goes on."""
        manifest = self.setup.run.manifest
        return Comparison(
            **{f.name: getattr(self.setup, f.name) for f in fields(ComparisonSetup)},
            candidates=tuple(self.candidates),
            left_out=dict(self.left_out),
            trials=tuple(self.trials),
            given_up=dict(self.given_up),
            passed_over=dict(self.passed_over),
            remarks=tuple(dict.fromkeys(self.remarks)),
            status=str(manifest.get("status", "new")),
            running=self.running,
            stage=self.stage,
            n_jobs=self.n_jobs,
            seconds=float(manifest.get("comparing_seconds", 0.0)),
            started=self.started,
        )

    def tell(self) -> None:
        """Show whoever watches what is known now."""
        self.watch(self.result())

    def announce(self, stage: str) -> None:
        """Show what is done now."""
        self.stage = stage
        self.tell()

    @property
    def metrics(self) -> list[Metric]:
        """All metrics of the task, and the one that decides if its options make it another."""
        entries, decides = list(metrics_of(self.setup.task)), self.setup.metric
        return entries if decides in entries else [decides, *entries]

    @property
    def trial_data(self) -> TrialData:
        """What every trial needs."""
        return TrialData(self.setup.X, self.setup.y, self.metrics, self.setup.classes)
