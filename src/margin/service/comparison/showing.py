"""The board as a data frame, as HTML for a notebook, and as a figure."""

from __future__ import annotations

import html
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from margin.core.strict_json import strict
from margin.selection import Standing
from margin.selection.schedule import seconds_text
from margin.service.comparison.candidates import BASELINE
from margin.service.comparison.caveats import beyond_the_interval, hardly_told_apart, nothing_learned
from margin.service.comparison.one_model import list_untried
from margin.service.comparison.other_libraries import NOT_SAVED

if TYPE_CHECKING:
    import pandas

    from margin.service.comparison.result import Comparison

__all__ = [
    "board_frame", "board_html", "board_snapshot", "board_text", "draw_board", "other_metrics", "score_text", "verdict",
]  # fmt: skip

#: Scores closer to zero, and larger ones, are no longer written out.
LEAST_BY_DECIMALS, MOST_BY_DECIMALS = 5e-4, 1e9
#: Metrics that stand beside the one that decides, where there is space for them.
BESIDE = {"classification": ("accuracy", "roc_auc", "f1_macro", "log_loss"), "regression": ("rmse", "mae", "r2")}


def board_frame(comparison: Comparison) -> pandas.DataFrame:
    """One row per model, best first."""
    import pandas as pd

    name = comparison.metric.name
    rows = [
        {
            "model": s.model,
            name: s.mean,
            "low": s.low,
            "high": s.high,
            "tied": s.tied,
            "p_value": s.p_value,
            "folds": s.folds,
            "fit_seconds": s.fit_seconds,
            "predict_seconds": s.predict_seconds,
            "status": s.status,
            "reason": s.error,
            "settings": s.settings,
            **s.others,
        }
        for s in comparison.standings
    ]
    return pd.DataFrame(rows)


def board_snapshot(comparison: Comparison) -> dict[str, Any]:
    """What is known now as plain values for JSON: the board, the winner, its judgement, remarks, where all of it is.

    Numbers that are not known are None. ``margin compare --json`` prints it and a live page shows it.
    """
    metric, winner = comparison.metric, comparison.winner
    facts = {
        "data": comparison.name,
        "task": comparison.task,
        "target": comparison.target,
        "rows": len(comparison.y),
        "rows_in_all": len(comparison.y) if comparison.drawn is None else comparison.drawn.n_rows,
        "metric": metric.name,
        "greater_is_better": metric.greater_is_better,
        "folds": comparison.plan.sentence,
        "status": comparison.status,
        "stage": comparison.stage,
        "trials": {"done": comparison.done, "total": comparison.total},
        "seconds": comparison.seconds,
        "seconds_left": comparison.eta if comparison.running else 0.0,
        "board": [asdict(standing) for standing in comparison.standings],
        "winner": winner,
        "held_out": {
            "rows": len(comparison.plan.held_out),
            "score": comparison.held_out_score,
            "guess": comparison.held_out_chance,
            "scores": comparison.held_out_scores,
        },
        "verdict": [] if comparison.running else verdict(comparison),
        "remarks": list(comparison.remarks),
        "folder": str(comparison.folder),
        "command": comparison.command,
        "call": comparison.call,
    }
    return strict(facts)


def score_text(value: float) -> str:
    """Four decimals, fewer for large numbers: nobody reads the sixth digit of an error in dollars; of very small and
    very large ones, as errors of a target in such units are, four digits.

    >>> score_text(0.91), score_text(1234.56), score_text(0.000024567), score_text(3.00478e11)
    ('0.9100', '1,234.6', '2.457e-05', '3.005e+11')
    """
    if value != value:
        return ""
    if 0 < abs(value) < LEAST_BY_DECIMALS or abs(value) >= MOST_BY_DECIMALS:
        return f"{value:.3e}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}" if abs(value) < 10_000 else f"{value:,.0f}"


def other_metrics(comparison: Comparison) -> list[str]:
    """The customary metrics beside the one that decides, as far as some model has them."""
    known = {name for s in comparison.standings for name in s.others}
    return [name for name in BESIDE[comparison.task] if name in known and name != comparison.metric.name]


def board_text(comparison: Comparison) -> str:
    """The board as plain text, with what to take away and what to know below it."""
    names = other_metrics(comparison)
    arrow = "↑" if comparison.metric.greater_is_better else "↓"
    rows = [("", "model", f"{comparison.metric.name} {arrow}", "95 % interval", *names, "fit s")]
    rows += [_text_row(s, names) for s in comparison.standings]
    widths = [max(len(row[j]) for row in rows if j < len(row)) for j in range(len(rows[0]))]
    left = (0, 1)  # mark and name; numbers stand on the right
    lines = [
        "  ".join(cell.ljust(widths[j]) if j in left else cell.rjust(widths[j]) for j, cell in enumerate(row)).rstrip()
        for row in rows
    ]
    said = [*verdict(comparison), *(f"· {remark}" for remark in comparison.remarks)]
    return "\n".join([f"{comparison.name}: {comparison.heading}", *lines, *said])


def _text_row(s: Standing, names: list[str]) -> tuple[str, ...]:
    mark = "≈" if s.tied else ""
    if s.status in ("failed", "left out"):
        return mark, s.model, s.status
    interval = "" if s.low != s.low else f"{score_text(s.low)}…{score_text(s.high)}"
    others = [score_text(s.others[name]) if name in s.others else "" for name in names]
    seconds = "" if s.fit_seconds != s.fit_seconds else f"{s.fit_seconds:.3f}"
    return mark, s.model, score_text(s.mean) or s.status, interval, *others, seconds


