"""A run folder: what is trained on what, how far it came, and the model."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from margin.core.file_locks import take_lock
from margin.core.notices import warn_user
from margin.runs.journal import Journal, RunError
from margin.runs.training import train
from margin.store.container import temporary_files, write_atomically
from margin.store.models import library_versions, load, save
from margin.store.resources import adopt_resources

__all__ = ["CHECKPOINT_SECONDS", "OUTPUTS", "Run", "RunError"]

CHECKPOINT_SECONDS = 5.0
OUTPUTS = "outputs"  # where a comparison keeps what its models said, in a folder of each


class Run:
    """One folder, one fit.

    ``identity`` are JSON facts that must not change between starts (model, data, seed): a folder that holds
    another identity is refused, so that two different fits never mix. :func:`margin.fit` makes them from model and
    data; whoever opens a run by hand chooses them.

    >>> import tempfile, margin
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = Run.open(folder.name, {"model": "k-means on four points"})
    >>> model = run.fit(margin.KMeans(n_clusters=2, n_init=1, random_state=0), [[0.0], [0.1], [5.0], [5.1]])
    >>> run.status, run.metrics()[-1]["inertia"] < 0.1
    ('finished', True)
    >>> margin.Run.existing(folder.name).model().predict([[4.0]]) == model.predict([[5.0]])
    array([ True])
    >>> folder.cleanup()
    """

    writes = True  # whether this process writes the folder

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.journal = Journal(self.folder)
        self.manifest: dict[str, Any] = {}
        self._holds_lock = False

    @classmethod
    def open(cls, folder: str | Path, identity: Mapping[str, Any], **facts: Any) -> Run:
        """Create the run, or take it up again."""
        run = cls(folder)
        if not run._manifest_path.exists():
            run.folder.mkdir(parents=True, exist_ok=True)
            with run.lock():  # two processes that begin one run: one of them creates it
                if not run._manifest_path.exists():
                    run._refuse_files_of_others()
                    run.update(format_version=1, identity=dict(identity), status="new", **facts)
                    return run
        run.manifest = run._read_manifest()
        run._refuse_other(identity, facts)
        return run

    @classmethod
    def is_one(cls, folder: str | Path) -> bool:
        """Whether the folder holds a run."""
        return cls(folder)._manifest_path.exists()

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
        """How far the run is, as its manifest has it: "new", "running", "interrupted", "failed" or "finished"."""
        return self.manifest["status"]

    @property
    def model_path(self) -> Path:
        """Where the finished model is, or will be."""
        return self.folder / "model.safetensors"

    def model(self, like: Any = None) -> Any:
        """The trained model, with the resources (``n_jobs``, ``memory``, ...) of the model ``like``."""
        if not self.model_path.exists():
            raise RunError(f"{self.folder} has no model yet: its status is {self.status!r}.")
        model = load(self.model_path)
        return model if like is None else adopt_resources(model, like)

    def metrics(self) -> list[dict[str, Any]]:
        """The records so far; of a fit that ended, as it wrote them."""
        return self.journal.read(self.manifest.get("metrics_sha256"))

    def fit(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        stop: threading.Event | None = None,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> Any:
        """Fit ``model`` (an estimator, or a Pipeline whose last step iterates) here, continuing from a checkpoint.

        Setting ``stop`` ends the fit at the next record with a usable model and status "interrupted". A loss that is no
        longer finite ends it with status "failed" and, where there was one before, a usable model.
        """
        ends = stop or threading.Event()

        def learn() -> bool:
            return train(model, X, y, sample_weight, self.journal, stop=ends, checkpoint_seconds=checkpoint_seconds)

        self._record(model, learn)
        return model

    def _record(self, model: Any, learn: Callable[[], bool]) -> None:
        """Let ``learn`` train the model, and write what became of it; it says whether the fit came to its end."""
        with self.lock():
            started, fresh = time.monotonic(), self.status == "new"
            self.update(status="running", versions=library_versions(), metrics_sha256=None)
            try:
                finished = learn()
            except FloatingPointError:
                self._keep_failed(model)
                raise
            except (ValueError, TypeError):
                if fresh and not self.metrics():
                    self._withdraw()
                raise
            save(model, self.model_path, data_hash=str(self.manifest["identity"].get("data_hash", "")))
            seconds = self.manifest.get("seconds", 0.0) + time.monotonic() - started
            checksum = self.journal.checksum if self.journal.n_records else None
            self.update(status="finished" if finished else "interrupted", seconds=seconds, metrics_sha256=checksum)

    def _withdraw(self) -> None:
        """Leave nothing of a fit that was refused before its first record, so that another one may use the folder."""
        self.journal.clear()
        for path in (self._manifest_path, self.folder / ".lock"):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # it holds what is not ours
            self.folder.rmdir()

    def _keep_failed(self, model: Any) -> None:
        """Save what a fit had learned before its loss failed, if it had records to show for it."""
        if self.metrics():
            save(model, self.model_path, data_hash=str(self.manifest["identity"].get("data_hash", "")))
        self.update(status="failed")

    def forget_fit(self) -> None:
        """Drop metrics, checkpoints and model: another model will be trained here."""
        self.journal.clear()
        self.model_path.unlink(missing_ok=True)

    def update(self, **facts: Any) -> None:
        """Change facts of the manifest."""
        self.manifest.update(facts)
        write_atomically(self._manifest_path, json.dumps(self.manifest, indent=2).encode())

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One process at a time; the lock dies with its process, however that ends."""
        if self._holds_lock:
            yield
            return
        with self._lock_file():
            self._refuse_what_is_no_file()
            for folder in (self.folder, self.journal.checkpoint_folder, *_subfolders(self.folder / OUTPUTS)):
                for leftover in temporary_files(folder):
                    leftover.unlink(missing_ok=True)
            self._holds_lock = True
            try:
                yield
            finally:
                self._holds_lock = False

    @contextmanager
    def _lock_file(self) -> Iterator[None]:
        path = self.folder / ".lock"
        try:
            # Never through a link, which may point at anything, and never truncated.
            number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as problem:
            raise RunError(f"{path} cannot be opened as the lock of the run: {problem.strerror}.") from None
        try:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise RunError(f"{path} cannot be opened as the lock of the run: it is not a file.")
            locked = take_lock(number)
            if locked is False:
                raise RunError(f"{self.folder} is being trained by another process.")
            if locked is None and os.name == "posix":  # elsewhere there never is one
                warn_user(f"{self.folder}: its file system has no locks: two processes could train it at once.")
            yield
        finally:
            os.close(number)

    @property
    def _manifest_path(self) -> Path:
        return self.folder / "manifest.json"

    def _read_manifest(self) -> dict[str, Any]:
        try:
            manifest = json.loads(self._manifest_path.read_text())
            _ = manifest["identity"].keys(), manifest["status"] + "", manifest.get("seconds", 0.0) + 0.0
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise RunError(f"{self._manifest_path} is damaged.") from None
        except OSError as problem:
            raise RunError(f"{self._manifest_path} cannot be read: {problem.strerror}.") from None
        return manifest

    def _refuse_what_is_no_file(self) -> None:
        """What a fit writes must not go through a link to elsewhere, and cannot replace a folder."""
        for path in (self._manifest_path, self.journal.metrics_path, self.model_path):
            if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
                raise RunError(f"{path} is a link or a folder, where a run has a file; choose another folder.")

    def _refuse_files_of_others(self) -> None:
        """A new run would overwrite what has the names of its files."""
        taken = [path for path in (self.journal.metrics_path, self.model_path) if os.path.lexists(path)]
        taken += self.journal.checkpoint_paths()
        if taken:
            raise RunError(f"{self.folder} holds {taken[0].name}, which belongs to no run; choose another folder.")

    def _refuse_other(self, identity: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        known = self.manifest["identity"]
        key = _first_difference(known, identity)
        if key is None:
            return
        ours, theirs = repr(known.get(key)), repr(identity.get(key))
        if key == "fingerprint":  # a hash tells a user nothing: name a parameter that differs
            before, now = self.manifest.get("params", {}), facts.get("params", {})
            name = _first_difference(before, now)
            key, ours, theirs = (key, ours, theirs) if name is None else (name, before.get(name), now.get(name))
        raise RunError(
            f"{self.folder} holds another run: its {key} is {ours}, this one's is {theirs}; choose another folder."
        )


def _first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The key whose values differ; of nested parameters (``step__alpha``) the innermost."""
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    return max(keys, key=lambda key: key.count("__"), default=None)


def _subfolders(folder: Path) -> list[Path]:
    try:
        return [Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
