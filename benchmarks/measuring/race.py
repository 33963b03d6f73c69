"""Fits and predictions of several contenders on one table as cases of the harness.

Quality is the loss on test rows, beside it twice its standard error over these rows: differences below that are
noise. Where asked, every contender also fits once in a process of its own, which tells by how much it grows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data.tables import Data
from benchmarks.measuring.harness import Case, Peer

__all__ = ["Contender", "ContenderResult", "Table", "fitting", "predicting", "threads"]

SMALLEST = 1e-15  # what a probability of zero counts as
Make = Callable[[Data], Any]


@dataclass(frozen=True)
class Contender:
    """A name, the module that must be installed, and how to make an unfitted model for a table."""

    name: str
    requires: str
    make: Make


class Table:
    """How to make a table, which says its task before it is made."""

    def __init__(self, make: Callable[[], Data], task: str):
        self.make, self.task = make, task

    def __call__(self) -> Data:
        return self.make()


@dataclass(frozen=True)
class ContenderResult:
    """Which contender, and its fitted model or its predictions."""

    who: str
    value: Any


def threads() -> int:
    """Threads that everyone may use now."""
    return int(os.environ.get("MARGIN_NUM_THREADS", "1"))


def fitting(
    family: str,
    name: str,
    size: str,
    data: Callable[[], Data],
    contenders: tuple[Contender, ...],
    *,
    on: int | None = None,
    rounds: int = 2,
    memory: bool = False,
    first_call: bool = False,
) -> Case:
    """Fit on the training rows; ``on`` so many threads, by default all. Ours is the first contender."""
    name = name if on is None else f"{name}, {on} thread{'s' if on > 1 else ''}"

    def fit(contender: Contender) -> Callable[[Data], ContenderResult]:
        def call(d: Data) -> ContenderResult:
            with _held(on):
                return ContenderResult(contender.name, contender.make(d).fit(d["X"], d["y"]))

        return call

    def remark(d: Data, result: ContenderResult) -> str:
        noise = f"± {2 * _error(d, result.value):.4f}"
        return f"{noise}, {_grown(family, name, size, result.who)}" if memory else noise

    peers = tuple(Peer(c.name, c.requires, fit(c)) for c in contenders[1:])
    quality = "test log-loss" if _task(data) == "classification" else "test RMSE"
    return Case(
        name, size, data, fit(contenders[0]), peers, lambda d, result: _loss(d, result.value), quality,
        rounds=rounds, memory=False, remark=remark, first_call=first_call,
    )  # fmt: skip


def predicting(
    name: str, size: str, data: Callable[[], Data], contenders: tuple[Contender, ...], *, on: int | None = None
) -> Case:
    """Predict the test rows with models fitted before, untimed."""
    name = name if on is None else f"{name}, {on} thread{'s' if on > 1 else ''}"

    def predict(contender: Contender) -> Callable[[Data], ContenderResult]:
        def call(d: Data) -> ContenderResult:
            with _held(on):
                if contender.name not in d:
                    d[contender.name] = contender.make(d).fit(d["X"], d["y"])
                return ContenderResult(contender.name, _predicted(d, d[contender.name]))

        return call

    # The first call fits, so its time must not count, however long it takes.
    peers = tuple(Peer(c.name, c.requires, predict(c), compiles=True) for c in contenders[1:])
    quality = "test log-loss" if _task(data) == "classification" else "test RMSE"
    ours = predict(contenders[0])
    return Case(
        name, size, data, ours, peers, lambda d, result: _summary(d, _losses(d, result.value)), quality,
        rounds=5, memory=False,
    )  # fmt: skip


def _task(data: Callable[[], Data]) -> str:
    return str(getattr(data, "task", "classification"))


def _predicted(d: Data, model: Any) -> np.ndarray:
    result = model.predict_proba(d["test_X"]) if d["task"] == "classification" else model.predict(d["test_X"])
    return np.asarray(result)


def _losses(d: Data, result: np.ndarray) -> np.ndarray:
    """The loss of every test row: minus the logarithm of its class's probability, or its squared error."""
    if d["task"] == "regression":
        return (result - d["test_y"]) ** 2
    return -np.log(np.maximum(result[np.arange(len(result)), d["test_y"].astype(int)], SMALLEST))


def _summary(d: Data, losses: np.ndarray) -> float:
    mean = float(losses.mean())
    return mean if d["task"] == "classification" else float(np.sqrt(mean))


def _loss(d: Data, model: Any) -> float:
    return _summary(d, _losses(d, _predicted(d, model)))


def _error(d: Data, model: Any) -> float:
    """The standard error of the loss; that of a root is half of it, relative to the root."""
    losses = _losses(d, _predicted(d, model))
    error = float(losses.std() / np.sqrt(len(losses)))
    return error if d["task"] == "classification" else error / (2 * _summary(d, losses))


@contextmanager
def _held(on: int | None) -> Iterator[None]:
    """Everyone at ``on`` threads for a while."""
    if on is None or on == threads():
        yield
        return
    before = threads()
    os.environ["MARGIN_NUM_THREADS"] = str(on)
    try:
        with _controller().limit(limits=on):
            yield
    finally:
        os.environ["MARGIN_NUM_THREADS"] = str(before)


@cache
def _controller() -> Any:
    # Looking for the loaded libraries takes milliseconds, which no contender shall pay.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _grown(family: str, name: str, size: str, who: str) -> str:
    command = [sys.executable, "-m", "benchmarks.measuring.memory", family, name, size, who]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{float(done.stdout.split()[-1]):.1f} MB resident" if done.returncode == 0 else "memory unknown"
