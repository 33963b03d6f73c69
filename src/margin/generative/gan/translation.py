r"""Translation between two domains by adversarial networks: from pairs, or from two unpaired sets by a cycle.

.. math:: L_{pairs} = -\log D(a, G(a)) + \lambda\,|b - G(a)|_1, \qquad
          L_{cycle} = -\log D_B(G(a)) - \log D_A(F(b)) + \lambda\,\bigl(|F(G(a)) - a|_1 + |G(F(b)) - b|_1\bigr)

Both are games of the shared training loop. The judges of a cycle are flattened at the real rows (R1 penalty), without
which the game goes round in circles, and learning rates go down to 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import NotFittedError
from torch import Tensor, nn

from margin.core.arguments import finite
from margin.core.randomness import as_generator, spawn_seeds
from margin.generative.gan.losses import discriminator_loss, generator_loss, real_gradient_penalty
from margin.generative.gan.networks import MLPDiscriminator, MLPGenerator
from margin.neural.losses.regression import l1_loss
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

__all__ = ["PairTranslation", "cycle_terms", "judge_terms", "pair_terms"]

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
    z = torch.randn((len(a), n_latents), generator=noise, dtype=a.dtype, device=a.device)
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
        z = torch.randn((len(a), n_latents), generator=noise, dtype=a.dtype, device=a.device)
        made = modules["generator"](torch.cat([a, z], dim=1))
    judge = modules["discriminator"]
    real, fake = (torch.cat([a, x], dim=1) if sees else x for x in (b, made))
    return {"loss": discriminator_loss(judge(real), judge(fake)).mean()}


def _rows(owner: str, name: str, rows: Any) -> np.ndarray:
    """A table of finite numbers with at least one row."""
    table = finite(owner, name, rows)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{owner}: {name} must be a table with rows and columns; got shape {table.shape}.")
    return table.astype(np.float32)


class PairTranslation:
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
        self.hidden, self.max_iter, self.batch_size = list(hidden), max_iter, batch_size
        self.learning_rate, self.seed = learning_rate, seed
        self.l1_weight, self.judge_sees_input, self.n_latents = l1_weight, judge_sees_input, n_latents

    def fit(self, A: np.ndarray, B: np.ndarray) -> PairTranslation:
        A, B = (_rows("PairTranslation", name, rows) for name, rows in (("A", A), ("B", B)))
        if len(A) != len(B):
            raise ValueError(f"PairTranslation: A and B must be pairs; got {len(A)} and {len(B)} rows.")
        seeds = spawn_seeds(as_generator(self.seed), 4)
        maps = build(lambda: MLPGenerator(A.shape[1] + self.n_latents, self.hidden, B.shape[1]), seeds[0])
        n_seen = B.shape[1] + (A.shape[1] if self.judge_sees_input else 0)
        judge = build(lambda: MLPDiscriminator(n_seen, self.hidden), seeds[1])
        shared: dict[str, Any] = {"n_latents": self.n_latents, "sees": self.judge_sees_input}
        batches = RowBatches(TensorRows.of(A, B), self.batch_size, seeds[3])
        rate = rate_schedule("cosine", self.learning_rate, steps=self.max_iter * batches.steps_per_epoch)
        players = [
            Player("discriminator", judge, partial(pair_judge_terms, **shared), ADAM, rate),
            Player("generator", maps, partial(pair_terms, l1_weight=self.l1_weight, **shared), ADAM, rate),
        ]
        step = Adversarial(players, seed=seeds[2], average=0.98)
        records = train(Training(batches, step, Plan(self.max_iter, record_steps=None)))
        self.records = [record.as_dict() for record in records]
        self.maps = step.result.eval()
        return self

    def transform(self, A: np.ndarray, seed: int = 0) -> np.ndarray:
        """A target for every row; the noise behind it follows from ``seed``."""
        if not hasattr(self, "maps"):
            raise NotFittedError("PairTranslation: this instance is not fitted yet; call fit with pairs first.")
        A = _rows("PairTranslation", "A", A)
        z = as_generator(seed).standard_normal((len(A), self.n_latents)).astype(np.float32)
        with torch.no_grad():
            return self.maps(torch.from_numpy(np.concatenate([A, z], axis=1))).numpy(force=True)
