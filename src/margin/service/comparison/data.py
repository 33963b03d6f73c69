"""From a file, a name, a data frame or arrays to rows that can be compared on, with a remark for what is left out."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from margin import data as data_package
from margin.data import Profile
from margin.data.kinds import missing_mask
from margin.data.log_target import is_skewed
from margin.data.table import Table
from margin.runs import data_hash
from margin.service.comparison.copies import array_copies, copies_remark, many_copies
from margin.service.comparison.drawn import DrawnTable, draw_rows
from margin.service.comparison_request import ComparisonRequest
from margin.service.profiles import left_out_remarks, lost_values
from margin.service.requests import BadRequest
from margin.service.sources import Source, image_folder, open_source, open_table, table_of_frame

__all__ = ["OpenedData", "open_data"]

#: A class with fewer rows than this cannot be both learned from and judged by.
LEAST_CLASS = 2
#: Of the rows, so many at most may be the only ones of their class.
MOST_ALONE = 0.5
#: From this fraction on, the largest class alone makes accuracy look good.
LOPSIDED = 0.9
#: Errors are squared and summed, which must stay below the largest number.
LARGEST_TARGET = 1e150
#: A mean that is so many times the median shows a skew; where it is less, the largest value shows it.
CLEARLY_MORE = 1.2
MISSING_LABEL = "(missing)"


@dataclass(frozen=True)
class OpenedData:
    """Rows with a target, how they belong together, and what a reader should know.

    ``copies``, where many rows repeat, has a number per row that equal ones share.
    """

    source: Source
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    copies: np.ndarray | None = None
    label_name: str = ""
    remarks: list[str] = field(default_factory=list)
    profile: Profile | None = None
    lopsided: bool = False
    found_group: str = ""  # the column whose groups the folds keep whole, though nobody asked for it
    drawn: DrawnTable | None = None  # where the rows are drawn from more of them
    unused_order: str = ""  # what the table says about its rows and the folds do not know, as a sentence

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """The classes in order; none for a regression."""
        if self.source.task != "classification" or self.source.y is None:
            return ()
        return tuple(np.unique(self.source.y).tolist())


def open_data(data: Any, y: Any, request: ComparisonRequest) -> OpenedData:
    """Open ``data`` as ``request`` says; ``y`` is the target where it is not a column."""
    if request.group is not None and request.time is not None:
        raise BadRequest("compare: give a group or a time, not both.")
    drawn = draw_rows(data, y, request)
    if drawn is None and isinstance(data, str | Path) and image_folder(str(data)) is not None:
        return _from_arrays(str(data), y, request)
    if drawn is None and (isinstance(data, np.ndarray | list) or _is_plain_named(data, request)):
        return _from_arrays(data, y, request)
    name, table, target, task = _table(data if drawn is None else drawn, y, request)
    if target is None:
        raise BadRequest(f"compare: {name} needs a target; name its column with --target.")
    if target not in table.names:
        raise BadRequest(_no_column(table, "target", target))
    table, remarks, kept = _without_missing_targets(table, target, request)
    labels = {role: _labels(table, role, getattr(request, role), kept) for role in ("group", "time")}
    columns = [column for column in (request.group, request.time) if isinstance(column, str)]
    if target in columns:
        raise BadRequest(f"compare: {target} is the target, so it cannot say how rows belong together.")
    remarks += [f"Compared on {drawn.sentence}."] if drawn is not None and drawn.is_part else []
    remarks += [f"{column} says how rows belong together; it is not a feature." for column in columns]
    profile = _judge_columns(table, target, request, columns)
    found = _found_group(profile, request)
    remarks += [*left_out_remarks(profile, {*columns, found, *request.ignore}), *lost_values(profile)]
    if found:
        labels["group"], columns = _labels(table, "group", found, kept), [found]
    copies = None if columns or request.group is not None or request.time is not None else many_copies(profile.copies)
    unused = "" if found else _unused_order(profile, request)
    remarks += [r for r in profile.remarks if not _is_said_elsewhere(r, profile, copies, unused or found)]
    remarks += [*([_say_kept_whole(profile, found)] if found else []), *copies_remark(copies)]
    _, values = profile.table.split_target(target)
    X = profile.table.select(profile.used)
    digest = table.hash() if drawn is None else drawn.hash
    source = Source(name, None, values, X.names, target, task or profile.task, digest, table=X)
    opened = OpenedData(
        source, labels["group"], labels["time"], copies, (*columns, "")[0], remarks, profile, drawn=drawn
    )
    return _check(replace(opened, found_group=found, unused_order=unused))


def _judge_columns(table: Table, target: str, request: ComparisonRequest, ignored: list[str]) -> Profile:
    """The profile of the table: which columns can be used, and what to beware."""
    try:
        profile = data_package.profile(table, target, kinds=request.kinds, ignore=[*request.ignore, *ignored])
    except ValueError as error:
        raise BadRequest(f"compare: {str(error).removeprefix('profile: ')}") from None
    if not profile.used:
        reasons = "; ".join(f"{c.name}: {c.remark}" for c in profile.columns if c.name != target)
        raise BadRequest(f"compare: no column can be used ({reasons or 'there is only the target'}).")
    return profile


def _is_said_elsewhere(remark: str, profile: Profile, copies: np.ndarray | None, order: str) -> bool:
    """Whether another remark says the same: on columns left out, on rows that stay together, on lone
    classes; or that what it asks for is what folds do."""
    if copies is not None and remark == profile.copies_remark:
        return True
    if order and ("folds should follow time" in remark or "folds should keep" in remark):
        return True
    done = (f" copies the target {profile.target!r}", "in one row only: no fold", "must be shuffled before")
    return any(part in remark for part in done)


def _found_group(profile: Profile, request: ComparisonRequest) -> str:
    """The column that is called like the owner of several rows, by which folds are made unless something was asked."""
    found = profile.suggested_group
    if request.group is not None or request.time is not None or found is None or found in profile.used:
        return ""
    return found


def _say_kept_whole(profile: Profile, group: str) -> str:
    """In place of what the profile advises on the groups that were found: that it is done."""
    values = next(column.distinct for column in profile.columns if column.name == group)
    return (
        f"{group!r} names who rows belong to ({values:,} values in {len(profile.table):,} rows): no model sees it, and"
        " the folds keep its groups whole, as new rows will be of new ones;"
        f" --ignore {shlex.quote(group)} divides them."
    )


def _unused_order(profile: Profile, request: ComparisonRequest) -> str:
    """What plain folds do not know: that rows seem to belong together, or to be in order of time."""
    if request.group is not None or request.time is not None:
        return ""
    if profile.suggested_group:
        name, asked = profile.suggested_group, shlex.quote(profile.suggested_group)
        return (
            f"The folds divide the rows of each {name}: if new rows will be of a new {name}, ask with --group {asked}."
        )
    if profile.suggested_time:
        name = profile.suggested_time
        return (
            f"The folds do not follow {name}: scores are of rows in between; if later rows are to be predicted, ask"
            f" with --time {shlex.quote(name)}."
        )
    return ""


def _is_plain_named(data: Any, request: ComparisonRequest) -> bool:
    """A named set of numbers, nothing of which is to be read otherwise: its rows stay an array, as predict reads it."""
    if not isinstance(data, str) or Path(data).exists() or data.partition(":")[0] not in data_package.names():
        return False
    if request.ignore or request.kinds or request.target or request.group is not None or request.time is not None:
        return False
    return not isinstance(data_package.load(data.partition(":")[0]).X, Table)


def _from_arrays(data: Any, y: Any, request: ComparisonRequest) -> OpenedData:
    if isinstance(data, str):
        source = open_source(data, request.target, request.task)
        if source.y is None or source.task not in ("classification", "regression"):
            raise BadRequest(f"compare: {data} needs a target; name its column with --target.")
    else:
        X, values = _unmask(data), None if y is None else _unmask(y)
        if X.ndim != 2 or X.dtype.kind not in "biuf" or values is None or len(X) != len(np.atleast_1d(values)):
            raise BadRequest("compare: arrays must be a table of numbers X and one y for each of its rows.")
        if request.ignore or request.kinds:
            raise BadRequest("compare: ignore and kinds name columns; give a data frame.")
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        if values.ndim != 1:
            raise BadRequest(f"compare: y must hold one target for each row; got an array of shape {values.shape}.")
        names = tuple(f"x{i}" for i in range(X.shape[1]))
        source = Source("arrays", X.astype(np.float64), values, names, "y", request.task or "", data_hash(X, values))
    remarks: list[str] = []
    assert source.y is not None
    for role, given in (("group", request.group), ("time", request.time)):
        if given is not None and len(np.atleast_1d(given)) != len(source.y):
            raise BadRequest(f"compare: {role} must be given as one entry for each of the {len(source.y)} rows.")
    groups, times = (None if g is None else np.asarray(g) for g in (request.group, request.time))
    absent = _absent(source.y)
    if absent.any():
        source = replace(source, given=_rows(source.X, ~absent), y=source.y[~absent])
        groups, times = (None if g is None else g[~absent] for g in (groups, times))
        remarks.append(_dropped_sentence(int(absent.sum()), len(absent), source.target))
    assert source.y is not None
    copies = None if groups is not None or times is not None else many_copies(array_copies(source.X, source.y))
    remarks += copies_remark(copies)
    source = replace(source, task=source.task or _task(source.y))
    return _check(OpenedData(source, groups, times, copies, "", remarks))


def _unmask(values: Any) -> np.ndarray:
    """An array; what a masked one hides is missing, not whatever lies below the mask."""
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        return np.ma.filled(values.astype(np.float64 if values.dtype.kind in "biuf" else object), np.nan)
    return np.asarray(values)


def _table(data: Any, y: Any, request: ComparisonRequest) -> tuple[str, Table, str | None, str | None]:
    """Name, table, target column and task, as far as they are known."""
    if isinstance(data, DrawnTable):
        return data.name, data.table, data.stream.target, request.task
    if isinstance(data, str | Path):
        spec = str(data)
        read, own = open_table(spec)
        known = request.task or (open_source(spec).task if own and request.target is None else None)
        return spec, read, request.target or own, known
    table = data if isinstance(data, Table) else table_of_frame(data)
    if table is None:
        raise BadRequest(f"compare: data must be a file, a name, a data frame or arrays; got {type(data).__name__}.")
    if y is None:
        return "data frame", table, request.target, request.task
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:  # a frame or an array of one column
        y = y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    target = request.target or str(getattr(y, "name", None) or "target")
    if len(y) != len(table):
        raise BadRequest(f"compare: there are {len(table)} rows and {len(y)} targets.")
    if target in table.names:
        raise BadRequest(f"compare: {target!r} is a column already; give y or target, not both.")
    values = data_package.from_pandas(_series(y, target))
    pairs = {name: (t.kinds[name], t.columns[name]) for t in (table, values) for name in t.names}
    return "data frame", Table.from_stored(pairs, len(table)), target, request.task


def _series(y: Any, name: str) -> Any:
    import pandas as pd

    return pd.DataFrame({name: y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)})


def _without_missing_targets(table: Table, target: str, request: ComparisonRequest) -> tuple[Table, list[str], Any]:
    """The table without rows that have no target (or with them as a class), remarks, and which rows were kept."""
    values = table.columns[target]
    absent = _absent(values)
    n = int(absent.sum())
    if n == len(values):
        raise BadRequest(f"compare: the target {target} has no value in any row.")
    if not n:
        return table, [], np.ones(len(values), dtype=bool)
    if request.missing_target == "error":
        raise BadRequest(f"compare: the target {target} is missing in {n:,} of {len(values):,} rows.")
    if request.missing_target == "class":
        labels = table.as_kind(target, "category")
        column = np.where(absent, MISSING_LABEL, labels.columns[target]).astype(object)
        pairs = {c: (labels.kinds[c], column if c == target else labels.columns[c]) for c in labels.names}
        return (
            Table.from_stored(pairs, len(table)),
            [f"{n:,} rows without {target} are a class of their own, {MISSING_LABEL}."],
            np.ones(len(values), dtype=bool),
        )
    return table.take(~absent), [_dropped_sentence(n, len(values), target)], ~absent


def _dropped_sentence(n: int, total: int, target: str) -> str:
    return f"{n:,} of {total:,} rows have no {target} and are left out."


def _absent(values: np.ndarray) -> np.ndarray:
    """Missing or infinite targets: neither can be learned."""
    if values.dtype.kind == "f":
        return ~np.isfinite(values)
    if values.dtype.kind in "biuUS":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "M":
        return missing_mask(values)
    from margin.core.missing import is_missing

    return np.array([is_missing(value) for value in values.tolist()], dtype=bool)


def _labels(table: Table, role: str, given: Any, kept: np.ndarray) -> np.ndarray | None:
    """Groups or times, from a column or as given; a missing group is a group, a missing time cannot be placed."""
    if given is None:
        return None
    if not isinstance(given, str):
        values = np.asarray(given)
        if len(values) != len(kept):
            raise BadRequest(f"compare: {role} must have one entry for each of {len(kept)} rows; got {len(values)}.")
        return values[kept]
    if given not in table.names:
        raise BadRequest(_no_column(table, role, given))
    values = table.columns[given]
    absent = missing_mask(values)
    if role == "group":
        return np.array([MISSING_LABEL if gone else str(v) for v, gone in zip(values.tolist(), absent)], dtype=object)
    if table.kinds[given] not in ("date", "number"):
        raise BadRequest(f"compare: time must be a column of dates or numbers; {given} is {table.kinds[given]}.")
    if absent.any():
        raise BadRequest(f"compare: {given} is missing in {int(absent.sum()):,} rows, which have no place in time.")
    return values


def _no_column(table: Table, role: str, name: str) -> str:
    from margin.data.table import close_names

    if role == "target":
        return f"compare: there is no column {name!r} to predict; {close_names(name, table.names)}."
    return f"compare: {role}: there is no column {name!r}; {close_names(name, table.names)}."


def _task(y: np.ndarray) -> str:
    return data_package.detect_task(y)


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.loc[rows].reset_index(drop=True) if hasattr(X, "loc") else X[rows]


def _check(opened: OpenedData) -> OpenedData:
    """Refuse a target that cannot be learned; leave out classes with a single row; say what is lopsided."""
    source = opened.source
    y, target = source.y, source.target
    assert y is not None
    if source.task not in ("classification", "regression"):
        raise BadRequest(f"compare: {source.name} needs a target; name its column with --target.")
    if source.task == "regression":
        if y.dtype.kind == "M":
            problem = "holds dates, which no model predicts; give it as a number, such as days since the first"
            raise BadRequest(f"compare: {target} {problem}.")
        if y.dtype.kind not in "biuf":
            raise BadRequest(f"compare: {target} holds labels, so the task cannot be regression.")
        if len(np.unique(y)) < 2:
            raise BadRequest(f"compare: {target} has the same value in every row; there is nothing to learn.")
        largest = float(np.abs(y.astype(np.float64)).max())
        if largest > LARGEST_TARGET:
            raise BadRequest(f"compare: {target} has values as large as {largest:.3g}, whose squares no number holds.")
        return replace(opened, remarks=[*opened.remarks, *_skewed_remark(y, target)])
    labels, codes, counts = np.unique(y.astype(str), return_inverse=True, return_counts=True)
    if y.dtype.kind == "f" and np.any(y != np.floor(y)):  # estimators take such numbers for a quantity
        y = y.astype(str).astype(object)
        source = replace(source, y=y)
        opened = replace(opened, source=source)
    rare = counts < LEAST_CLASS
    remarks = list(opened.remarks)
    if rare.sum() > MOST_ALONE * len(y):
        raise BadRequest(
            f"compare: {target} has {len(labels):,} different values in {len(y):,} rows, most of them in one row only:"
            " these are no classes to learn."
        )
    if rare.any():
        named = ", ".join(labels[rare][:5]) + (", ..." if rare.sum() > 5 else "")
        classes = "class has" if rare.sum() == 1 else "classes have"
        remarks.append(
            f"{int(rare.sum()):,} {classes} a single row of {target} ({named}), which cannot be both learned from"
            f" and judged by; {'it is' if rare.sum() == 1 else 'these rows are'} left out."
        )
        kept = ~rare[codes]
        groups, times, copies = (
            None if part is None else part[kept] for part in (opened.groups, opened.times, opened.copies)
        )
        table = None if source.table is None else source.table.take(kept)
        given = _rows(source.X, kept) if table is None else None
        source = replace(source, given=given, y=y[kept], table=table)
        opened = replace(opened, source=source, groups=groups, times=times, copies=copies)
        counts = counts[~rare]
    if len(counts) < 2:
        raise BadRequest(f"compare: {target} has fewer than two classes with at least two rows each.")
    return replace(opened, remarks=remarks, lopsided=bool(counts.max() >= LOPSIDED * counts.sum()))


def _skewed_remark(y: np.ndarray, target: str | None) -> list[str]:
    if not is_skewed(y):
        return []
    typical = float(np.median(y))
    what, times = "mean", float(np.mean(y)) / typical
    if times < CLEARLY_MORE:
        what, times = "largest value", float(np.max(y)) / typical
    return [
        f"{target or 'The target'} is skewed: its {what} is {times:.1f} times its median, so a few large values decide"
        " rmse. Models called log- learn its logarithm, too; --metric rmsle or --metric mae judges all rows alike."
    ]
