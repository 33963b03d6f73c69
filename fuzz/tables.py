"""``python -m fuzz.tables --count 1000``: ugly tables, each of which must become a fitted model or one clear sentence.

A table is made from its number alone: columns of every bad habit seen in real files, under names just as bad, handed
over as a DataFrame or written to a file in some dialect and encoding. It is profiled, a cheap pipeline is fitted,
saved, read back, and asked about worse rows: unknown labels, values of another kind, empty and extra columns.

With ``--board`` every table is handed to ``margin.compare`` instead, with a few cheap models: it must end in a board
whose winner predicts, or in one sentence. ``--kept FILE`` writes every outcome, and the same command goes on after a
kill.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuzz.ugly_columns import HABITS, NAMES, TARGETS

__all__ = ["main", "try_table", "ugly_table"]

#: A refusal is one sentence that says who speaks: a function, a class or the file.
SPEAKERS = r"profile|preprocessor|Table|ColumnReader|from_pandas|GaussianNB|Ridge|compare|\S*table[\w.-]*"
#: Cheap models of different needs: standard numbers, counts, categories.
BOARD = {
    "classification": ("gaussian-nb", "multinomial-nb", "categorical-nb"),
    "regression": ("ridge", "linear-regression"),
}
SENTENCE = re.compile(rf"^({SPEAKERS}): [^\n]{{3,600}}\.$")
DELIMITERS, ENCODINGS = (",", ";", "\t", "|"), ("utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1")


def ugly_table(number: int) -> tuple[pd.DataFrame, Any]:
    """The table of that number and the label of its target column."""
    rng = np.random.default_rng(number)
    n = int(rng.choice([1, 2, 3, 7, 25, 60, 200], p=[0.03, 0.03, 0.04, 0.1, 0.2, 0.35, 0.25]))
    columns = [HABITS[name](rng, n) for name in rng.choice(list(HABITS), rng.integers(1, 9))]
    target = TARGETS[rng.choice(list(TARGETS))](rng, n)
    if rng.random() < 0.2:
        columns.append(target.copy())
    if rng.random() < 0.2:
        columns.append(columns[0].copy())
    names = [str(rng.choice(NAMES)) if rng.random() < 0.5 else f"c{i}" for i in range(len(columns))]
    at = int(rng.integers(0, len(columns) + 1))
    columns.insert(at, target)
    names.insert(at, "target")
    frame = pd.concat([pd.Series(column).reset_index(drop=True) for column in columns], axis=1)
    frame.columns = pd.Index(names)
    if rng.random() < 0.1:
        frame.index = pd.Index(rng.integers(0, 3, n))
    return frame, "target"


def _handed_over(frame: pd.DataFrame, rng: np.random.Generator, folder: Path) -> Any:
    """The frame itself, or the table read from a file it was written to."""
    from margin.data import read

    way = str(rng.choice(["frame", "csv", "jsonl"], p=[0.5, 0.35, 0.15]))
    if way == "frame":
        return frame
    path = folder / f"table.{way}"
    if way == "jsonl":
        names = [name if name == "target" else f"{i} {name}" for i, name in enumerate(frame.columns)]
        records = frame.set_axis(names, axis=1).astype(object).to_dict("records")
        path.write_text("\n".join(json.dumps(record, default=str) for record in records))
        return read(path)
    buffer = io.StringIO()
    frame.to_csv(
        buffer, index=bool(rng.random() < 0.1), sep=str(rng.choice(DELIMITERS)), na_rep=str(rng.choice(["", "NA", "?"]))
    )
    text = buffer.getvalue()
    if rng.random() < 0.05:
        text += "one,more;field|here\tand,there,and,everywhere,1,2,3,4,5,6,7,8,9\n"
    path.write_bytes(text.encode(str(rng.choice(ENCODINGS)), "replace"))
    return read(path)


def _worse(features: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """New rows: fewer, in another order of columns, with unknown labels, values of another kind and an extra column."""
    rows = features.iloc[rng.integers(0, len(features), 4)].reset_index(drop=True).astype(object)
    rows = rows.iloc[:, rng.permutation(rows.shape[1])]
    for i in range(rows.shape[1]):
        draw = rng.random()
        if draw < 0.15:
            rows.isetitem(i, [None] * 4)
        elif draw < 0.45:
            cells = rows.iloc[:, i].tolist()
            cells[0] = str(rng.choice(["never seen", "", "12", "NaN"]))
            rows.isetitem(i, pd.Series(cells, dtype=object))
    return rows.assign(**{"a column of today": [1, 2, 3, 4]})


def try_table(number: int, folder: Path) -> tuple[str, str]:
    """("fitted" or "sentence", what was said); anything else that happens is raised."""
    rng = np.random.default_rng([number, 1])
    frame, target = ugly_table(number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return "fitted", _fit_and_predict(_handed_over(frame, rng, folder), target, rng, folder)
    except (ValueError, TypeError) as refusal:
        if not SENTENCE.match(str(refusal)):
            raise
        return "sentence", re.sub(r"^\S*table[\w.-]*: ", "", str(refusal))


def _fit_and_predict(data: Any, target: str, rng: np.random.Generator, folder: Path) -> str:
    import margin
    from margin.data import preprocessor, profile
    from margin.data.kinds import missing_mask

    found = profile(data, target)
    json.dumps(found.as_dict(), allow_nan=False)
    table = found.table.take(np.flatnonzero(~missing_mask(found.table[target])))
    y = table[target]
    classes = found.task == "classification"
    steps = {
        "numbers": str(rng.choice(["standard", "unit", "bins", "plain"])),
        "encode": str(rng.choice(["onehot", "ordinal"])),
    }
    prepare = preprocessor(found, **steps)
    features = (
        data.drop(columns=target).iloc[np.flatnonzero(~missing_mask(found.table[target]))]
        if isinstance(data, pd.DataFrame)
        else table.drop(target).to_pandas()
    )
    numbers = prepare.fit_transform(features)
    if not np.all(np.isfinite(numbers)):
        raise AssertionError("the numbers are not finite")
    if len(numbers) < 2 or not numbers.shape[1] or (classes and len(set(map(str, y))) < 2):
        return found.task
    labels = (
        np.array([str(value) for value in y])
        if classes
        else np.nan_to_num(y.astype(np.float64), posinf=0.0, neginf=0.0)
    )
    model = margin.GaussianNB() if classes else margin.Ridge()
    from sklearn.pipeline import Pipeline

    pipeline = Pipeline([("prepare", prepare), ("model", model)]).fit(features, labels)
    margin.save(pipeline, folder / "model.safetensors")
    again = margin.load(folder / "model.safetensors")
    np.testing.assert_array_equal(again.predict(features), pipeline.predict(features))
    worse = _worse(features.set_axis([str(name) for name in _unique(features.columns)], axis=1), rng)
    answer = again.predict(worse)
    if len(answer) != len(worse) or (not classes and not np.all(np.isfinite(answer))):
        raise AssertionError(f"{len(worse)} new rows were answered by {answer!r}")
    return found.task


def _unique(names: Any) -> list[str]:
    from margin.data.delimited import unique_names

    return unique_names([str(name) for name in names])[0]


def try_board(number: int, folder: Path) -> tuple[str, str]:
    """("board" or "sentence", what was said); anything else that happens is raised."""
    from margin.data import profile
    from margin.service.comparison import compare
    from margin.service.requests import BadRequest

    rng = np.random.default_rng([number, 1])
    frame, target = ugly_table(number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            data = _handed_over(frame, rng, folder)
            models = BOARD[profile(data, target).task]
            found = compare(data, target=target, models=models, folds=2, held_out=0, curve=False, n_jobs=1)
            if found.status == "finished":
                answer = found.best_.predict(found.X[: min(len(found.X), 3)])
                if not len(answer):
                    raise AssertionError("the winner says nothing")
    except (BadRequest, ValueError, TypeError) as refusal:
        if not SENTENCE.match(str(refusal)):
            raise
        return "sentence", re.sub(r"^\S*table[\w.-]*: ", "", str(refusal))
    if not any(s.status == "ranked" for s in found.standings):
        raise AssertionError(f"no row of the board has a score: {[s.error for s in found.standings]}")
    return "board", found.winner


def run(numbers: Iterable[int], board: bool = False) -> Iterator[tuple[int, str, str]]:
    """The outcome of each table: its number, "fitted" or "board", "sentence" or "traceback", and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            try:
                yield number, *(try_board if board else try_table)(number, Path(folder))
            except Exception:
                yield number, "traceback", traceback.format_exc()


