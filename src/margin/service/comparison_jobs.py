"""Comparisons that a page starts, watches, stops and continues, each in a run folder that survives the program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from margin.core.parameters import parameters_of
from margin.runs import Run
from margin.service.comparison import BackgroundComparison, ComparisonRequest, board_snapshot, open_comparison
from margin.service.comparison_request import HowToRun
from margin.service.requests import BadRequest
from margin.service.run_listing import find_run, run_status

__all__ = ["ComparisonJobs", "report_file", "stored_snapshot", "write_as_code", "write_report"]

TICK = 0.5  # seconds between two looks at a board
MOST_RUNNING = 2
REPORT = "report.html"

Publish = Callable[[str, dict[str, Any]], None]


class ComparisonJobs:
    """The comparisons of this program in ``folder``; ``publish(id, snapshot)`` is called when a board has changed."""

    def __init__(self, folder: Path, publish: Publish):
        self.folder, self._publish = folder, publish
        self._jobs: dict[str, BackgroundComparison] = {}
        self._unfinished: set[str] = set()  # those that run, or whose report is being written
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self, data: str, name: str, options: Mapping[str, Any]) -> str:
        """Begin a comparison of the table ``data``, in a new folder that is called after ``name``; its id."""
        request, n_jobs = _request_of(options)
        if request.generative:
            raise BadRequest("compare: generative models are compared by the command margin compare --generative.")
        with self._lock:
            self._refuse_too_many()
            id = self._free_name(f"compare-{name}")
            self._begin(id, data, request, n_jobs)
        return id

    def resume(self, id: str) -> None:
        """Continue a comparison that was stopped, or whose program ended."""
        with self._lock:
            if id in self._unfinished:
                raise BadRequest(f"The comparison {id!r} is running.")
            run = find_run(self.folder, id)
            _refuse_others(run)
            self._refuse_too_many()
            self._begin(id, run.manifest["data"], ComparisonRequest.of_texts(run.manifest["request"]))

    def stop(self, id: str) -> None:
        """End the trials and fit the best so far to all rows; called again, end that too."""
        job = self._jobs.get(id)
        if job is None or not job.is_running:
            raise BadRequest(f"The comparison {id!r} is not running.")
        job.stop()

    def snapshot(self, id: str) -> dict[str, Any] | None:
        """The board of a comparison of this program; None for one of an earlier one."""
        job = self._jobs.get(id)
        return None if job is None else self._tell(id, job)

    def close(self) -> None:
        """Stop everything, at once; the folders can be continued."""
        self._closing.set()
        for job in self._jobs.values():
            if job.is_running:
                job.stop()
                job.stop()

    def _begin(self, id: str, data: str, request: ComparisonRequest, n_jobs: int | None = None) -> None:
        job = BackgroundComparison(data, request, self.folder / id, n_jobs=n_jobs)
        self._jobs[id] = job
        self._unfinished.add(id)
        job.start()
        threading.Thread(target=self._watch, args=(id, job), daemon=True, name=f"watch-{id}").start()

    def _watch(self, id: str, job: BackgroundComparison) -> None:
        """Publish the board whenever it has changed, and how it ended."""
        seen: Any = ()
        while not job.wait(TICK) and not self._closing.is_set():
            if job.latest is not seen:
                seen = job.latest
                self._publish(id, self._tell(id, job))
        if job.error is None and job.latest is not None and not self._closing.is_set():
            _try_report(job)
        self._unfinished.discard(id)
        self._publish(id, self._tell(id, job))

    def _tell(self, id: str, job: BackgroundComparison) -> dict[str, Any]:
        running = id in self._unfinished
        stage = {"stage": "writing the report"} if running and not job.is_running else {}
        return {**job.snapshot(), **stage, "running": running, "has_report": (job.out / REPORT).is_file()}

    def _refuse_too_many(self) -> None:
        running = sorted(self._unfinished)
        if len(running) >= MOST_RUNNING:
            raise BadRequest(f"{len(running)} comparisons are running ({', '.join(running)}); stop one or wait.")

    def _free_name(self, wish: str) -> str:
        taken = {path.name for path in self.folder.iterdir()} if self.folder.is_dir() else set()
        taken |= self._jobs.keys()
        numbered = (f"{wish}-{number}" for number in range(2, 10_000))
        return wish if wish not in taken else next(name for name in numbered if name not in taken)


def _request_of(options: Mapping[str, Any]) -> tuple[ComparisonRequest, int | None]:
    """What is compared, and in how many processes."""
    request = ComparisonRequest.of_texts({name: value for name, value in options.items() if name != "n_jobs"})
    request.check()
    how = HowToRun(n_jobs=options.get("n_jobs"))
    if not parameters_of(HowToRun)["n_jobs"].domain.accepts(how.n_jobs):
        raise BadRequest(f"compare: n_jobs must be an integer of at least 1; got {how.n_jobs!r}.")
    return request, how.n_jobs


def _try_report(job: BackgroundComparison) -> None:
    """Write the report; one that fails leaves the board as it is, and the page offers to write it again."""
    assert job.latest is not None
    try:
        if job.latest.winner:
            job.latest.report(seconds=job.latest.seconds_left)
    except Exception as problem:
        (job.out / "report.txt").write_text(f"The report was not written: {problem}\n", encoding="utf-8")


def _refuse_others(run: Run) -> None:
    if run.manifest["identity"].get("kind") != "comparison" or run.manifest.get("given") != "spec":
        raise BadRequest(f"{run.folder.name} is no comparison of a table that a page could continue.")


def write_as_code(data: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The Python and the command that ask for the same comparison.

    >>> write_as_code("iris", {"folds": 3})["python"].splitlines()[-1]
    "result = margin.compare('iris', folds=3)"
    """
    request, _ = _request_of(options)
    return {"python": f"import margin\n\nresult = {request.call(repr(data))}", "command": request.command(data)}


def stored_snapshot(folder: str, id: str) -> dict[str, Any]:
    """The board that a folder keeps; its table is read again, nothing is fitted."""
    run = find_run(Path(folder), id)
    _refuse_others(run)
    status = run_status(run)
    snapshot = board_snapshot(open_comparison(run.folder))
    has_report = (run.folder / REPORT).is_file()
    return {**snapshot, "status": status, "error": "", "running": False, "has_report": has_report}


def write_report(folder: str, id: str) -> str:
    """Write the report of a comparison again, in full; its path."""
    run = find_run(Path(folder), id)
    _refuse_others(run)
    return str(open_comparison(run.folder).report())


def report_file(folder: Path, id: str) -> Path:
    """The report of a comparison; a KeyError if it has none yet."""
    path = find_run(folder, id).folder / REPORT
    if path.is_symlink() or not path.is_file():
        raise KeyError(f"The comparison {id!r} has no report yet.")
    return path
