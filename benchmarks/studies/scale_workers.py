"""Fits on a Dask cluster of processes: bits, processor time and messages of 1, 2 and 4 workers, and 100 machines.

``python -m benchmarks.studies.scale_workers``. Every case is a fresh program that starts a cluster on this machine,
fits a small table first, and then measures one fit: processor time of all workers and of the caller, bytes that workers
send back, and the SHA-256 of the model file. XGBoost and LightGBM fit the same rows through their own Dask interfaces.

From the seconds of every part and the sizes of the messages, measured on one worker, a simulation
(:mod:`benchmarks.measuring.cluster_simulation`) says what the others should take, which is compared with what they
took, and what 100 machines would need for a thousand million rows.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring.cluster_simulation import Asking, PartCost, PassTime, asking_time, simulate_pass
from benchmarks.measuring.evidence import Finding
from benchmarks.measuring.harness import same_threads
from benchmarks.measuring.study import Row, Study, run
from benchmarks.peers.scale_fits import LEAVES, ROUNDS, TASKS, columns_of, ours, quality, table_files, write_table

MEASURED = ("least squares", "logistic regression", "k-means", "boosting")
WORKERS, COLUMNS, SMALL_ROWS, FITS = (1, 2, 4), 20, 40_000, 2
LINE, LATENCY = 1.25e8, 5e-4  # 1 Gbit/s into the caller, and half a millisecond for a message
MACHINES, MANY_ROWS = 100, 1_000_000_000
NEAR = 1.25  # goal of the busiest worker by what was foretold, and its inverse


class Pass(NamedTuple):
    """A pass over the parts: seconds of the workers, bytes that they sent back, parts, seconds of the caller."""

    seconds: float
    size: int
    parts: int
    caller: float


class TimedObject:
    """An object on a worker that says with every answer how long it took."""

    def __init__(self, make: Callable[[Any], Any], item: Any):
        self.made = make(item)

    def __getattr__(self, name: str) -> Any:
        return partial(_timed, getattr(self.__dict__["made"], name))


class MeasuredObjects:
    """Objects on the workers; of every method, how often it was asked for and what that cost."""

    def __init__(self, kept: Any, asked: dict[str, Asking]):
        self.kept, self.asked, self.close = kept, asked, kept.close

    def begin(self, method: str, arguments: Sequence[Any]) -> list[Any]:
        return self._note(method, arguments, self.kept.begin(method, arguments))

    def ask(self, method: str, arguments: Sequence[Any]) -> list[Any]:
        return self._note(method, arguments, self.kept.ask(method, arguments))

    def _note(self, method: str, arguments: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        calls, seconds, size, rows_size = self.asked.get(method, Asking(0, 0.0, 0.0, 0.0))
        results = [result for _, result in answers]
        sent, back = _array_bytes(arguments), _array_bytes(results)
        by_row = method == "places"  # what comes back grows with the rows; histograms do not
        self.asked[method] = Asking(
            calls + 1,
            round(seconds + sum(spent for spent, _ in answers), 4),
            size + (0 if by_row else back / len(results)),
            rows_size + sent + (back if by_row else 0),
        )
        return results


class MeasuredParts:
    """Parts on the workers of a client; what every pass costs there and here is written down."""

    def __init__(self, client: Any):
        from margin.selection.dask_cluster import DaskParts

        self.inner, self.passes, self.asked = DaskParts(client), list[Pass](), dict[str, Asking]()

    @property
    def n_workers(self) -> int:
        return self.inner.n_workers

    def keep(self, make: Callable[[Any], Any], items: Sequence[Any]) -> MeasuredObjects:
        return MeasuredObjects(self.inner.keep(partial(TimedObject, make), items), self.asked)

    def map(self, function: Callable[..., Any], parts: Sequence[Any]) -> Iterator[Any]:
        import cloudpickle

        seconds, size, began, looking = 0.0, 0, time.process_time(), 0.0
        for spent, result in self.inner.map(partial(_timed, function), parts):
            before = time.process_time()
            seconds, size = seconds + spent, size + len(cloudpickle.dumps(result))
            looking += time.process_time() - before
            yield result
        caller = time.process_time() - began - looking
        self.passes.append(Pass(round(seconds, 4), size, len(parts), round(caller, 4)))

    def __reduce__(self) -> tuple[Any, ...]:
        return self.inner.__reduce__()


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    before = time.process_time()
    result = function(*arguments)
    return time.process_time() - before, result


def _array_bytes(values: Any) -> int:
    """Bytes of the arrays in lists and tuples of them."""
    if isinstance(values, list | tuple):
        return sum(map(_array_bytes, values))
    return int(getattr(values, "nbytes", 0))


def cost(task: str, way: str, workers: int, folder: Path, small: Path) -> Row:
    """The cheapest of a few fits on a cluster of ``workers`` processes with a thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        fit = {"ours": _ours, "XGBoost": _xgboost, "LightGBM": _lightgbm}[way]
        fit(client, task, small)
        found = []
        for _ in range(FITS):
            before, caller = client.run(time.process_time), time.process_time()
            model, parts = fit(client, task, folder)
            caller = time.process_time() - caller
            spent = [after - before[name] for name, after in client.run(time.process_time).items()]
            found.append((sum(spent), max(spent), caller, parts))
    seconds, busiest, caller, parts = min(found, key=lambda one: one[:3])
    passes = [] if parts is None else parts.passes
    return {
        "seconds": round(seconds, 2),
        "busiest": round(busiest, 2),
        "caller": round(caller, 2),
        "passes": [list(one) for one in passes],
        "asked": {} if parts is None else {name: list(one) for name, one in parts.asked.items()},
        "bytes": sum(one.size for one in passes),
        "file": _digest(model) if way == "ours" else "",
        "quality": round(quality(task, model, small), 6),
    }