def _kept(path: Path | None) -> list[tuple[int, str, str]]:
    if path is None or not path.exists():
        return []
    return [(number, outcome, sentence) for number, outcome, sentence in map(json.loads, path.read_text().splitlines())]


def main() -> int:
    parser = argparse.ArgumentParser(description="Ugly tables: each becomes a fitted model or one clear sentence.")
    parser.add_argument("--count", type=int, default=1000, help="how many tables (1000)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first table (0)")
    parser.add_argument("--show", action="store_true", help="print every sentence")
    parser.add_argument("--board", action="store_true", help="a comparison of cheap models instead of one pipeline")
    parser.add_argument("--kept", type=Path, help="file that keeps every outcome")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    numbers = range(arguments.seed, arguments.seed + arguments.count)
    done = _kept(arguments.kept)
    for number, outcome, sentence in chain(
        done, run((n for n in numbers if n not in {d[0] for d in done}), arguments.board)
    ):
        counts[outcome] += 1
        if arguments.kept and counts.total() > len(done):
            with open(arguments.kept, "a") as file:
                file.write(json.dumps([number, outcome, sentence]) + "\n")
        if outcome == "traceback" or (arguments.show and outcome == "sentence"):
            print(f"table {number}: {sentence}", flush=True)
    print(json.dumps(counts))
    return int(counts["traceback"] > 0)


if __name__ == "__main__":
    sys.exit(main())
