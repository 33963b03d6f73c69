"""A run of several processes that learn one model together: the first writes the folder, the others follow it.

They agree in the same order: who may open the folder, from which checkpoint to go on, when to stop. What the first one
reads from the folder it sends to the others, which need not see its disk.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margin.core.records import Record
from margin.runs.folder import Run
from margin.runs.journal import Checkpoint, Journal, RunError
from margin.store.models import load, load_state
from margin.store.resources import adopt_resources

if TYPE_CHECKING:
    from margin.neural.training.processes import Processes

__all__ = ["open_run", "processes_of"]

SENT, REFUSED = b"+", b"-"


def processes_of(model: Any) -> Processes | None:
    """The processes that learn ``model`` (an estimator or a Pipeline) together; None: this one does so alone."""
    steps = getattr(model, "steps", None)
    estimator = steps[-1][1] if isinstance(steps, list) and steps else model
    if getattr(estimator, "batch_parts", None) is None:
        return None
    from margin.neural.training.processes import join_processes

    processes = join_processes()
    return None if processes.alone else processes


def open_run(
    choose: Callable[[], str | Path], identity: Mapping[str, Any], processes: Processes | None, **facts: Any
) -> Run:
    """:meth:`Run.open` in the folder that ``choose`` gives to the first of the ``processes``, for all of them."""
    if processes is None:
        return Run.open(choose(), identity, **facts)
    run: Run | None = None
    answer = b""
    if processes.first:
        try:
            run = Run.open(choose(), identity, **facts)
            answer = SENT + json.dumps([str(run.folder), run.manifest, dict(identity)]).encode()
        except RunError as error:
            answer = REFUSED + str(error).encode()
    folder, manifest, wanted = json.loads(_share_answer(processes, answer))
    if any(processes.any(json.loads(json.dumps(dict(identity))) != wanted)):
        raise RunError(f"{folder}: the processes were given different models or data; all of them must make one call.")
    if run is None:
        run = FollowedRun(Path(folder), manifest, processes)
    else:
        run.journal = SentJournal(run.folder, processes)
    if run.status == "finished":
        content = processes.broadcast(run.model_path.read_bytes() if processes.first else b"")
        if isinstance(run, FollowedRun):
            run.finished_model = content
    return run


def _share_answer(processes: Processes, answer: bytes) -> bytes:
    """What the first process has to say, or its refusal as an error of every process."""
    found = processes.broadcast(answer)
    if found[:1] == REFUSED:
        raise RunError(found[1:].decode())
    return found[1:]


class SentJournal(Journal):
    """The journal of the first process, which sends what it reads to the others."""

    def __init__(self, folder: Path, processes: Processes):
        super().__init__(folder)
        self.processes = processes

    def candidates(self) -> list[Path]:
        paths = super().candidates()
        self.processes.broadcast(json.dumps([path.name for path in paths]).encode())
        return paths

    def load(self, path: Path) -> Checkpoint:
        try:
            found = super().load(path)
        except ValueError as error:
            self.processes.broadcast(REFUSED + str(error).encode())
            raise
        self.processes.broadcast(SENT + path.read_bytes())
        return found

    def agree(self, stop: bool) -> bool:
        return self.processes.any(stop)[0]


class FollowedJournal(Journal):
    """The journal of another process: nothing is written, and what is read was sent by the first."""

    def __init__(self, folder: Path, processes: Processes):
        super().__init__(folder)
        self.processes = processes
        self.records: list[dict[str, Any]] = []

    @contextmanager
    def resume(self, checkpoint: Checkpoint) -> Iterator[None]:
        yield

    def append(self, record: Record) -> None:
        self.records.append(record.as_dict())

    def checkpoint(self, state: dict[str, Any]) -> None:
        pass

    def read(self, checksum: str | None = None) -> list[dict[str, Any]]:
        """The records since this process began."""
        return self.records

    def candidates(self) -> list[Path]:
        return [self.checkpoint_folder / name for name in json.loads(self.processes.broadcast(b""))]

    def load(self, path: Path) -> Checkpoint:
        with _as_file(_share_answer(self.processes, b"")) as sent:
            return Checkpoint(load_state(sent)[0])

    def agree(self, stop: bool) -> bool:
        return self.processes.any(stop)[0]


class FollowedRun(Run):
    """A run that another process writes: the same fit, and no file."""

    writes = False
    finished_model: bytes | None = None

    def __init__(self, folder: Path, manifest: dict[str, Any], processes: Processes):
        super().__init__(folder)
        self.manifest = manifest
        self.journal: FollowedJournal = FollowedJournal(folder, processes)

    def model(self, like: Any = None) -> Any:
        if self.finished_model is None:
            raise RunError(f"{self.folder} is written by another process, which has the model.")
        with _as_file(self.finished_model) as path:
            model = load(path)
        return model if like is None else adopt_resources(model, like)

    def metrics(self) -> list[dict[str, Any]]:
        return self.journal.read()

    def _record(self, model: Any, learn: Callable[[], bool]) -> None:
        self.manifest["status"] = "finished" if learn() else "interrupted"

    def update(self, **facts: Any) -> None:
        self.manifest.update(facts)


@contextmanager
def _as_file(content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sent.safetensors")
        path.write_bytes(content)
        yield path
