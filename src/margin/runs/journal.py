"""The written side of a running fit: its metrics file and its checkpoints."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from margin.core.records import Record
from margin.store.container import StoreError
from margin.store.models import load_state, save_state

__all__ = ["Journal"]

KEPT_CHECKPOINTS = 2


class Journal:
    """``metrics.jsonl`` and ``checkpoints/`` in a folder: written record by record, cut back when a fit continues."""

    def __init__(self, folder: Path):
        self.metrics_path = folder / "metrics.jsonl"
        self.checkpoint_folder = folder / "checkpoints"
        self.n_records = 0
        self._file: BinaryIO

    @contextmanager
    def continued(self) -> Iterator[dict[str, Any] | None]:
        """Open for writing behind the newest checkpoint and give its state, or None for a fit from the start."""
        state, facts = self._latest_checkpoint()
        self.n_records = int(facts["records"])
        with open(self.metrics_path, "a+b") as self._file:
            self._file.truncate(int(facts["metrics_bytes"]))
            yield state

    def append(self, record: Record) -> None:
        """Write one record; whoever follows the file sees it at once."""
        self.n_records += 1
        self._file.write(json.dumps(record.as_dict()).encode() + b"\n")
        self._file.flush()

    def checkpoint(self, state: dict[str, Any]) -> None:
        """Write the state of the fit after the last record, and drop older ones."""
        os.fsync(self._file.fileno())  # a checkpoint must not promise more metrics than the disk has
        path = self.checkpoint_folder / f"{self.n_records:010d}.safetensors"
        save_state(state, path, records=self.n_records, metrics_bytes=self._file.seek(0, os.SEEK_END))
        for old in self._checkpoints()[:-KEPT_CHECKPOINTS]:
            old.unlink()

    def read(self) -> list[dict[str, Any]]:
        """The records so far; a line that a kill cut short is left out."""
        if not self.metrics_path.exists():
            return []
        lines = self.metrics_path.read_text().split("\n")[:-1]  # what follows the last line break is not a whole line
        return [json.loads(line) for line in lines]

    def clear(self) -> None:
        """Forget everything: another model is trained in this folder now."""
        shutil.rmtree(self.checkpoint_folder, ignore_errors=True)
        self.metrics_path.unlink(missing_ok=True)

    def _latest_checkpoint(self) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The newest checkpoint that can be read; one that a failing disk damaged is passed over."""
        for path in reversed(self._checkpoints()):
            try:
                return load_state(path)
            except StoreError:
                path.unlink()
        return None, {"metrics_bytes": 0, "records": 0}

    def _checkpoints(self) -> list[Path]:
        return sorted(self.checkpoint_folder.glob("*.safetensors"))
