"""The board in a terminal, growing while models are compared; in a pipe, one line for every model that is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.text import Text

from margin.cli.board_columns import ShownModel, board_columns
from margin.cli.output import log

if TYPE_CHECKING:
    from margin.selection import Standing
    from margin.service.comparison import Comparison

__all__ = ["board_table", "notes", "watching"]

NARROW = 60  # columns of a terminal; below, the name of a metric takes the room of a model's


@contextmanager
def watching(quiet: bool = False) -> Iterator[Callable[[Comparison], None]]:
    """What is shown while a comparison runs, on stderr."""
    console = log()
    if quiet:
        yield lambda _: None
    elif not console.is_terminal:
        yield _Lines()
    else:
        with Live(console=console, transient=True, refresh_per_second=4) as live:
            yield lambda comparison: live.update(board_table(comparison, console.width))


class _Lines:
    """One line for every model that is done: where it stands, what it cost, how long the rest will take."""

    def __init__(self) -> None:
        self.printed: set[str] | None = None
        self.stage = ""

    def __call__(self, comparison: Comparison) -> None:
        if comparison.stage != self.stage:
            self.stage = comparison.stage
            log().print(f"{self.stage} ...", highlight=False, soft_wrap=True, markup=False)
        if not comparison.running:
            return
        done = [s for s in comparison.standings if s.status in ("ranked", "cut", "failed")]
        if self.printed is None:  # what an earlier start finished is no news
            self.printed = {s.model for s in done}
        for s in done:
            if s.model not in self.printed:
                self.printed.add(s.model)
                log().print(self._line(comparison, s), highlight=False, soft_wrap=True, markup=False)

    def _line(self, comparison: Comparison, s: Standing) -> str:
        from margin.service.comparison.showing import score_text

        if s.status != "ranked":
            return f"{s.model}: {s.status}: {s.error}"
        left = _time_left(comparison)
        return f"{s.model}: {s.metric} {score_text(s.mean)}, {s.fit_seconds:.2f} s a fit{left and '; ' + left}"


def _time_left(comparison: Comparison) -> str:
    from margin.selection.schedule import seconds_text

    eta = comparison.eta
    return f"about {seconds_text(eta)} left" if eta == eta and eta > 0 else ""


def board_table(comparison: Comparison, width: int = 80) -> Group:
    """The table in so many columns of a terminal, with other metrics where there is space; in a narrow one the metric
    is named above it."""
    from margin.service.comparison.showing import other_metrics

    metric, standings = comparison.metric, comparison.standings
    arrow = "↑" if metric.greater_is_better else "↓"
    narrow = width < NARROW
    others = [] if comparison.running else other_metrics(comparison)
    headings = (f"{'score' if narrow else metric.name} {arrow}", "95 % interval", "fit s", "predict s", *others)
    rows = [_row(comparison, s, others, best=s is standings[0]) for s in standings]
    heading = _heading(comparison) + (f"; by {metric.name}" if narrow else "")
    return Group(Text(heading, style="italic"), board_columns(headings, rows, width, optional=len(others)))


def _heading(comparison: Comparison) -> str:
    subject = f"{comparison.name}: {comparison.task}"
    if not comparison.running:
        done = comparison.status in ("finished", "interrupted", "failed")
        if done or not comparison.stage:
            return f"{comparison.name}: {comparison.heading}"
        return f"{subject}, {comparison.stage} ..."
    left = _time_left(comparison)
    return f"{subject}, {comparison.done} of {comparison.total} trials{left and ', ' + left}"


def _row(comparison: Comparison, s: Standing, others: list[str], best: bool) -> ShownModel:
    from margin.service.comparison.showing import score_text

    mark = "≈ " if s.tied and not comparison.running else "  "
    if s.status in ("failed", "left out"):
        return ShownModel(mark, s.model, (s.status,), "red" if s.status == "failed" else "dim")
    seconds = ("", "") if s.fit_seconds != s.fit_seconds else (f"{s.fit_seconds:.3f}", f"{s.predict_seconds:.3f}")
    if s.status == "cut":
        rows = f"on {s.n_train:,} rows" if s.n_train else ""
        return ShownModel(mark, s.model, (score_text(s.mean) or "cut", rows, *seconds), "dim")
    interval = "" if s.low != s.low else f"{score_text(s.low)}…{score_text(s.high)}"
    if s.status == "partial" and not comparison.running:
        interval = f"{s.folds} of {comparison.n_folds} folds"
    style = "bold" if best and not comparison.running else ""
    beside = [score_text(s.others[name]) if name in s.others else "" for name in others]
    return ShownModel(mark, s.model, (score_text(s.mean), interval, *seconds, *beside), style)


def notes(comparison: Comparison) -> list[Text]:
    """Below the table: why some models have no score or no rank, what to take away, what to know about the data."""
    from margin.service.comparison.showing import verdict

    models_by_reason: dict[str, list[str]] = {}  # many are cut for one reason
    for s in comparison.standings:
        reason = f"cut {s.error}" if s.status == "cut" and s.error.startswith("after") else s.error
        if reason or (s.settings and s.status == "ranked"):
            models_by_reason.setdefault(reason or s.settings, []).append(s.model)
    lines = [Text.assemble((", ".join(models), "bold"), f": {reason}") for reason, models in models_by_reason.items()]
    parts = [lines, [Text(text) for text in verdict(comparison)], [Text(f"· {text}") for text in comparison.remarks]]
    separated: list[Text] = []
    for part in parts:
        separated += [Text(""), *part] if part else []
    return separated
