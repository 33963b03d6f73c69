"""The written side of a running fit: its metrics file and its checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from margin.core.records import Record
from margin.store.container import StoreError
from margin.store.models import load_state, save_state

__all__ = ["Checkpoint", "Journal", "RunError"]

KEPT_CHECKPOINTS = 2
DIGIT, NUMBER_LENGTH = "[0-9]", 10  # a checkpoint is called by the number of records before it


class RunError(ValueError):
    """A run folder cannot be used as asked; the sentence says why."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit can go on: its state, the number of its records and the metrics file as it was then."""

    state: dict[str, Any] | None = None
    records: int = 0
    metrics: bytes = b""


class Journal:
    """``metrics.jsonl`` and ``checkpoints/`` in a folder: written record by record, cut back when a fit continues."""

    def __init__(self, folder: Path):
        self.metrics_path = folder / "metrics.jsonl"
        self.checkpoint_folder = folder / "checkpoints"
        self.n_records = 0
        self._digest = hashlib.sha256()
        self._file: BinaryIO

    @contextmanager
    def resume(self, checkpoint: Checkpoint) -> Iterator[None]:
        """Open for writing behind ``checkpoint``; later checkpoints, which could not be used, are dropped."""
        for path in self.checkpoint_paths():
            if int(path.stem) > checkpoint.records:
                path.unlink(missing_ok=True)
        self.n_records, self._digest = checkpoint.records, hashlib.sha256(checkpoint.metrics)
        with open(self.metrics_path, "a+b") as self._file:
            self._file.truncate(len(checkpoint.metrics))
            yield

    def append(self, record: Record) -> None:
        """Write one record; whoever follows the file sees it at once."""
        line = json.dumps(record.as_dict()).encode() + b"\n"
        self.n_records += 1
        self._digest.update(line)
        self._file.write(line)
        self._file.flush()

    def checkpoint(self, state: dict[str, Any]) -> None:
        """Write the state of the fit after the last record, and drop older ones."""
        os.fsync(self._file.fileno())  # a checkpoint must not promise more metrics than the disk has
        path = self.checkpoint_folder / f"{self.n_records:0{NUMBER_LENGTH}d}.safetensors"
        save_state(
            state,
            path,
            records=self.n_records,
            metrics_bytes=self._file.seek(0, os.SEEK_END),
            metrics_sha256=self.checksum,
        )
        for old in self.checkpoint_paths()[:-KEPT_CHECKPOINTS]:
            with suppress(OSError):  # it is gone already, or a network file system holds it: no reason to end a fit
                old.unlink()

    @property
    def checksum(self) -> str:
        """Of the metrics written so far."""
        return self._digest.hexdigest()

    def read(self, checksum: str | None = None) -> list[dict[str, Any]]:
        """The records so far; a line that a kill cut short is left out. ``checksum`` is that of a fit that ended."""
        try:
            content = self.metrics_path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as problem:
            raise RunError(f"{self.metrics_path} cannot be read: {problem.strerror}.") from None
        if checksum is not None and hashlib.sha256(content).hexdigest() != checksum:
            raise RunError(f"{self.metrics_path} is damaged: its bytes are not those that the fit wrote.")
        lines = content.split(b"\n")[:-1]  # what follows the last line break is not a whole line
        try:
            records = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            records = [None]
        if not all(isinstance(record, dict) for record in records):
            raise RunError(f"{self.metrics_path} is damaged: a line of it is not a record.")
        return records

    def clear(self) -> None:
        """Forget everything: another model is trained in this folder now."""
        for path in self.checkpoint_paths():
            path.unlink(missing_ok=True)
        with suppress(OSError):  # it is not there, or holds what is not ours
            self.checkpoint_folder.rmdir()
        self.metrics_path.unlink(missing_ok=True)

    def checkpoint_paths(self) -> list[Path]:
        """The files of the checkpoints, oldest first."""
        return sorted(self.checkpoint_folder.glob(f"{DIGIT * NUMBER_LENGTH}.safetensors"))

    def candidates(self) -> list[Path]:
        """The checkpoints from which a fit may go on, newest first."""
        return self.checkpoint_paths()[::-1]

    def agree(self, stop: bool) -> bool:
        """Whether to stop, where whoever follows this journal may want it too."""
        return stop

    def load(self, path: Path) -> Checkpoint:
        """A checkpoint; a :class:`StoreError` if it, or the metrics that belong to it, are damaged."""
        state, facts = load_state(path)
        numbers = [facts.get(name) for name in ("records", "metrics_bytes")]
        if not isinstance(state, dict) or any(type(number) is not int or number < 0 for number in numbers):
            raise StoreError(f"{path} is damaged: it does not hold the state of a fit and its place in the metrics.")
        records, length = (int(number or 0) for number in numbers)
        metrics = self.metrics_path.read_bytes() if self.metrics_path.exists() else b""
        before = metrics[:length]
        # Checkpoints of earlier versions have no checksum of the metrics, but know how many lines there were.
        checksum = hashlib.sha256(before).hexdigest()
        same = facts.get("metrics_sha256", checksum) == checksum
        if len(before) < length or not same or before.count(b"\n") != records:
            raise StoreError(f"{path} cannot be continued: {self.metrics_path.name} is not what it was then.")
        return Checkpoint(state, records, before)