def verdict(comparison: Comparison) -> list[str]:
    """What a reader should take away, in a few sentences."""
    winner, standings = comparison.winner, comparison.standings
    if not winner:
        return []
    reasons = {**comparison.unsteady, **comparison.passed_over, **dict.fromkeys(comparison.not_saved, NOT_SAVED)}
    above = [s.model for s in standings[: [s.model for s in standings].index(winner)] if s.model in reasons]
    remarks = [said for said in (comparison.too_good, comparison.opened.unused_order) if said]
    remarks += [f"{model} is not the winner: {reasons[model]}." for model in above]
    tied = [s.model for s in standings if s.tied and s.model != BASELINE]
    if tied:
        named = ", ".join(tied[:4]) + (f" and {len(tied) - 4} more" if len(tied) > 4 else "")
        remarks.append(f"≈ not distinguishable from the best: {named}.")
    remarks += [said for said in (nothing_learned(comparison), hardly_told_apart(comparison)) if said]
    own = next(s for s in standings if s.model == winner)
    if own.status == "cut":
        remarks.append(_without_folds(comparison, own))
    elif comparison.cut_short:
        remarks.append(comparison.cut_short)
    n_models = sum(s.status in ("ranked", "partial") for s in standings if s.model != BASELINE)
    score, uses = comparison.held_out_score, comparison.held_out_uses
    if score is not None:
        before = f"fitted on {own.n_train:,}" if own.status == "cut" else "in its folds"
        again = "" if uses < 2 else f" (these rows have now judged {uses} winners, so they are not quite unseen)"
        chance = comparison.held_out_chance
        guess = "" if chance is None else f"; a guess without a look at the columns has {score_text(chance)} there"
        remarks.append(
            f"{winner} on {len(comparison.plan.held_out):,} rows held out from all of this: {comparison.metric.name}"
            f" {score_text(score)}, against {score_text(own.mean)} {before}{again}{guess}."
            f"{beyond_the_interval(comparison, own, score, n_models)}"
        )
    elif not len(comparison.plan.held_out) and n_models > 1:
        remarks.append(
            f"No rows were held out, and the best of {n_models} is flattered by being chosen: expect a little less."
        )
    elif not len(comparison.plan.held_out):
        remarks.append(f"No rows were held out: nothing but what is on the board has judged {winner}.")
    remarks += [comparison.of_which_rows] if comparison.of_which_rows else []
    if comparison.diagnosis:
        remarks.append(f"{winner}: {comparison.diagnosis[0].lower()}{comparison.diagnosis[1:]}")
    return remarks


def _without_folds(comparison: Comparison, winner: Standing) -> str:
    """That time did not suffice for a fold, what the winner rests on instead, and what was not tried."""
    within = "" if comparison.budget is None else f" within {seconds_text(comparison.budget)}"
    others = list_untried([c.name for c in comparison.candidates if c.name != BASELINE], comparison.trials)
    missed = (
        f"; {len(others)} of {len(comparison.candidates) - 1} models {'was' if len(others) == 1 else 'were'} not tried"
        if others
        else ""
    )
    return (
        f"No model was done with a fold{within}: {winner.model} is the best of those tried on {winner.n_train:,}"
        f" rows{missed}. --budget gives more time."
    )


def board_html(comparison: Comparison) -> str:
    """A table that a notebook shows."""
    metric = comparison.metric
    arrow = "↑" if metric.greater_is_better else "↓"
    heads = ["model", f"{metric.name} {arrow}", "95 % interval", "", "fit s", "predict s"]
    rows = "".join(_html_row(s) for s in comparison.standings)
    notes = "".join(f"<li>{html.escape(text)}</li>" for text in [*verdict(comparison), *comparison.remarks])
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads)
    title = html.escape(f"{comparison.name}: {comparison.task} by {metric.name}")
    return (
        f"<div><strong>{title}</strong><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<ul>{notes}</ul></div>"
    )


def _html_row(s: Standing) -> str:
    if s.status in ("failed", "left out"):
        return f'<tr><td>{html.escape(s.model)}</td><td colspan="5">{s.status}: {html.escape(s.error)}</td></tr>'
    interval = "" if s.low != s.low else f"{score_text(s.low)}…{score_text(s.high)}"
    mark = "≈" if s.tied else "" if s.status == "ranked" else s.status
    cells = (s.model, score_text(s.mean), interval, mark, f"{s.fit_seconds:.3f}", f"{s.predict_seconds:.3f}")
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def draw_board(comparison: Comparison, figure: Any = None) -> Any:
    """Means with their intervals, best on top; the baseline as a line, what is tied with the best in its color."""
    from matplotlib.figure import Figure

    shown = [s for s in comparison.standings if s.status in ("ranked", "partial")]
    figure = figure or Figure(figsize=(7, 1.2 + 0.28 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for height, s in zip(range(len(shown), 0, -1), shown):
        color = "tab:blue" if s is shown[0] or s.tied else "0.45"
        low, high = (s.mean if end != end else end for end in (s.low, s.high))
        axes.plot([low, high], [height, height], color=color, linewidth=1.5)
        axes.plot([s.mean], [height], "o", color=color, markersize=5)
        if s.model == BASELINE:
            axes.axvline(s.mean, color="0.8", linewidth=1, zorder=0)
    axes.set_yticks(range(len(shown), 0, -1), [s.model for s in shown])
    better = "greater is better" if comparison.metric.greater_is_better else "less is better"
    axes.set_xlabel(f"{comparison.metric.name} ({better}), mean and 95 % interval")
    axes.set_title(f"{comparison.name}: {comparison.plan.sentence}", fontsize="medium", loc="left")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure
