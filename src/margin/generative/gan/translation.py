r"""Translation between two domains by adversarial networks: from pairs, or from two unpaired sets by a cycle.

.. math:: L_{pairs} = -\log D(a, G(a)) + \lambda\,|b - G(a)|_1, \qquad
          L_{cycle} = -\log D_B(G(a)) - \log D_A(F(b)) + \lambda\,\bigl(|F(G(a)) - a|_1 + |G(F(b)) - b|_1\bigr)

Both are games of the shared training loop. The judges of a cycle are flattened at the real rows (R1 penalty), without
which the game goes round in circles, and learning rates go down to 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.randomness import as_generator, spawn_seeds
from margin.generative.gan.losses import discriminator_loss, generator_loss, real_gradient_penalty
from margin.generative.gan.networks import MLPDiscriminator, MLPGenerator
from margin.generative.gan.translators import BothJudges, BothWays
from margin.generative.images import check_image_shape, pixel_scaling
from margin.neural.losses.regression import l1_loss
from margin.neural.scaling import Scaling
from margin.neural.training import (
    Adversarial,
    Plan,
    Player,
    RowBatches,
    TensorRows,
    Training,
    rate_schedule,
    train,
)
from margin.neural.weights import build
from margin.optimize.rules import Adam

__all__ = ["CycleTranslation", "PairTranslation", "cycle_terms", "judge_terms", "pair_terms"]

ADAM = Adam(0.5, 0.99)

Modules = Mapping[str, nn.Module]


def judge_terms(
    modules: Modules, batch: tuple[Tensor, ...], _: torch.Generator, *, penalty_weight: float
) -> dict[str, Tensor]:
    """Both discriminators of a cycle against the translations of the other domain."""
    a, b = batch
    maps, judges = modules["generator"], modules["discriminator"]
    with torch.no_grad():
        made_a, made_b = maps.back(b), maps.forth(a)  # type: ignore[operator]
    of_a = discriminator_loss(judges.of_a(a), judges.of_a(made_a))  # type: ignore[operator]
    of_b = discriminator_loss(judges.of_b(b), judges.of_b(made_b))  # type: ignore[operator]
    slopes = real_gradient_penalty(judges.of_a, a) + real_gradient_penalty(judges.of_b, b)  # type: ignore[arg-type]
    return {"loss": (of_a + of_b + penalty_weight * slopes).mean()}


def cycle_terms(
    modules: Modules, batch: tuple[Tensor, ...], _: torch.Generator, *, cycle_weight: float
) -> dict[str, Tensor]:
    """Both maps: fool the judges, and come back to where a translation started."""
    a, b = batch
    maps, judges = modules["generator"], modules["discriminator"]
    made_a, made_b = maps.back(b), maps.forth(a)  # type: ignore[operator]
    fooled = generator_loss(judges.of_a(made_a)) + generator_loss(judges.of_b(made_b))  # type: ignore[operator]
    round_a, round_b = maps.back(made_b) - a, maps.forth(made_a) - b  # type: ignore[operator]
    back = round_a.abs().flatten(1).mean(dim=1) + round_b.abs().flatten(1).mean(dim=1)
    return {"loss": (fooled + cycle_weight * back).mean(), "cycle": back.detach().mean()}


def pair_terms(
    modules: Modules, batch: tuple[Tensor, ...], noise: torch.Generator, *, n_latents: int, l1_weight: float, sees: bool
) -> dict[str, Tensor]:
    """The map of a paired translation: fool the judge, and stay near the known target."""
    a, b = batch
    z = torch.randn((len(a), n_latents), generator=noise, dtype=a.dtype)
    made = modules["generator"](torch.cat([a, z], dim=1))
    distance = l1_loss(made, b, reduction="none").mean(dim=1)
    seen = torch.cat([a, made], dim=1) if sees else made
    loss = generator_loss(modules["discriminator"](seen)) + l1_weight * distance
    return {"loss": loss.mean(), "distance": distance.detach().mean()}


def pair_judge_terms(
    modules: Modules, batch: tuple[Tensor, ...], noise: torch.Generator, *, n_latents: int, sees: bool
) -> dict[str, Tensor]:
    a, b = batch
    with torch.no_grad():
        z = torch.randn((len(a), n_latents), generator=noise, dtype=a.dtype)
        made = modules["generator"](torch.cat([a, z], dim=1))
    judge = modules["discriminator"]
    real, fake = (torch.cat([a, x], dim=1) if sees else x for x in (b, made))
    return {"loss": discriminator_loss(judge(real), judge(fake)).mean()}


class _Translation:
    """What both translations share: two players, rows of two domains, and the maps as functions of arrays."""

    def __init__(self, hidden: tuple[int, ...], max_iter: int, batch_size: int, learning_rate: float, seed: int):
        self.hidden, self.max_iter, self.batch_size = list(hidden), max_iter, batch_size
        self.learning_rate, self.seed = learning_rate, seed
        self.records: list[dict[str, Any]] = []

    def _play(self, judge: Player, maps: Player, rows: TensorRows, seeds: list[int]) -> None:
        step = Adversarial([judge, maps], seed=seeds[2], average=0.98)
        batches = RowBatches(rows, self.batch_size, seeds[3])
        for record in train(Training(batches, step, Plan(self.max_iter, record_steps=None))):
            self.records.append(record.as_dict())
        self.maps = step.result.eval()

    def _player(self, name: str, module: nn.Module, objective: Any, n_rows: int) -> Player:
        steps = self.max_iter * math.ceil(n_rows / self.batch_size)
        return Player(name, module, objective, ADAM, rate_schedule("cosine", self.learning_rate, steps=steps))


class CycleTranslation(_Translation):
    """Maps between two domains of which only separate samples are known; row k of one need not belong to row k.

    Both are brought to mean 0 and deviation 1 in every column for the networks; what is given back is not. Rows that
    hold images of ``image_shape`` are brought to the range from -1 to 1 instead and seen by convolutions, of which
    ``hidden`` are the channels.

    >>> rng = np.random.default_rng(0)
    >>> A, B = rng.normal(size=(64, 2)), rng.normal(3, 1, size=(64, 2))
    >>> CycleTranslation((8,), max_iter=2).fit(A, B).transform(A).shape
    (64, 2)
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64,),
        *,
        image_shape: tuple[int, ...] | None = None,
        cycle_weight: float = 2.0,
        penalty_weight: float = 0.1,
        max_iter: int = 50,
        batch_size: int = 64,
        learning_rate: float = 5e-3,
        seed: int = 0,
    ):
        super().__init__(hidden, max_iter, batch_size, learning_rate, seed)
        self.cycle_weight, self.penalty_weight, self.image_shape = cycle_weight, penalty_weight, image_shape

    def fit(self, A: np.ndarray, B: np.ndarray) -> CycleTranslation:
        A, B = np.asarray(A, dtype=np.float32), np.asarray(B, dtype=np.float32)
        if len(A) != len(B):
            raise ValueError(f"CycleTranslation: A and B must have as many rows; got {len(A)} and {len(B)}.")
        self._shape = None if self.image_shape is None else check_image_shape(self, A.shape[1])
        if self._shape is not None and A.shape[1] != B.shape[1]:
            raise ValueError(
                f"CycleTranslation: images of A and B must have one shape; got {A.shape[1]} and {B.shape[1]} pixels."
            )
        scaling = Scaling.of if self._shape is None else pixel_scaling
        self._of_a, self._of_b = scaling(A), scaling(B)
        seeds = spawn_seeds(as_generator(self.seed), 4)
        maps = build(lambda: BothWays(A.shape[1], B.shape[1], self.hidden, self._shape), seeds[0])
        judges = build(lambda: BothJudges(A.shape[1], B.shape[1], self.hidden, self._shape), seeds[1])
        objective = partial(cycle_terms, cycle_weight=self.cycle_weight)
        self._play(
            self._player("discriminator", judges, partial(judge_terms, penalty_weight=self.penalty_weight), len(A)),
            self._player("generator", maps, objective, len(A)),
            TensorRows.of(self._seen(A, self._of_a), self._seen(B, self._of_b)),
            seeds,
        )
        return self

    def transform(self, A: np.ndarray) -> np.ndarray:
        """Rows of the first domain as rows of the second."""
        return self._mapped("forth", A, self._of_a, self._of_b)

    def inverse_transform(self, B: np.ndarray) -> np.ndarray:
        """Rows of the second domain as rows of the first."""
        return self._mapped("back", B, self._of_b, self._of_a)

    def _mapped(self, name: str, rows: np.ndarray, scaling: Scaling, back: Scaling) -> np.ndarray:
        seen = torch.from_numpy(self._seen(np.asarray(rows, dtype=np.float32), scaling))
        with torch.no_grad():
            return back.undo(self.maps.get_submodule(name)(seen).flatten(1).numpy())

    def _seen(self, rows: np.ndarray, scaling: Scaling) -> np.ndarray:
        scaled = scaling.apply(rows)
        return scaled if self._shape is None else scaled.reshape(len(rows), *self._shape)


