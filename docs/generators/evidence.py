"""Evidence: verdicts on every row of the notes and a picture of every experiment, run when their sources changed.

Nothing on the site says that a statement holds unless it was run here, and a check that fails stops the build.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docs.generators.sources import fingerprint

from margin.core.strict_json import strict_text
from margin.core.verdict import Verdict
from margin.notes import atlas, experiments
from margin.notes.pictures import draw_picture, picture_style
from margin.service.evidence import Checked, verify

__all__ = ["CheckFailed", "Evidence", "Shown"]

SEED = 0
THUMBNAIL = (400, 240)  # pixels


class CheckFailed(Exception):
    """A statement of the site does not hold."""


@dataclass(frozen=True)
class Shown:
    """An experiment that was run: its verdict, its picture, that in small, and the moving one where there is one."""

    name: str
    outcome: Verdict
    picture: Path
    thumbnail: Path
    motion: Path | None = None


@dataclass(frozen=True)
class Evidence:
    """What was run, kept in ``folder`` under the fingerprint of the sources.

    ``stale`` takes what is kept although the sources have changed: for writing text, never for a release.
    """

    folder: Path
    say: Callable[[str], None] = print
    stale: bool = False

    def experiments(self, names: Iterable[str] | None = None) -> dict[str, Shown]:
        """Every experiment by name, run in its fast mode and drawn."""
        return {name: self._experiment(name) for name in (experiments.names() if names is None else names)}

    def rows(self, shown: dict[str, Shown], areas: Iterable[str] | None = None) -> dict[str, Checked]:
        """The verdict on every row by id; the experiments in ``shown`` are not run a second time."""
        checked = (self._area(area, shown) for area in (atlas.areas() if areas is None else areas))
        return {item.id: item for area in checked for item in area}

    def _experiment(self, name: str) -> Shown:
        record, picture = self.folder / f"{name}.json", self.folder / f"{name}.png"
        thumbnail, motion = self.folder / f"{name}-thumbnail.png", self.folder / f"{name}.webp"
        files = [picture, thumbnail, *([motion] if hasattr(experiments.load(name), "animate") else [])]
        key = fingerprint([f"margin.notes.experiments.{name.replace('-', '_')}", "margin.notes.pictures"])
        kept = self._kept(record, key) if all(file.exists() for file in files) else None
        if kept is None:
            self.say(f"running {name}")
            outcome = _run(name, *files)
            if not outcome.ok:
                raise CheckFailed(f"Experiment {name} does not hold: {outcome}.")
            kept = self._keep(record, {"key": key, "outcome": asdict(outcome)})
        fields = kept["outcome"]
        return Shown(name, Verdict(**{**fields, "slips": tuple(fields["slips"])}), *files)

    def _area(self, area: str, shown: dict[str, Shown]) -> list[Checked]:
        record, key = self.folder / f"area-{area}.json", _area_key(area, shown)
        kept = self._kept(record, key)
        if kept is None:
            self.say(f"verifying {area}")
            expected = [row for row in atlas.inventory().values() if row.area == area]
            outcomes = {name: item.outcome for name, item in shown.items()}
            with short_fits():
                checked = list(verify(expected, SEED, outcomes))
            for item in checked:
                if item.verdict not in ("holds", "corrected"):
                    raise CheckFailed(f"Row {item.area}/{item.id} {item.verdict}: measured {item.measured}.")
            kept = self._keep(record, {"key": key, "rows": [item.as_dict() for item in checked]})
        return [
            Checked(**{**row, "slips": tuple(row["slips"]), "errata": tuple(row["errata"])}) for row in kept["rows"]
        ]

    def _kept(self, record: Path, key: str) -> dict[str, Any] | None:
        """What was kept under the same key; nothing if it is damaged or of other sources."""
        try:
            kept = json.loads(record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) and (self.stale or kept.get("key") == key) else None

    def _keep(self, record: Path, facts: dict[str, Any]) -> dict[str, Any]:
        text = strict_text(facts)
        self.folder.mkdir(parents=True, exist_ok=True)
        record.write_text(text, encoding="utf-8")
        return json.loads(text)


@contextmanager
def short_fits() -> Iterator[None]:
    """Fast modes end fits early on purpose; that they do is no news of a build, whatever else is said remains."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _run(name: str, picture: Path, thumbnail: Path, motion: Path | None = None) -> Verdict:
    import matplotlib

    matplotlib.use("Agg")
    from docs.generators.picture_texts import text_faults
    from PIL import Image

    module: Any = experiments.load(name)  # some have `animate` besides
    with short_fits():
        data = module.run(SEED, fast=True)
    picture.parent.mkdir(parents=True, exist_ok=True)
    with picture_style():
        figure = draw_picture(module, data)
        # Panels of equal scale leave margins: what is empty all around is cut off.
        figure.savefig(picture, dpi=110, bbox_inches="tight", pad_inches=0.15)
        if faults := text_faults(figure):
            picture.unlink()
            raise CheckFailed(f"The picture of {name} cannot be read: {'; '.join(faults)}.")
    with Image.open(picture) as large:
        small = large.convert("RGB")
        small.thumbnail(THUMBNAIL)
        small.save(thumbnail)
    if motion is not None:
        with picture_style():
            module.animate(data).save(motion, writer="pillow")
    return module.check(data)


def _area_key(area: str, shown: dict[str, Shown]) -> str:
    """Changes with the area's rows, its claims and all that these can run, and the outcomes of its experiments."""
    module = f"margin.notes.claims.{area.replace('-', '_')}"
    package = Path(atlas.__file__).parents[1] / "claims" / area.replace("-", "_")
    modules = [module, *(f"{module}.{part.stem}" for part in package.glob("*.py"))]
    rows = [row for row in atlas.rows().values() if row.area == area]
    outcomes = [strict_text(asdict(shown[row.experiment].outcome)) for row in rows if row.experiment in shown]
    parts = [fingerprint(modules), *map(repr, rows), *outcomes]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
