"""A model card: what a model is, what it was taught, how good it is and how to use it, as Markdown beside the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from margin.report.markdown import code, plain, shell_path
from margin.report.numbers import score

__all__ = ["comparison_card", "fit_card"]


MODEL = "model.safetensors"


def fit_card(folder: Any, manifest: Mapping[str, Any], last: Mapping[str, Any]) -> str:
    """The card of one fit, from what its run folder knows."""
    identity = manifest["identity"]
    model, target = identity["model"], identity.get("target")
    changed = [f"{name} = {value}" for name, value in manifest.get("params_set", {}).items()]
    data = [
        f"Data: {manifest.get('data')}, {manifest.get('rows', 0):,} rows, {len(manifest.get('features', []))} columns"
        f" (SHA-256 {identity['data_hash'][:12]}…).",
        f"Target: {target}." if target else "No target.",
        f"Columns: {_list(manifest.get('features', []))}.",
    ]
    training = [
        f"Status: {manifest['status']}, {manifest.get('seconds', 0.0):.1f} s, seed {manifest.get('seed', 0)}.",
        f"Parameters set: {', '.join(changed) if changed else 'none, all are defaults'}.",
        *([f"Last record: {_numbers(last)}."] if last else []),
        f"Versions: {_versions(manifest.get('versions', {}))}.",
    ]
    unseen = plain("Not measured here: this model has seen all rows of its data.")
    sections = {
        "What it was taught": [plain(line) for line in data],
        "Training": [plain(line) for line in training],
        "How good it is": [unseen, _score_hint(folder, manifest, target)],
        "Use": _uses(folder, manifest.get("task", "")),
    }
    return _markdown(f"{model}: {manifest.get('data')}", sections)


def comparison_card(comparison: Any) -> str:
    """The card of the winner of a comparison."""
    n, p = comparison.X.shape
    winner = next(s for s in comparison.standings if s.model == comparison.winner)
    name = comparison.metric.name
    data = [
        f"Data: {comparison.name}, {n:,} rows, {p} columns; target {comparison.target or 'y'} ({comparison.task}).",
        f"Columns: {_list(list(comparison.features))}.",
        *comparison.remarks,
    ]
    evidence = [f"{name} {score(winner.mean)} in cross-validation ({comparison.plan.sentence.rstrip('.')})."]
    if comparison.held_out_score is not None:
        held = f"{name} {score(comparison.held_out_score)} on {len(comparison.plan.held_out):,} rows held out"
        evidence.append(f"{held}; the model in this folder was then fitted to {comparison.fitted_on}.")
        if comparison.held_out_chance is not None:
            evidence.append(f"A guess without a look at the columns has {score(comparison.held_out_chance)} there.")
    evidence += [comparison.of_which_rows] if comparison.of_which_rows else []
    baseline = next((s for s in comparison.standings if s.model == "baseline" and not s.error), None)
    if baseline is not None:
        evidence.append(f"Such a guess has {name} {score(baseline.mean)} in cross-validation.")
    evidence += [comparison.cut_short] if comparison.cut_short else []
    ties = [s.model for s in comparison.standings if s.tied and s.model != comparison.winner]
    if ties:
        evidence.append(f"Not distinguishable from it: {', '.join(ties)}.")
    evidence += [comparison.diagnosis] if comparison.diagnosis else []
    training = [
        plain(f"Seed {comparison.seed}; versions: {_versions(comparison.versions or {})}."),
        f"Repeat: {code(comparison.command or comparison.call)}",
    ]
    sections = {
        "What it was taught": [plain(line) for line in data],
        "How good it is": [plain(line) for line in evidence],
        "Training": training,
        "Use": _uses(comparison.folder, comparison.task),
    }
    return _markdown(f"{comparison.winner}: {comparison.name}", sections)


def _score_hint(folder: Any, manifest: Mapping[str, Any], target: str | None) -> str:
    if manifest.get("task") == "transformation":
        return "A transformation has no score of its own."
    rows = f"rows that have {target}" if target else "new rows"
    return f"{plain(f'Measure it on {rows}')}: {code(f'margin score {shell_path(folder)} new.csv')}"


def _uses(folder: Any, task: str) -> list[str]:
    command = {"transformation": "transform", "density": "sample"}.get(task, "predict")
    arguments = "" if command == "sample" else " new.csv"
    return [
        code(f"margin {command} {shell_path(folder)}{arguments}"),
        f"Python: {code(f'margin.load({str(folder / MODEL)!r})')}",
        "Rows unlike those it was taught (other times, places, instruments) may be answered badly without notice.",
    ]


def _markdown(title: str, sections: Mapping[str, Sequence[str]]) -> str:
    """``title`` is plain text, the lines are Markdown."""
    parts = [f"# {plain(title)}"]
    for heading, lines in sections.items():
        parts.append(f"## {heading}\n\n" + "\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def _list(names: Sequence[str], most: int = 40) -> str:
    shown = ", ".join(map(str, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "none"


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "unknown"


def _numbers(record: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in record.items()
    )