def _ours(client: Any, task: str, folder: Path) -> tuple[Any, MeasuredParts]:
    import margin

    parts = MeasuredParts(client)
    rows = margin.stream(folder, TASKS[task], columns=columns_of(folder)).on(parts)
    return ours(task).fit(rows), parts


def _digest(model: Any) -> str:
    import margin

    with tempfile.TemporaryDirectory() as place:
        margin.save(model, Path(place, "model"))
        return hashlib.sha256(Path(place, "model").read_bytes()).hexdigest()[:16]


def _arrays(folder: Path) -> tuple[Any, Any]:
    """Rows and labels as Dask arrays, a chunk for each file."""
    from dask import array, delayed
    from pyarrow import parquet

    names, rows, labels = columns_of(folder), [], []
    for path in table_files(folder):
        n = parquet.read_metadata(path).num_rows
        rows.append(array.from_delayed(delayed(_read)(path, names), (n, len(names)), float))
        labels.append(array.from_delayed(delayed(_read)(path, ["label"])[:, 0], (n,), int))
    return array.concatenate(rows), array.concatenate(labels)


def _read(path: Path, names: list[str]) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False) as file:
        return file.read(names, use_threads=False).to_pandas().to_numpy()


def _xgboost(client: Any, _task: str, folder: Path) -> tuple[Any, None]:
    from xgboost import dask

    from benchmarks.peers.scale_fits import XGBOOST

    data = dask.DaskQuantileDMatrix(client, *_arrays(folder))
    return dask.train(client, XGBOOST, data, num_boost_round=ROUNDS)["booster"], None


def _lightgbm(client: Any, _task: str, folder: Path) -> tuple[Any, None]:
    from lightgbm.dask import DaskLGBMClassifier

    model = DaskLGBMClassifier(client=client, n_estimators=ROUNDS, num_leaves=LEAVES, verbose=-1, n_jobs=1)
    return model.fit(*_arrays(folder)).to_local(), None


def conclude(rows: Sequence[Row]) -> list[Finding]:
    findings = []
    for task in dict.fromkeys(row["task"] for row in rows):
        for way in dict.fromkeys(row["way"] for row in rows if row["task"] == task):
            some = {row["workers"]: row for row in rows if (row["task"], row["way"]) == (task, way)}
            text = "; ".join(
                f"{w} workers: {row['seconds']:.1f} s in all, {row['busiest']:.1f} s the busiest, "
                f"{row['caller']:.1f} s the caller, {row['quality']:.4f}"
                for w, row in sorted(some.items())
            )
            findings.append(Finding(f"{task}, {way}", text))
            if way == "ours":
                findings += _of_ours(task, some)
    return findings


