"""One generative model of the catalog: fitted to the training rows, measured on the held-out rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from margin import catalog
from margin.core.parameters import parameters_of
from margin.neighbors.density.base import StateDensity
from margin.selection.generators import capabilities, evaluate_generator
from margin.service.comparison.generative.budget import FIT_PART, Asking, Deadline, TooDear, end_at
from margin.service.comparison.generative.columns import MOST_CATEGORIES, TableCode
from margin.service.comparison.generative.data import GenerativeData

__all__ = ["MEASURES", "FittedGenerator", "Measured", "make_model", "measure", "measure_copies", "settings_text"]

#: What each number of the board is, and where it should be.
MEASURES: Mapping[str, str] = {
    "log_density": "mean log-density of held-out rows in nats, exact or a lower bound as log_density_kind says; greater"
    " is better",
    "neighbor_accuracy": "two-sample test: how often a row's nearest neighbor is of its own kind, real or generated; "
    "1/2 is ideal",
    "mmd_squared": "squared maximum mean discrepancy of samples and held-out rows, unbiased; 0 is ideal",
    "frechet_distance": "Frechet distance of means and covariances of samples and held-out rows, biased upwards by few "
    "rows; 0 is ideal",
    "precision": "fraction of samples near held-out rows; 1 is ideal",
    "recall": "fraction of held-out rows near samples; 1 is ideal",
    "density": "held-out neighborhoods around a sample, relative to those around a real row; 1 is ideal",
    "coverage": "fraction of held-out rows with a sample in their neighborhood; 1 is ideal",
    "fraction_closer": "probability that a sample is nearer to the training rows than a held-out row is; 1/2 is ideal, "
    "near 1 are copies",
}
MOST_MEASURED = 2_000  # rows whose pairwise distances are compared
NOISE_DRAWS = 8  # of the noise between codes behind a bound


@dataclass(frozen=True)
class Measured:
    """What one model got: its density of every held-out row with its kind, and measures of its samples.

    ``ended`` says how far a fit came that was ended before it was done.
    """

    model: str
    settings: str = ""
    log_density_kind: str = "none"
    log_densities: tuple[float, ...] = ()
    measures: Mapping[str, float] | None = None
    is_memorizing: bool = False
    fit_seconds: float = 0.0
    sample_seconds: float = 0.0
    error: str = ""
    ended: str = ""


class FittedGenerator:
    """A fitted model behind the code of the columns: it draws rows of the table and scores rows of codes."""

    def __init__(self, model: Any, code: TableCode):
        self.model, self.code = model, code
        self.takes_codes = isinstance(model, StateDensity)

    def fit(self, rows: np.ndarray, rng: np.random.Generator) -> FittedGenerator:
        self.model.fit(rows if self.takes_codes else self.code.continuous(rows, rng))
        return self

    @property
    def log_density_kind(self) -> str:
        """Noise between the codes of categories makes an exact density of codes and noise a bound for the codes."""
        kind = capabilities(self.model).log_density
        return "bound" if kind == "exact" and self.code.has_categories and not self.takes_codes else kind

    def draw(self, n_samples: int, seed: int) -> np.ndarray:
        """New rows of codes and numbers."""
        rows = self.model.sample(n_samples, random_state=seed)
        return rows if self.takes_codes else self.code.from_continuous(rows)

    def sample(self, n_samples: int = 1, random_state: int = 0) -> Any:
        """New rows as a data frame with the columns of the table."""
        return self.code.table(self.draw(n_samples, random_state)).to_pandas()

    def log_densities(
        self, rows: np.ndarray, rng: np.random.Generator, look: Callable[[int, int], None] = lambda *_: None
    ) -> np.ndarray:
        """The log-density of every row, or a lower bound, in the units of the table.

        ``look`` is called with how many draws of the noise between codes are done, of how many, and may end it.
        """
        if self.takes_codes:
            return self.model.score_samples(rows)
        draws = NOISE_DRAWS if self.code.has_categories else 1
        scores = []
        for done in range(1, draws + 1):
            scores.append(self.model.score_samples(self.code.continuous(rows, rng)))
            look(done, draws)
        return np.stack(scores).mean(axis=0) - self.code.log_volume


def make_model(name: str, settings: Mapping[str, Any], data: GenerativeData, seed: int) -> Any:
    """The catalog's model, set up for the table: the shape of images, and how many categories a column may have."""
    cls: Any = catalog.class_of(name)
    chosen = {**catalog.entry(name).settings, **settings}
    known = parameters_of(cls)
    if data.image_shape is not None and catalog.entry(name).data == "images":
        chosen = {"image_shape": data.image_shape, **chosen}
    if "random_state" in known:
        chosen = {"random_state": seed, **chosen}
    model = cls(**chosen)
    if isinstance(model, StateDensity):
        most = max((len(column.categories) for column in data.code.columns), default=0)
        model.set_params(max_categories=max(most, MOST_CATEGORIES))
    return model


