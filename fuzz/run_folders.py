"""Run folders in which something was changed, lost, or replaced by a link: read and continued, or refused."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import margin
from fuzz import checkpoints, corpus
from fuzz.mutations import INTEGERS, REALS, STRINGS
from margin.runs import Run

__all__ = ["Trial", "names", "write"]

names, write = checkpoints.names, checkpoints.write
FILES = ("manifest.json", "metrics.jsonl", "model.safetensors", ".lock")


def _file(run: Path, rng: random.Random) -> Path:
    return rng.choice([path for path in sorted(run.rglob("*")) if path.is_file() and path.stat().st_size] or [run])


def flip(run: Path, rng: random.Random) -> None:
    path = _file(run, rng)
    path.write_bytes(checkpoints.flipped(path.read_bytes(), rng))


def lose(run: Path, rng: random.Random) -> None:
    _file(run, rng).unlink()


def empty(run: Path, rng: random.Random) -> None:
    _file(run, rng).write_bytes(b"")


def link(run: Path, rng: random.Random) -> None:
    """A link to a file outside, which must stay as it is."""
    path = run / rng.choice(FILES)
    path.unlink(missing_ok=True)
    path.symlink_to(run.parent / "theirs")


def make_folder(run: Path, rng: random.Random) -> None:
    path = run / rng.choice(FILES)
    path.unlink(missing_ok=True)
    path.mkdir()


def swap(run: Path, rng: random.Random) -> None:
    one, other = _file(run, rng), _file(run, rng)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def edit_manifest(run: Path, rng: random.Random) -> None:
    """A fact of the manifest becomes another value, or goes."""
    path = run / "manifest.json"
    manifest = json.loads(path.read_text())
    holder: Any = manifest if rng.random() < 0.6 else manifest["identity"]
    key = rng.choice(list(holder))
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice((*INTEGERS, *REALS, *STRINGS, None, [], {}, True, [[]], {"a": 1}))
    path.write_text(json.dumps(manifest))


def edit_metrics(run: Path, rng: random.Random) -> None:
    path = run / "metrics.jsonl"
    line = rng.choice(("[]", "1", '{"iteration": "x"}', "{", "nan", "\0" * 20, "[" * 5000))
    path.write_text(rng.choice((line + "\n" + path.read_text(), path.read_text() + line + "\n", line)))


CHANGES: tuple[Callable[[Path, random.Random], None], ...] = (
    *2 * (flip, edit_manifest, edit_metrics),
    lose,
    empty,
    link,
    make_folder,
    swap,
)


class Trial(checkpoints.Trial):
    """Tries changed run folders."""

    def lay_out(self, name: str, number: int, own: Path) -> None:
        """Every third folder is of a finished fit."""
        shutil.rmtree(own / "run", ignore_errors=True)
        shutil.copytree(self.folder / (name if number % 3 else f"{name}.whole"), own / "run")

    def attempt(self, name: str, number: int, own: Path) -> tuple[str, str, list[str]]:
        run, theirs, rng = own / "run", own / "theirs", random.Random(f"run-{name}-{number}")
        theirs.write_text("of another program")
        change = rng.choice(CHANGES)
        change(run, rng)
        X, y = self.data[name]
        outcomes = [self._looked_at(run), self._fitted(name, run, X, y)]
        if theirs.read_text() != "of another program":
            return "overwritten", "", [change.__name__]
        bad = [outcome for outcome in outcomes if outcome[0] == "untidy"]
        return (*(bad[0] if bad else outcomes[1]), [change.__name__])

    def _looked_at(self, run: Path) -> tuple[str, str]:
        try:
            opened = Run.existing(run)
            _ = opened.status, opened.metrics(), opened.model()
        except Exception as error:
            return checkpoints.tidy(error)
        return "continued", ""

    def _fitted(self, name: str, run: Path, X: Any, y: Any) -> tuple[str, str]:
        try:
            margin.fit(corpus.unfitted(name), X, y, run=run)
        except Exception as error:
            return checkpoints.tidy(error)
        return "continued", ""
