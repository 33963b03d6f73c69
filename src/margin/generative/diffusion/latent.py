"""Diffusion among the codes of an autoencoder: fewer coordinates to denoise, and a decoder for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.arguments import finite
from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Either, Flag, Integer, Nested, Optional, Seed
from margin.core.estimator import RUNNING, IterativeEstimator, Loop
from margin.core.invariants import ArrayOf, ModelWith, optional
from margin.core.parameters import VERBOSE, attribute, parameter
from margin.core.randomness import RandomLike, as_generator, seed_estimator, seed_from
from margin.core.records import Record
from margin.data.image_arrays import flat_pictures
from margin.generative.diffusion.model import DiffusionModel
from margin.generative.vae import VAE
from margin.neural.estimators.device_inside import DeviceInside
from margin.neural.scaling import Scaling

__all__ = ["LatentDiffusion"]

LITTLE_DIVERGENCE = 0.05  # of a VAE whose codes need not be normal, since a diffusion learns what they are
MEASURED = 1024  # rows whose codes say where codes lie while the autoencoder still moves them


class _Stages:
    """The fit in progress: its seed, the iterations of the autoencoder, and the loops of both models."""

    def __init__(self, seed: int, done: int):
        self.seed, self.done = seed, done
        self.loops: dict[str, Loop] = {}

    def state(self) -> dict[str, Any]:
        return {"seed": self.seed, "done": self.done} | {name: loop.state() for name, loop in self.loops.items()}


class LatentDiffusion(DeviceInside, IterativeEstimator):
    """Latent diffusion: an autoencoder makes codes of rows, a diffusion learns and draws codes, the decoder makes rows.

    First the autoencoder learns, then the diffusion among its codes; records name both. While the autoencoder learns,
    codes are drawn from the normal distribution of their means and deviations. Of images it costs a fraction of a
    diffusion among pixels, and what the decoder cannot make cannot be drawn. There is no density.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:300] / 16
    >>> coder = VAE(8, (64,), beta=0.05, likelihood="bernoulli", max_iter=5)
    >>> model = LatentDiffusion(coder, DiffusionModel((32,), n_steps=20, max_iter=5), random_state=0).fit(X)
    >>> model.sample(3, random_state=0).shape, model.encode(X).shape
    ((3, 64), (300, 8))
    """

    log_density_kind = "none"

    autoencoder: Any = parameter(
        None,
        Optional(Nested("fit", "transform", "inverse_transform")),
        "Makes codes of rows and rows of codes: a VAE, an Autoencoder, a PCA; None: VAE(beta=0.05).",
    )
    diffusion: Any = parameter(
        None,
        Optional(Nested("fit", "iterate", "sample_path")),
        "Learns and draws codes: a DiffusionModel, a FlowMatching, a ScoreModel; None: DiffusionModel().",
    )
    _: KW_ONLY
    fitted: bool = parameter(
        False, Flag(), "Whether autoencoder has learned already and is taken as it is (a clone of it would forget)."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws what both models draw while they learn.")
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), VERBOSE)

    autoencoder_: Any = attribute(
        ModelWith(["transform", "inverse_transform"], columns="n_features"), "The autoencoder that has learned."
    )
    diffusion_: Any = attribute(
        optional(ModelWith(["sample_path"], columns="n_codes")),
        "The diffusion of codes; None while the autoencoder learns.",
    )
    code_center_: np.ndarray = attribute(ArrayOf("n_codes"), "Mean of every coordinate of the codes.")
    code_scale_: np.ndarray = attribute(ArrayOf("n_codes"), "Deviation of every coordinate of the codes.")

    def iterate(
        self, X: MatrixLike, y: ArrayLike | None = None, *, state: dict[str, Any] | None = None
    ) -> Iterator[Record]:
        """Learn from ``X`` (``y`` goes to a conditional diffusion), yielding the records of both models."""
        self._check_parameters()
        flat_rows, picture = flat_pictures("LatentDiffusion", X)
        validated = validate_data(self, flat_rows, dtype=[np.float64, np.float32], order="C")
        rows = validated if picture is None else np.asarray(X)  # pictures tell the autoencoder their shape
        seed = seed_from(self.random_state) if state is None else int(state["seed"])
        rng, running = as_generator(seed), _Stages(seed, 0 if state is None else int(state["done"]))
        coder = self._coder()
        diffusion = clone(DiffusionModel() if self.diffusion is None else self.diffusion)
        self._place_inside(coder, diffusion)
        if not self.fitted:
            seed_estimator(coder, rng)
        seed_estimator(diffusion, rng)
        self._loop = running
        try:
            yield from self._learn_codes(coder, rows, running, state)
            yield from self._learn_law(diffusion, rows, y, running, state)
        finally:
            for model in (coder, diffusion):
                for name in RUNNING:
                    model.__dict__.pop(name, None)

    def _learn_codes(self, coder: Any, rows: Any, running: _Stages, state: dict[str, Any] | None) -> Iterator[Record]:
        """The first stage: records of the autoencoder, if it has any."""
        if not self.fitted and not hasattr(coder, "iterate"):
            coder.fit(rows)
        elif not self.fitted:
            records = coder.iterate(rows, state=None if state is None else state["autoencoder"])
            try:
                for record in records:
                    running.loops["autoencoder"], running.done = coder._loop, record.iteration
                    self._note_codes(coder, rows)
                    yield Record(record.iteration, _name_values("autoencoder", record))
            finally:
                records.close()
            running.loops["autoencoder"] = coder._loop
        self._note_codes(coder, rows)

    def _learn_law(
        self, diffusion: Any, rows: Any, y: Any, running: _Stages, state: dict[str, Any] | None
    ) -> Iterator[Record]:
        """The second stage: records of the diffusion, counted on from those of the autoencoder."""
        before = None if state is None else state.get("diffusion")
        records = diffusion.iterate(_codes(self.autoencoder_, rows), y, state=before)
        try:
            for record in records:
                running.loops["diffusion"], self.diffusion_ = diffusion._loop, diffusion
                total = None if record.total is None else running.done + record.total
                yield Record(running.done + record.iteration, _name_values("diffusion", record), total)
        finally:
            records.close()
        running.loops["diffusion"], self.diffusion_ = diffusion._loop, diffusion

    def sample(self, n_samples: int = 1, random_state: RandomLike = None, **options: Any) -> np.ndarray:
        """New rows: drawn codes, decoded; ``options`` are those of the diffusion's ``sample``, such as ``y``."""
        for _, codes in self._code_path(n_samples, random_state, options):  # noqa: B007
            pass
        return self.decode(codes)

    def sample_path(
        self, n_samples: int = 1, random_state: RandomLike = None, **options: Any
    ) -> Iterator[tuple[float, np.ndarray]]:
        """How new rows come out of noise: after every step of the sampler, how much of it is done, and the rows."""
        for done, codes in self._code_path(n_samples, random_state, options):
            yield done, self.decode(codes)

    def encode(self, X: MatrixLike) -> np.ndarray:
        """The code of every row."""
        check_is_fitted(self)
        flat_rows, picture = flat_pictures("LatentDiffusion", X)
        validated = validate_data(self, flat_rows, dtype=[np.float64, np.float32], order="C", reset=False)
        return _codes(self.autoencoder_, validated if picture is None else np.asarray(X))

    def decode(self, Z: Any) -> np.ndarray:
        """The row of every code."""
        check_is_fitted(self)
        codes = finite("LatentDiffusion", "Z", Z)
        if codes.ndim != 2 or codes.shape[1] != len(self.code_center_):
            raise ValueError(
                f"LatentDiffusion: Z must have {len(self.code_center_)} columns, one per coordinate of a code; got "
                f"shape {codes.shape}."
            )
        return np.asarray(self.autoencoder_.inverse_transform(codes))

    def _code_path(
        self, n_samples: int, random_state: RandomLike, options: dict[str, Any]
    ) -> Iterator[tuple[float, np.ndarray]]:
        check_is_fitted(self)
        if not Integer(low=1).accepts(n_samples):
            raise ValueError(f"LatentDiffusion: n_samples must be an integer at least 1; got {n_samples!r}.")
        if self.diffusion_ is not None:
            yield from self.diffusion_.sample_path(n_samples, random_state, **options)
            return
        if options:
            raise ValueError(
                f"LatentDiffusion: sample takes no {' or '.join(options)} while the autoencoder learns, before the "
                "diffusion does."
            )
        normal = as_generator(random_state).standard_normal((n_samples, len(self.code_center_)))
        yield 1.0, Scaling(self.code_center_, self.code_scale_).undo(normal)

    def _coder(self) -> Any:
        """The autoencoder of this fit."""
        if not self.fitted:
            return clone(VAE(beta=LITTLE_DIVERGENCE) if self.autoencoder is None else self.autoencoder)
        try:
            check_is_fitted(self.autoencoder)
        except (NotFittedError, TypeError):
            raise ValueError(
                f"LatentDiffusion: autoencoder must have learned already when fitted is True; got "
                f"{type(self.autoencoder).__name__} that has not."
            ) from None
        return deepcopy(self.autoencoder)

    def _note_codes(self, coder: Any, rows: Any) -> None:
        """The autoencoder as it is now, with place and width of the codes of rows at equal distances."""
        chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MEASURED)).astype(np.int64))
        center, scale = Scaling.of(_codes(coder, rows[chosen]).astype(np.float64))
        self.autoencoder_, self.diffusion_, self.code_center_, self.code_scale_ = coder, None, center, scale


def _codes(coder: Any, rows: Any) -> np.ndarray:
    codes = np.asarray(coder.transform(rows))
    if codes.ndim != 2 or not np.isfinite(codes).all():
        raise ValueError(
            "LatentDiffusion: autoencoder must make a table of finite numbers; "
            f"{type(coder).__name__} made an array of shape {codes.shape}{', not all finite' * (codes.ndim == 2)}."
        )
    return codes


def _name_values(stage: str, record: Record) -> dict[str, float]:
    return {f"{stage}_{name}": value for name, value in record.values.items()}
