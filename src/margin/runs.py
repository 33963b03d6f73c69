"""Run folders: a fit that survives a kill.

``runs/<name>/`` holds ``manifest.json`` (what is trained on what), ``metrics.jsonl`` (one line per record),
``checkpoints/`` (the newest two) and ``model.safetensors``. Opening the same folder again continues the fit, and
the result has the same bits as an uninterrupted one: a checkpoint holds everything the loop needs and the length
of the metrics file, which is cut back to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from margin.core.records import Record
from margin.core.watching import Watcher, watch
from margin.store.container import StoreError, write_atomically
from margin.store.encoding import Encoder
from margin.store.models import library_versions, load, load_state, save, save_state

__all__ = ["Run", "RunError", "fingerprint", "interruptible"]

CHECKPOINT_SECONDS = 5.0
KEPT_CHECKPOINTS = 2


class RunError(ValueError):
    """A run folder cannot be used as asked; the sentence says why."""


class Run:
    """One folder, one fit.

    ``identity`` are JSON facts that must not change between starts (model, data, seed): a folder that holds
    another identity is refused, so that two different fits never mix.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.manifest: dict[str, Any] = {}

    @classmethod
    def open(cls, folder: str | Path, identity: Mapping[str, Any], **facts: Any) -> Run:
        """Create the run, or take it up again."""
        run = cls(folder)
        if run._manifest_path.exists():
            run.manifest = run._read_manifest()
            run._refuse_other(identity)
        else:
            run.folder.mkdir(parents=True, exist_ok=True)
            run.manifest = {"format_version": 1, "identity": dict(identity), "status": "new", **facts}
            run._write_manifest()
        return run

    @classmethod
    def existing(cls, folder: str | Path) -> Run:
        """A run that is there already, to predict with or to look at."""
        run = cls(folder)
        if not run._manifest_path.exists():
            raise RunError(f"{run.folder} is not a run folder: it has no manifest.json.")
        run.manifest = run._read_manifest()
        return run

    @property
    def status(self) -> str:
        return self.manifest["status"]

    @property
    def model_path(self) -> Path:
        return self.folder / "model.safetensors"

    def model(self) -> Any:
        if not self.model_path.exists():
            raise RunError(f"{self.folder} has no model yet: its status is {self.status!r}.")
        return load(self.model_path)

    def metrics(self) -> list[dict[str, Any]]:
        """The records so far."""
        if not self._metrics_path.exists():
            return []
        return [json.loads(line) for line in self._metrics_path.read_text().splitlines()]

    def fit(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        stop: threading.Event | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> Any:
        """Fit ``model`` (an estimator, or a Pipeline whose last step iterates) here, continuing from a checkpoint.

        Setting ``stop`` ends the fit at the next record with a usable model and status "interrupted".
        """
        with self._locked():
            started = time.monotonic()
            self._update(status="running", versions=library_versions())
            finished = True
            final, X_final = _before_last_step(model, X, y)
            if hasattr(final, "iterate"):
                finished = self._iterate(final, X_final, y, stop, checkpoint_seconds)
            else:
                final.fit(X_final, y) if y is not None else final.fit(X_final)
            save(model, self.model_path, data_hash=str(self.manifest["identity"].get("data_hash", "")))
            seconds = self.manifest.get("seconds", 0.0) + time.monotonic() - started
            self._update(status="finished" if finished else "interrupted", seconds=seconds)
        return model

    def _iterate(self, estimator: Any, X: Any, y: Any, stop: threading.Event | None, checkpoint_seconds: float) -> bool:
        state, facts = self._latest_checkpoint()
        keeper = _Checkpoints(self, estimator, facts, stop or threading.Event(), checkpoint_seconds)
        with keeper, watch(keeper):
            estimator._consume(estimator.iterate(X, y, state=state), X, y)
        return not keeper.stopped

    def _latest_checkpoint(self) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The newest checkpoint that can be read; one that a failing disk damaged is passed over."""
        for path in reversed(self._checkpoints()):
            try:
                return load_state(path)
            except StoreError:
                path.unlink()
        return None, {"metrics_bytes": 0, "records": 0}

    def _checkpoints(self) -> list[Path]:
        return sorted((self.folder / "checkpoints").glob("*.safetensors"))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time; the lock dies with its process, however that ends."""
        with open(self.folder / ".lock", "w") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # no such lock on this system
                pass
            except OSError:
                raise RunError(f"{self.folder} is being trained by another process.") from None
            for leftover in self.folder.rglob(".*.tmp"):
                leftover.unlink(missing_ok=True)
            yield

    @property
    def _manifest_path(self) -> Path:
        return self.folder / "manifest.json"

    @property
    def _metrics_path(self) -> Path:
        return self.folder / "metrics.jsonl"

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads(self._manifest_path.read_text())
            _ = manifest["identity"], manifest["status"]
        except (ValueError, KeyError, TypeError):
            raise RunError(f"{self._manifest_path} is damaged.") from None
        return manifest

    def _write_manifest(self) -> None:
        write_atomically(self._manifest_path, json.dumps(self.manifest, indent=2).encode())

    def _update(self, **facts: Any) -> None:
        self.manifest.update(facts)
        self._write_manifest()

    def _refuse_other(self, identity: Mapping[str, Any]) -> None:
        known = self.manifest["identity"]
        differing = [key for key in {**known, **identity} if known.get(key) != identity.get(key)]
        if differing:
            key = differing[0]
            raise RunError(
                f"{self.folder} holds another run: its {key} is {known.get(key)!r}, "
                f"this one's is {identity.get(key)!r}; choose another folder."
            )


class _Checkpoints(Watcher):
    """Writes each record to the metrics file and, now and then, the state to a checkpoint."""

    def __init__(self, run: Run, estimator: Any, facts: Mapping[str, Any], stop: threading.Event, seconds: float):
        self.run, self.estimator, self.stop, self.seconds = run, estimator, stop, seconds
        self.records = int(facts["records"])
        self.stopped = False
        self.saved_at = time.monotonic()
        self.file = open(run._metrics_path, "a+b")  # noqa: SIM115 (closed by __exit__)
        self.file.truncate(int(facts["metrics_bytes"]))

    def __enter__(self) -> _Checkpoints:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.close()

    def record(self, estimator: Any, record: Record) -> bool | None:
        if estimator is not self.estimator:  # a fit inside the fit
            return None
        self.records += 1
        self.file.write(json.dumps(record.as_dict()).encode() + b"\n")
        self.file.flush()
        self.stopped = self.stop.is_set()
        if self.stopped or time.monotonic() - self.saved_at >= self.seconds:
            self._save()
        return self.stopped

    def _save(self) -> None:
        os.fsync(self.file.fileno())  # a checkpoint must not promise more metrics than the disk has
        path = self.run.folder / "checkpoints" / f"{self.records:010d}.safetensors"
        save_state(self.estimator.get_state(), path, records=self.records, metrics_bytes=self.file.seek(0, os.SEEK_END))
        for old in self.run._checkpoints()[:-KEPT_CHECKPOINTS]:
            old.unlink()
        self.saved_at = time.monotonic()


def _before_last_step(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The estimator that learns last and what it sees: a Pipeline's earlier steps are fitted on the way."""
    if not hasattr(model, "steps") or len(model.steps) < 2:
        return (model.steps[0][1] if hasattr(model, "steps") else model), X
    return model.steps[-1][1], model[:-1].fit_transform(X, y)


def fingerprint(model: Any) -> str:
    """A hash of a model's class and parameters (nested ones too): what must not change between two starts."""
    from sklearn.base import clone

    encoder = Encoder()
    digest = hashlib.sha256(json.dumps(encoder.encode(clone(model), "model"), sort_keys=True).encode())
    for name, array in encoder.arrays.items():
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C (or SIGTERM) asks for a stop at the next record; a second Ctrl-C interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(*_: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
