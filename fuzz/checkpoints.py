"""Checkpoints that were changed: a fit goes on from what is well formed, and says in a sentence what it refuses.

Every second file has flipped or missing bytes beside an intact older checkpoint: then the finished model must have the
bits of an uninterrupted fit, or nothing may be trained at all. The others lie with the right checksum.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

import margin
from fuzz import corpus
from fuzz.mutations import mutate, read
from margin.core.watching import watch
from margin.runs import RunError
from margin.store import StoreError

__all__ = ["Trial", "interrupted", "names", "tidy", "write"]

RECORDS = 2  # before the fit is stopped: two checkpoints


def names() -> list[str]:
    """The models of the corpus whose fit iterates, alone or as the last step."""
    return [name for name in corpus.names() if hasattr(_last(corpus.unfitted(name)), "iterate")]


def _last(model: Any) -> Any:
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def interrupted(name: str, run: Path) -> None:
    """A run folder of a fit that was stopped after a few records, with two checkpoints."""
    stop, seen = threading.Event(), []

    def stopping(_estimator: Any, record: Any) -> None:
        seen.append(record)
        if len(seen) == RECORDS:
            stop.set()

    with watch(stopping), warnings.catch_warnings(action="ignore"):
        margin.fit(corpus.unfitted(name), *corpus.data_of(name), run=run, stop=stop, checkpoint_seconds=0.0)


def write(folder: Path, chosen: Iterable[str]) -> Iterator[str]:
    """Run folders NAME and, of the uninterrupted fit, NAME.whole; yields each name when they are there."""
    for name in chosen:
        if not (folder / f"{name}.whole").exists():
            shutil.rmtree(folder / name, ignore_errors=True)
            interrupted(name, folder / name)
            with warnings.catch_warnings(action="ignore"):
                margin.fit(corpus.unfitted(name), *corpus.data_of(name), run=folder / f"{name}.whole")
        yield name


def tidy(error: Exception) -> tuple[str, str]:
    """Whether an error is a sentence of those that a run folder may end with."""
    expected = isinstance(error, RunError | StoreError | FloatingPointError) and "\n" not in str(error)
    return ("refused" if expected else "untidy"), f"{type(error).__name__}: {error}"


class Trial:
    """Tries changed checkpoints of one folder of runs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.data: dict[str, Any] = {}

    def prepare(self, name: str) -> None:
        """Once per model, with time to compile and for what libraries load at their first use."""
        self.data[name] = corpus.data_of(name)
        with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as own:
            self.lay_out(name, 1, Path(own))
            margin.fit(corpus.unfitted(name), *self.data[name], run=Path(own) / "run")
            model = margin.load(self.folder / f"{name}.whole" / "model.safetensors")
            _used(model, self.data[name][0])

    def lay_out(self, name: str, number: int, own: Path) -> None:
        """A fresh copy of the run folder, before anybody watches which files are opened."""
        shutil.rmtree(own / "run", ignore_errors=True)
        shutil.copytree(self.folder / name, own / "run")

    def attempt(self, name: str, number: int, own: Path) -> tuple[str, str, list[str]]:
        run = own / "run"
        *older, newest = sorted((run / "checkpoints").iterdir())
        rng = random.Random(f"{name}-{number}")
        damaged = number % 2 == 0
        if damaged:
            newest.write_bytes(flipped(newest.read_bytes(), rng))
            done = ["raw_bytes"]
        else:
            for path in older:
                path.unlink()
            content, done = mutate(read(newest), f"{name}-{number}")
            newest.write_bytes(content)
        try:
            model = margin.fit(corpus.unfitted(name), *self.data[name], run=run)
        except Exception as error:
            return (*tidy(error), done)
        if damaged:
            same = all(
                (run / file).read_bytes() == (self.folder / f"{name}.whole" / file).read_bytes()
                for file in ("model.safetensors", "metrics.jsonl")
            )
            return ("continued" if same else "changed"), "", done
        return (*_used(model, self.data[name][0]), done)


def _used(model: Any, X: Any) -> tuple[str, str]:
    try:
        if hasattr(model, "predict"):
            model.predict(X)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {str(error)[:200]}"
    return "continued", ""


def flipped(content: bytes, rng: random.Random) -> bytes:
    """Some bits, or the end, of a file lost."""
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.2:
        del damaged[rng.randrange(len(damaged)) :]
    return bytes(damaged)