def _of_ours(task: str, some: dict[int, Row]) -> list[Finding]:
    one = some.get(1)
    findings = []
    if len(some) > 1:
        files = {row["file"] for row in some.values()}
        what = f"{task}: model files of {', '.join(map(str, sorted(some)))} workers"
        findings.append(Finding(what, "one" if len(files) == 1 else f"{len(files)} different", "one", len(files) == 1))
    if one is None:
        return findings
    for workers, row in sorted(some.items()):
        if workers > 1:
            heard = 1 if row_asked(one) else workers  # a question goes to every worker, a part to one of them
            ratio = row["busiest"] / (_overhead(one) / heard + _foretold(one, workers).busiest)
            findings.append(
                Finding(
                    f"{task}: seconds of the busiest of {workers} workers by those foretold from one",
                    f"{ratio:.2f}",
                    f"{1 / NEAR} to {NEAR}",
                    1 / NEAR <= ratio <= NEAR,
                )
            )
    alone, many = (_foretold(one, machines, scale=MANY_ROWS / one["rows"]) for machines in (1, MACHINES))
    sent = one["bytes"] * MANY_ROWS / one["rows"]
    findings.append(
        Finding(
            f"{task}: {MACHINES} machines, {MANY_ROWS:,} rows, foretold",
            f"{many.total:.0f} s in place of {alone.total:.0f} s on one; the caller works "
            f"{many.caller:.0f} s of them and receives {sent / 1e6:,.0f} MB",
        )
    )
    return findings


def _overhead(row: Row) -> float:
    """Seconds of one worker for messages and for being asked, beside the parts."""
    asked = sum(one[1] for one in row.get("asked", {}).values())
    return float(max(0.0, row["seconds"] - sum(one[0] for one in row["passes"]) - asked))


def _foretold(one: Row, workers: int, scale: float = 1.0) -> PassTime:
    """All passes on so many workers, from those on one, for ``scale`` times the rows in as many more parts."""
    times = []
    for seconds, size, n, caller in one["passes"]:
        parts = [PartCost(seconds / n, size / n)] * max(1, round(n * scale))
        times.append(simulate_pass(parts, workers, merge=caller / n, bandwidth=LINE, latency=LATENCY))
    times += [asking_time(asking, workers, scale=scale, bandwidth=LINE, latency=LATENCY) for asking in row_asked(one)]
    if row_asked(one):  # the caller works between the questions, on all rows
        between = scale * max(0.0, one["caller"] - sum(caller for *_, caller in one["passes"]))
        times.append(PassTime(between, 0.0, between))
    return PassTime(*map(sum, zip(*times)))


def row_asked(row: Row) -> list[Asking]:
    return [Asking(*one) for one in row.get("asked", {}).values()]


STUDY = Study(
    name="scale-workers",
    title="Streams on a cluster",
    protocol="A million rows of 20 columns in eight Parquet files; a Dask cluster of processes on this machine, a "
    "thread each, started anew for every case; seconds of processor time, on two cores that others kept busy; R2, "
    "accuracy or variance explained on new rows. Foretold: a line of 1 Gbit/s into the caller, 0.5 ms for a message, "
    "the seconds and sizes of one worker.",
    command="make bench FAMILY=scale_workers",
    conclude=conclude,
)
RUNS = [()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.scale_workers", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tasks", nargs="+", choices=MEASURED, default=list(MEASURED))
    parser.add_argument("--ways", nargs="+", choices=("ours", "XGBoost", "LightGBM"))
    parser.add_argument("--tables", help="folder in which the tables stay")
    parser.add_argument("--again", action="store_true", help="measure anew what is stored")
    parser.add_argument(
        "--case", nargs=5, metavar=("TASK", "WAY", "WORKERS", "FOLDER", "SMALL"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.case:
        task, way, workers, folder, small = options.case
        with same_threads(1):
            print(json.dumps(cost(task, way, int(workers), Path(folder), Path(small))))
        return
    installed = [name for name in ("XGBoost", "LightGBM") if importlib.util.find_spec(name.lower()) is not None]
    cases = [
        {"task": task, "way": way, "workers": workers, "rows": options.rows}
        for task in options.tasks
        for way in options.ways or ["ours", *(installed if task == "boosting" else [])]
        for workers in WORKERS
    ]
    with ExitStack() as stack:
        place = options.tables or stack.enter_context(tempfile.TemporaryDirectory(prefix="margin-scale-"))
        run(STUDY, cases, lambda **case: _measure(Path(place), **case), again=options.again)


def _measure(place: Path, task: str, way: str, workers: int, rows: int) -> Row:
    folders = []
    for name, n, seed in ((f"{rows // 1_000_000}-{COLUMNS}", rows, 0), (f"small-{COLUMNS}", SMALL_ROWS, 1)):
        folders.append(place / name)
        if not folders[-1].exists():
            write_table(folders[-1], n, COLUMNS, seed)
    command = [sys.executable, "-m", "benchmarks.studies.scale_workers", "--case", task, way, str(workers)]
    done = subprocess.run([*command, *map(str, folders)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{task}, {way}: {done.stderr.strip()}")
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


if __name__ == "__main__":
    main()
