"""The loop: batch, step, meter, record, stop. Every network of the library learns in it.

A training can be stopped after any step and continued with the same bits: all that decides what comes next is in
:meth:`Training.state`, the number of threads among it, because torch's bits depend on that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.neural.generators import GlobalStream
from margin.neural.training.batches import Batch, Batches
from margin.neural.training.compute import Compute
from margin.neural.training.meter import Mean, Meter
from margin.neural.training.steps import Step
from margin.neural.training.stopping import Patience
from margin.neural.training.timing import timed
from margin.neural.training.work import WorkCounter
from margin.neural.weights import copy_weights, load_weights

__all__ = ["Plan", "Training", "TrainingDiverged", "train"]


class TrainingDiverged(FloatingPointError, ValueError):
    """A loss that is no finite number; a ``ValueError`` too, which is what scikit-learn's networks raise."""


RUNNING_PARTS = ("batches", "step", "meter", "stopping", "stream")  # of the state of a training that can go on
AGREEING_STEPS = 8  # of several processes, between two questions whether one of them was asked to stop
MOST_THREADS = 1024  # of a fit that is taken up again, perhaps on a machine with fewer
SNAPSHOT_STEPS = 100  # least steps between two copies of the weights, so that copying costs next to nothing


@dataclass(frozen=True)
class Plan:
    """How long to train, and how often to say so.

    A record is made at the end of every epoch, inside it after every ``record_steps`` steps (None: not), and when
    ``record_seconds`` have passed since the last one. The clock changes the number of records, never the result.
    """

    epochs: int
    record_steps: int | None = 50
    record_seconds: float | None = None