def settings_text(name: str, settings: Mapping[str, Any]) -> str:
    """What a comparison sets on a model, as text."""
    return ", ".join(f"{key}={value}" for key, value in {**catalog.entry(name).settings, **settings}.items())


def measure(
    name: str,
    settings: Mapping[str, Any],
    data: GenerativeData,
    seed: int,
    seconds: float | None = None,
    for_asking: float | None = None,
) -> Measured:
    """Fit the catalog's model and measure it, both in about so many seconds; one that fails is a row with its reason.

    The fit may take a part of them. Where the density of all held-out rows would take more than ``for_asking``, which
    shows at the first draw of the noise between codes, :class:`TooDear` says so.
    """
    text, rng = settings_text(name, settings), np.random.default_rng([seed, 2])
    deadline = None
    try:
        model = make_model(name, settings, data, seed)  # imports what it needs, which is not its own time
        deadline = None if seconds is None else Deadline(FIT_PART * seconds)
        started = time.perf_counter()
        with end_at(deadline):
            fitted = FittedGenerator(model, data.code).fit(data.train, rng)
        fit_seconds = time.perf_counter() - started
        started = time.perf_counter()
        rows = fitted.draw(min(len(data.held_out), MOST_MEASURED), seed)
        sample_seconds = time.perf_counter() - started
        kind = fitted.log_density_kind
        look = Asking(f"its density of {len(data.held_out):,} rows", for_asking)
        logs = fitted.log_densities(data.held_out, rng, look) if kind != "none" else np.empty(0)
        if np.isnan(logs).any():
            raise ValueError(f"{name}: the log-density of a held-out row is not a number.")
        measures, copies = _measures(data, rows)
    except TooDear:
        raise
    except Exception as problem:  # whatever a model raises, the others go on
        lines = str(problem).strip().splitlines()
        return Measured(name, text, error=lines[0] if lines else type(problem).__name__)
    remark = "" if deadline is None else deadline.remark
    return Measured(name, text, kind, tuple(logs.tolist()), measures, copies, fit_seconds, sample_seconds, ended=remark)


def measure_copies(data: GenerativeData, seed: int) -> Measured:
    """Training rows in place of samples: what a generator that only copies would get, and how the check detects it."""
    rng = np.random.default_rng([seed, 3])
    n = min(len(data.held_out), MOST_MEASURED)
    rows = data.train[rng.choice(len(data.train), size=n, replace=n > len(data.train))]
    measures, copies = _measures(data, rows)
    return Measured("training rows", "", "none", (), measures, copies)


def _measures(data: GenerativeData, rows: np.ndarray) -> tuple[dict[str, float], bool]:
    if not np.isfinite(rows).all():
        raise ValueError("a sample has an entry that is not a finite number.")
    real, made, train = (
        data.code.features(part) for part in (data.held_out[:MOST_MEASURED], rows, data.train[: 5 * MOST_MEASURED])
    )
    measures = evaluate_generator(real, made, train=train)
    copies = bool(measures.pop("is_memorizing"))
    return {name: float(measures[name]) for name in MEASURES if name in measures}, copies
