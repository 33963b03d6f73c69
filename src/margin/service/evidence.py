"""Running the notes: verify rows by their claims and experiments, and run one experiment with its pictures."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from margin.core.strict_json import strict_text
from margin.core.verdict import Verdict, every
from margin.notes import atlas, claims, experiments
from margin.notes.pictures import draw_picture, picture_style

__all__ = ["Checked", "Finding", "Outcome", "run_experiment", "select", "verify"]

SEED = 0
READABLE = 100  # numbers in one array that a reader of a JSON file still looks at


@dataclass(frozen=True)
class Finding:
    """One number (or truth) of a check: its name, what came out and what had to."""

    name: str
    measured: Any
    expected: Any
    is_counterexample: bool = False  # the printed statement of the notes, evaluated where it breaks


@dataclass(frozen=True)
class Checked:
    """The verdict on one row: holds, corrected, fails, or missing where the row is not built yet.

    ``errata`` are the mistakes of the notes as sentences, ``slips`` the names of the counter-examples in ``measured``.
    """

    id: str
    area: str
    kind: str
    verdict: str
    measured: Any
    expected: Any
    seconds: float
    seed: int = SEED
    slips: tuple[str, ...] = ()
    statement: str = ""
    errata: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def findings(self) -> list[Finding]:
        """Measured and expected side by side, one for each part of the check."""
        return list(_findings((), self.measured, self.expected))


@dataclass(frozen=True)
class Outcome:
    """One experiment, run: its verdict and the files it left."""

    name: str
    title: str
    verdict: str
    measured: Any
    expected: Any
    seconds: float
    files: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def findings(self) -> list[Finding]:
        """Measured and expected side by side, one for each part of the check."""
        return list(_findings((), self.measured, self.expected))


def select(names: Sequence[str]) -> list[atlas.Expected]:
    """The rows meant by areas and ids; none named means all that are built or expected.

    A name that is both means the area; ``area/id`` means the row in any case.
    """
    inventory = atlas.inventory()
    if not names:
        return list(inventory.values())
    chosen: dict[str, atlas.Expected] = {}
    for name in names:
        if name in atlas.areas():
            chosen.update({id: expected for id, expected in inventory.items() if expected.area == name})
            continue
        area, _, id = name.rpartition("/")
        if id not in inventory or area not in ("", inventory[id].area):
            close = difflib.get_close_matches(id, [*atlas.areas(), *inventory], n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else "."
            raise KeyError(
                f"{name!r} is neither an area of the atlas ({', '.join(atlas.areas())}) nor the id of a row{hint}"
            )
        chosen[id] = inventory[id]
    return list(chosen.values())


def verify(
    rows: Iterable[atlas.Expected], seed: int = SEED, outcomes: Mapping[str, Verdict] | None = None
) -> Iterator[Checked]:
    """Run the check of each row with ``seed``, one result at a time; an experiment that several rows share runs once.

    ``outcomes`` are verdicts on experiments that were run with this seed before, by name. Every statement should hold
    whatever the seed.
    """
    outcomes = dict(outcomes or {})
    for expected in rows:
        started = time.perf_counter()
        row = atlas.rows().get(expected.id)
        if row is None:
            yield Checked(expected.id, expected.area, expected.kind, "missing", None, None, 0.0)
            continue
        verdict = _verdict(row, outcomes, seed)
        seconds = time.perf_counter() - started
        outcome = (verdict.word, verdict.measured, verdict.expected)
        notes = (row.statement, (*row.slips, *([row.notation] if row.notation else [])))
        yield Checked(row.id, row.area, row.kind, *outcome, seconds, seed, verdict.slips, *notes)


def _verdict(row: atlas.Row, outcomes: dict[str, Verdict], seed: int) -> Verdict:
    parts: dict[str, Verdict] = {}
    check = claims.of_area(row.area).get(row.id)
    try:
        if check is not None:
            parts["claim"] = check(seed)
        if row.experiment:
            if row.experiment not in outcomes:
                module = experiments.load(row.experiment)
                outcomes[row.experiment] = module.check(module.run(seed, fast=True))
            parts["experiment"] = outcomes[row.experiment]
    except Exception as error:  # a check that breaks is a row that fails, and the others still run
        return Verdict(False, f"{type(error).__name__}: {error}", "a verdict")
    if not parts.keys() & {"claim", "experiment"}:
        return Verdict(False, "no claim and no experiment", "a check")
    verdict = next(iter(parts.values())) if len(parts) == 1 else every(**parts)
    # An experiment may correct another of its rows: only a row with a slip is itself corrected.
    return replace(verdict, corrected=verdict.corrected and bool(row.slips))


def _findings(path: tuple[str, ...], measured: Any, expected: Any) -> Iterator[Finding]:
    if isinstance(measured, dict) and isinstance(expected, dict) and measured.keys() == expected.keys():
        for name, part in measured.items():
            yield from _findings((*path, name), part, expected[name])
        return
    shown = (name.removeprefix("as printed: ") for name in path if name not in ("corrected", "claim", "experiment"))
    name = ", ".join(part.replace("_", " ") for part in shown)
    yield Finding(name, measured, expected, any(part.startswith("as printed") for part in path))


def run_experiment(
    name: str, out: Path, *, seed: int = SEED, fast: bool = False, formats: Sequence[str] = ("png",)
) -> Outcome:
    """Run one experiment and write its figure, its animation if it has one, and its data into ``out``."""
    module = experiments.load(name)
    started = time.perf_counter()
    data = module.run(seed, fast=fast)
    verdict = module.check(data)
    out.mkdir(parents=True, exist_ok=True)
    files = [*_draw(name, module, data, out, formats), *_write_result(name, verdict, data, out, seed)]
    return Outcome(
        name,
        experiments.title(module),
        verdict.word,
        verdict.measured,
        verdict.expected,
        time.perf_counter() - started,
        tuple(map(str, files)),
    )


def _draw(name: str, module: Any, data: dict[str, Any], out: Path, formats: Sequence[str]) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    files = []
    with picture_style():
        figure = draw_picture(module, data)
        for suffix in formats:
            files.append(out / f"{name}.{suffix}")
            figure.savefig(files[-1], dpi=150)
        if hasattr(module, "animate"):
            files.append(out / f"{name}.gif")
            module.animate(data).save(files[-1], writer="pillow")
    return files


def _write_result(name: str, verdict: Verdict, data: dict[str, Any], out: Path, seed: int) -> list[Path]:
    """The verdict and the numbers as JSON; arrays too large to read go to a compressed file beside it."""
    large: dict[str, np.ndarray] = {}
    facts = {"experiment": name, "seed": seed, "verdict": verdict.word}
    facts |= {"measured": verdict.measured, "expected": verdict.expected, "data": _plain(data, "data", large)}
    files = [out / f"{name}.json"]
    files[0].write_text(strict_text(facts, indent=1))
    if large:
        files.append(out / f"{name}.npz")
        np.savez_compressed(files[1], **large)  # type: ignore[arg-type]
    return files


def _plain(value: Any, key: str, large: dict[str, np.ndarray]) -> Any:
    """A JSON-ready form; whatever else an experiment keeps for its drawing is named, not dumped."""
    if isinstance(value, dict):
        return {str(name): _plain(part, f"{key}.{name}", large) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{key}.{i}", large) for i, part in enumerate(value)]
    if isinstance(value, np.ndarray) and value.size > READABLE and value.dtype != object:
        large[key] = value
        return f"array {value.shape} in the .npz file"
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist() if not np.iscomplexobj(value) else str(value.tolist())
    return value if isinstance(value, str | int | float | bool) or value is None else f"<{type(value).__name__}>"