class Training:
    """Everything one training consists of; :func:`train` runs it.

    ``evaluate`` gives named numbers at the end of every epoch. ``stopping`` watches ``valid_loss`` among them, or else
    ``train_loss``. ``stream`` stands in for torch's global generator, for networks whose layers draw from it.
    ``threads`` None: decided by counting the work of the first step, which runs on one.
    """

    def __init__(
        self,
        batches: Batches,
        step: Step,
        plan: Plan,
        *,
        evaluate: Callable[[], dict[str, float]] | None = None,
        stopping: Patience | None = None,
        stream: GlobalStream | None = None,
        threads: int | None = None,
        compute: Compute | None = None,
    ):
        self.batches, self.step, self.plan = batches, step, plan
        self.evaluate, self.stopping, self.stream = evaluate, stopping, stream
        self.compute = compute or Compute()
        # Parts are computed with the same bits by every process, whatever machine it is on.
        self.threads = threads if self.compute.parts is None else 1
        step.stream = stream
        self.meter = Meter()
        self.total = plan.epochs * batches.steps_per_epoch
        self.steps = self.epoch = 0
        self.finished = False
        self.loss_curve: list[float] = []
        self.scores: list[float] = []  # what ``evaluate`` called valid_score, epoch by epoch
        self.kept: tuple[int, dict[str, np.ndarray]] | None = None  # steps and weights to return to if the loss fails
        self.ended_by_plan = False  # nothing but the number of epochs ended it: a longer plan goes on
        self.before_best: dict[str, Any] | None = None  # where best weights replaced what a longer plan goes on from

    def advance(self) -> None:
        """One update of the weights."""
        with timed("data"):
            batch = self.compute.batch(self.batches.draw())
        means = self._step_and_count(batch) if self.threads is None else self.step(batch, self.steps)
        self.meter.add(means)
        self.steps += 1

    def surroundings(self) -> ExitStack:
        """Threads and the global generator are settings of the process: whoever gets a record finds them as before."""
        stack = ExitStack()
        stack.enter_context(torch_threads(self.threads or 1))
        if self.stream is not None:
            stack.enter_context(self.stream.active())
        return stack

    def values(self) -> dict[str, float]:
        """The running means of this epoch, with the loss first."""
        means = self.meter.means()
        wrong = [name for name, mean in means.items() if name.endswith("loss") and not math.isfinite(mean)]
        if wrong:
            raise TrainingDiverged(
                f"Training: the training {wrong[0]} is {means[wrong[0]]} after {self.steps} steps; "
                f"{self._take_best_back()}"
                "a smaller learning rate or a clip_norm keeps it finite."
            )
        first = {"train_loss": means.pop("loss")} if "loss" in means else {}
        return {"epoch": self.epoch + 1, **first, **self.step.rates(), **means}

    def end_epoch(self, values: Mapping[str, float]) -> dict[str, float]:
        """Evaluate, decide whether to go on, and begin the next epoch; what was evaluated."""
        self.epoch += 1
        self.meter.clear()
        self.keep()
        if "train_loss" in values:
            self.loss_curve.append(values["train_loss"])
        with timed("evaluation"):
            evaluation = {} if self.evaluate is None else self.evaluate()
        if "valid_score" in evaluation:
            self.scores.append(evaluation["valid_score"])
        enough = self.step.converged
        if self.stopping is not None:
            loss = evaluation.get("valid_loss", values.get("train_loss"))
            enough |= loss is not None and self.stopping.see(loss, self.step.result)
            self.step.rate_factor = self.stopping.rate_factor
        self.ended_by_plan = not enough and self.epoch >= self.plan.epochs
        self.finished = enough or self.ended_by_plan
        if self.finished and self.stopping is not None and self.stopping.best_weights:
            self.before_best = self._running() if self.ended_by_plan else None
            self.stopping.restore_best(self.step.result)
        return evaluation

    def state(self) -> dict[str, Any]:
        """Everything that decides what happens next, as plain values and copied arrays.

        At the end that is the result alone, unless only the plan ended it: a longer plan goes on from there.
        """
        state: dict[str, Any] = {
            "steps": self.steps,
            "epoch": self.epoch,
            "finished": self.finished,
            "threads": self.threads,
            "processes": self._processes(),
            "loss_curve": list(self.loss_curve),
            "scores": list(self.scores),
        }
        if not self.finished:
            return state | self._running()
        state |= {"result": copy_weights(self.step.result), "best_loss": self._best_loss()}
        return state | (self.before_best or self._running()) if self.ended_by_plan else state

    def _running(self) -> dict[str, Any]:
        """What a training that is not at its end goes on from."""
        return {
            "batches": self.batches.state(),
            "step": self.step.state(),
            "meter": self.meter.state(),
            "stopping": None if self.stopping is None else self.stopping.state(),
            "stream": None if self.stream is None else self.stream.state(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state``, taken from a training of equal parts; only its plan may have been shorter."""
        self.steps, self.epoch = int(state["steps"]), int(state["epoch"])
        self.threads = _threads_of(state)
        if state.get("processes") != self._processes():
            raise ValueError(
                f"Training: the state belongs to a fit on {state.get('processes')} processes that added up their "
                f"gradients; here are {self._processes()}."
            )
        self.loss_curve, self.scores = list(state["loss_curve"]), list(state["scores"])
        self.ended_by_plan = bool(state["finished"]) and "step" in state
        self.finished = bool(state["finished"]) and not (self.ended_by_plan and self.epoch < self.plan.epochs)
        if "step" in state:
            self._load_running(state)
        if self.finished:
            self.before_best = {name: state[name] for name in RUNNING_PARTS} if self.ended_by_plan else None
            load_weights(self.step.result, state["result"])
            if self.stopping is not None:
                self.stopping.best_loss = state["best_loss"]

    def _load_running(self, state: Mapping[str, Any]) -> None:
        self.batches.load_state(state["batches"])
        self.step.load_state(state["step"])
        self.meter.load_state(state["meter"])
        if self.stopping is not None:
            self.stopping.load_state(state["stopping"])
            self.step.rate_factor = self.stopping.rate_factor
        if self.stream is not None:
            self.stream.load_state(state["stream"])

    def forget_longer_plans(self) -> None:
        """Whoever wants to go on has taken the state at the last record: optimizer slots are needed no more."""
        self.ended_by_plan, self.before_best = False, None

    def keep(self) -> None:
        """Copy the weights now and then while they are finite: at the start and at the end of an epoch."""
        if self.kept is not None and self.steps - self.kept[0] < SNAPSHOT_STEPS:
            return
        weights = copy_weights(self.step.result)
        if all(np.isfinite(array).all() for array in weights.values() if array.dtype.kind == "f"):
            self.kept = self.steps, weights

    def _take_best_back(self) -> str:
        """Go back to the weights that were kept, and say so."""
        if self.kept is None:  # they were not finite from the start
            return ""
        load_weights(self.step.result, self.kept[1])
        return f"the weights after {self.kept[0]} steps are kept; "

    def _best_loss(self) -> float | None:
        return None if self.stopping is None else self.stopping.best_loss

    def _processes(self) -> int | None:
        """How many there are, where the result depends on it."""
        return None if self.compute.exact else self.compute.processes.size

    def _step_and_count(self, batch: Batch) -> dict[str, Mean]:
        with WorkCounter() as counter:
            means = self.step(batch, self.steps)
        self.threads = threads_for(counter.operations_per_pass)
        return means


def _threads_of(state: Mapping[str, Any]) -> int:
    """How many threads the fit began with: more than any machine has would end the process, not raise an error."""
    threads = state["threads"]
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise ValueError(f"Training: threads of the state must be a number from 1 to {MOST_THREADS}; got {threads!r}.")
    return threads


def train(training: Training, stop: Callable[[], bool] = lambda: False) -> Iterator[Record]:
    """Run until the plan is done or its stopping says so, yielding records; ``stop`` is checked after every step, of
    several processes after every few.

    A training that was asked to stop is not finished: it says a last record and can be continued.
    """
    plan, length = training.plan, training.batches.steps_per_epoch
    halted = learning = False
    training.keep()
    while not (training.finished or halted):
        with training.surroundings():
            began = monotonic()
            if not (learning and all(module.training for module in training.step.modules.values())):
                training.step.train()  # at the start, and after an evaluation
                learning = True
            while True:
                training.advance()
                within = training.steps % length  # steps of this epoch; 0 when it is over
                due = plan.record_steps is not None and within % plan.record_steps == 0
                late = plan.record_seconds is not None and monotonic() - began >= plan.record_seconds
                if training.compute.processes.alone or within == 0 or training.steps % AGREEING_STEPS == 0:
                    halted, late = training.compute.processes.any(stop(), late)
                else:
                    late = False
                if within == 0 or due or late or halted or training.step.converged:
                    break
            values = training.values()
            if within == 0 or training.step.converged:
                values |= training.end_epoch(values)
        yield Record(training.steps, values, training.total)