class PairTranslation(_Translation):
    """A map learned from pairs: row k of B is the target of row k of A.

    ``l1_weight`` is how much the distance to the target counts beside the judge, which sees the input too if
    ``judge_sees_input``.
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64,),
        *,
        l1_weight: float = 10.0,
        judge_sees_input: bool = True,
        n_latents: int = 4,
        max_iter: int = 50,
        batch_size: int = 64,
        learning_rate: float = 2e-3,
        seed: int = 0,
    ):
        super().__init__(hidden, max_iter, batch_size, learning_rate, seed)
        self.l1_weight, self.judge_sees_input, self.n_latents = l1_weight, judge_sees_input, n_latents

    def fit(self, A: np.ndarray, B: np.ndarray) -> PairTranslation:
        A, B = np.asarray(A, dtype=np.float32), np.asarray(B, dtype=np.float32)
        if len(A) != len(B):
            raise ValueError(f"PairTranslation: A and B must be pairs; got {len(A)} and {len(B)} rows.")
        seeds = spawn_seeds(as_generator(self.seed), 4)
        maps = build(lambda: MLPGenerator(A.shape[1] + self.n_latents, self.hidden, B.shape[1]), seeds[0])
        n_seen = B.shape[1] + (A.shape[1] if self.judge_sees_input else 0)
        judge = build(lambda: MLPDiscriminator(n_seen, self.hidden), seeds[1])
        shared: dict[str, Any] = {"n_latents": self.n_latents, "sees": self.judge_sees_input}
        self._play(
            self._player("discriminator", judge, partial(pair_judge_terms, **shared), len(A)),
            self._player("generator", maps, partial(pair_terms, l1_weight=self.l1_weight, **shared), len(A)),
            TensorRows.of(A, B),
            seeds,
        )
        return self

    def transform(self, A: np.ndarray, seed: int = 0) -> np.ndarray:
        """A target for every row; the noise behind it follows from ``seed``."""
        A = np.asarray(A, dtype=np.float32)
        z = as_generator(seed).standard_normal((len(A), self.n_latents)).astype(np.float32)
        with torch.no_grad():
            return self.maps(torch.from_numpy(np.concatenate([A, z], axis=1))).numpy()
