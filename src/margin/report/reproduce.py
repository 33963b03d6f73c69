"""How to get every part of the page again: commands, code, versions, seeds."""

from __future__ import annotations

from typing import Any

from margin.report.layout import block, code, numbers_table, paragraph
from margin.report.markdown import shell_path
from margin.report.markup import Markup, element, join
from margin.report.numbers import seconds

__all__ = ["board_code", "columns_code", "judged_code", "learning_code", "reproduce_content"]


def board_code(comparison: Any) -> Markup:
    return code(shell=comparison.command, python=_lines(comparison, "comparison.board"))


def judged_code(comparison: Any) -> Markup:
    """Confusion matrix, ROC curve and cheapest threshold, or residuals, from the winner's predictions."""
    lines = ["rows, output = comparison.out_of_fold(comparison.winner)"]
    if len(comparison.plan.held_out) and comparison.judged_ is not None:
        lines = ["rows = comparison.plan.held_out", "output = comparison.output(comparison.winner, -1)"]
    lines.append("y = comparison.y[rows]")
    if comparison.task != "classification":
        return code(python=_lines(comparison, *lines, "residuals = y - output.predicted"))
    lines.append("metrics.confusion_matrix(y, output.predicted)")
    if len(comparison.classes) == 2:
        lines += [
            f"positive = y == {comparison.classes[1]!r}",
            "score = output.scores[:, 1] if output.scores.ndim == 2 else output.scores",
            "metrics.roc_curve(positive, score)",
            "metrics.best_threshold(positive, score, cost_false_positive=1, cost_false_negative=1)",
        ]
    return code(python=_lines(comparison, *lines, imports="from margin import metrics"))


def columns_code(comparison: Any) -> Markup:
    lines = [
        "effects = winner_effects(comparison, unseen_rows(comparison))",
        "effects.names, effects.drops, effects.shapley, effects.curves",
    ]
    return code(python=_lines(comparison, *lines, imports="from margin.report import unseen_rows, winner_effects"))


def learning_code(comparison: Any) -> Markup:
    return code(python=_lines(comparison, "comparison.curve, comparison.diagnosis"))


def reproduce_content(comparison: Any) -> Markup:
    """The whole comparison again, the model it left, and what it ran with."""
    facts = [["seed", comparison.seed], ["folds", comparison.n_folds]]
    if comparison.budget:
        facts.append(["budget", seconds(comparison.budget)])
    facts.append(["time taken", seconds(comparison.seconds)])
    versions = [[name, version] for name, version in (comparison.versions or {}).items()]
    model = repr(str(comparison.folder / "model.safetensors"))
    load = f"import margin\n\nmodel = margin.load({model})\nmodel.predict(new_rows)"
    tables = [
        numbers_table(["setting", "value"], facts, numeric=(1,)),
        numbers_table(["library", "version"], versions, numeric=(1,)) if versions else None,
    ]
    parts = [
        paragraph("The whole comparison again:"),
        block(comparison.command) if comparison.command else None,
        block(comparison.call),
        paragraph(f"Predict new rows with the model it left, which is trained on {comparison.fitted_on}:"),
        block(f"margin predict {shell_path(comparison.folder)} new.csv"),
        block(load),
        element("div", *(table for table in tables if table is not None), class_="figures small"),
    ]
    return join(parts)


def _lines(comparison: Any, *lines: str, imports: str = "") -> str:
    """Code that starts from the comparison; what its folder has kept is read, not trained again."""
    first = ["import margin", imports] if imports else ["import margin"]
    return "\n".join([*first, "", f"comparison = {comparison.call}", *lines])
