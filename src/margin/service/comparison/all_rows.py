"""The end of a comparison on rows drawn from many files: a winner that takes streams is fitted on all of them.

Until that is done, the winner fitted on the rows drawn is the model of the folder, so that a fit that fails, or is
stopped, loses nothing. The fit has a run folder of its own inside, from which it goes on.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from margin.core.full_disk import is_full_disk
from margin.core.streaming import Stream
from margin.core.summaries import takes_streams
from margin.runs import Run, fingerprint, interruptible
from margin.selection.dask_cluster import cluster_client, on_cluster
from margin.selection.schedule import seconds_text
from margin.selection.trial import sentence_of
from margin.service.changes import ALL_ROWS
from margin.service.comparison.drawn import DrawnTable
from margin.service.comparison.job import ComparisonJob
from margin.service.comparison.last_fits import finishing_seconds
from margin.service.comparison.leaders import BLEND, STACK
from margin.service.comparison_request import AUTO
from margin.store.container import write_atomically

if TYPE_CHECKING:
    from margin.data.streams import TableStream

__all__ = ["fit_on_all_rows"]


def fit_on_all_rows(job: ComparisonJob, stopped: bool, cluster: Any = None) -> None:
    """Fit the winner on all rows of the stream, or take note of why it stays fitted on those that were drawn.

    The workers of ``cluster`` read the files, where there are any, with the bits of this process.
    """
    drawn, run = job.setup.drawn, job.setup.run
    known = run.manifest.get("winner", {})
    if drawn is None or not known.get("finished") or known.get("all_rows") or not run.model_path.exists():
        return
    reason = "the comparison was stopped before that" if stopped else _too_dear(job, drawn)
    if not reason:
        try:
            reason = _fit(job, drawn, cluster)
        except Exception as error:
            if is_full_disk(error):  # which is no fault of the model
                raise
            reason = f"the fit on all rows failed: {sentence_of(error).rstrip('.')}"
    facts = {name: value for name, value in known.items() if name != "on_sample"}
    run.update(winner={**facts, **({"on_sample": reason} if reason else {"all_rows": drawn.n_rows})})


def _too_dear(job: ComparisonJob, drawn: DrawnTable) -> str:
    """Why a budget that the user gave does not allow the fit; the usual one is for the comparison alone."""
    found = job.result()
    left = found.seconds_left
    if left is None or job.setup.request.budget == AUTO:
        return ""
    winner = next(s for s in found.standings if s.model == found.winner)
    seconds = finishing_seconds(found, winner) * drawn.n_rows / len(found.y)
    if seconds <= left:
        return ""
    return (
        f"that would take about {seconds_text(seconds)}, and {seconds_text(left)} of the budget are left; --budget"
        " gives more time"
    )


def _fit(job: ComparisonJob, drawn: DrawnTable, cluster: Any) -> str:
    """The fit in its own folder, whose model becomes that of the comparison; or why it could not be done."""
    from sklearn.base import clone

    run, name = job.setup.run, job.setup.run.manifest["winner"]["model"]
    model = clone(run.model())  # of a search, with the settings that it found
    steps = getattr(model, "steps", None)
    if not takes_streams(steps[-1][1] if isinstance(steps, list) else model):
        instead = "; --no-ensembles lets one model win" if name in (BLEND, STACK) else ""
        return f"{name} needs all rows at once and takes no stream{instead}"
    job.announce(f"{name} is fitted on all {drawn.n_rows:,} rows; Ctrl-C keeps the one fitted on the rows drawn")
    own = _own_run(run.folder / ALL_ROWS, name, model, drawn)
    if own.status != "finished" or not own.model_path.exists():
        with interruptible() as stop, _read_by(cluster, drawn.stream.select(job.setup.features)) as rows:
            own.fit(model, rows, stop=job.halt or stop)
        if own.status != "finished":
            run.update(status="interrupted")
            return "that was stopped; the same command continues"
    write_atomically(run.model_path, own.model_path.read_bytes())
    return ""


@contextmanager
def _read_by(cluster: Any, rows: TableStream) -> Iterator[Stream]:
    """The rows as the workers of a cluster read them; frames of this process stay here."""
    if cluster is None or not rows.files:
        yield rows
        return
    with cluster_client(cluster) as client:
        yield on_cluster(rows, client)


def _own_run(folder: Path, name: str, model: Any, drawn: DrawnTable) -> Run:
    """The run of this fit; that of another winner makes way."""
    identity = {"kind": "fit", "model": name, "fingerprint": fingerprint(model), "data_hash": drawn.hash}
    if Run.is_one(folder) and Run.existing(folder).manifest["identity"] != identity:
        shutil.rmtree(folder)
    return Run.open(folder, identity)
