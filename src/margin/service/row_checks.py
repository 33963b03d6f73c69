"""One statement of the notes, run with one seed: the verdict as plain values, kept until a file of Margin changes."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from margin.core.strict_json import strict
from margin.notes import atlas
from margin.service.model_facts import facts_folder, keep
from margin.service.requests import BadRequest

__all__ = ["LARGEST_SEED", "check_row", "check_seed", "kept_check", "kept_verdicts"]

LARGEST_SEED = 2**32 - 1  # what NumPy's older generators take


def check_seed(seed: int) -> int:
    """The seed, if a check can be run with it."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
        raise BadRequest(f"A seed is an integer from 0 to {LARGEST_SEED}; got {seed!r}.")
    return seed


def check_row(id: str, seed: int, folder: str = "") -> dict[str, Any]:
    """Run the check of a row: verdict, findings (measured and expected side by side), seconds. What came is kept."""
    from margin.service.evidence import select, verify
    from margin.service.finding_words import finding_words

    row = atlas.row(id)
    name = f"{row.area}/{row.id}"
    [checked] = verify(select([name]), check_seed(seed))
    findings = [{**strict(asdict(finding)), "words": finding_words(finding)} for finding in checked.findings()]
    facts = {"id": id, "seed": seed, "verdict": checked.verdict, "seconds": checked.seconds, "findings": findings}
    keep(_path(id, seed, folder), facts)
    return facts


def kept_check(id: str, seed: int, folder: str = "") -> dict[str, Any] | None:
    """What :func:`check_row` found before, or None."""
    row = atlas.row(id)
    with contextlib.suppress(OSError, ValueError):  # not run yet, or damaged
        facts = json.loads(_path(row.id, check_seed(seed), folder).read_text(encoding="utf-8"))
        if isinstance(facts, dict) and facts.get("id") == id and facts.get("seed") == seed:
            return facts
    return None


def kept_verdicts(folder: str = "") -> dict[str, list[dict[str, Any]]]:
    """What is known of every row that was run: a list of seeds and verdicts for each id."""
    found: dict[str, list[dict[str, Any]]] = {}
    with contextlib.suppress(OSError):
        for path in sorted(_folder(folder).glob("*.json")):
            id, _, seed = path.stem.rpartition(".")
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                verdict = json.loads(path.read_text(encoding="utf-8"))["verdict"]
                if id in atlas.rows():
                    found.setdefault(id, []).append({"seed": int(seed), "verdict": str(verdict)})
    return found


def _folder(folder: str) -> Path:
    # Beside the facts of models, not among them: they are looked for one folder deep.
    return (Path(folder) if folder else facts_folder().parent.parent / "checks" / facts_folder().name) / "rows"


def _path(id: str, seed: int, folder: str) -> Path:
    return _folder(folder) / f"{id}.{seed}.json"
