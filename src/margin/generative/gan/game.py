"""The two sides of a GAN as players of the training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from margin.generative.gan.losses import (
    critic_loss,
    discriminator_loss,
    gan_value,
    generator_loss,
    gradient_penalty,
    implied_js,
    relativistic_loss,
    squared_slope,
)
from margin.neural.training import Adversarial, Batch, Mean, Player
from margin.optimize.schedules import Schedule, as_schedule

__all__ = ["PENALTIES", "GANNetwork", "Game", "Rules", "Turn", "discriminator_terms", "generator_terms", "players_of"]

PENALTIES = ("none", "real", "both", "between")
DISCRIMINATOR_LOSSES = {"wasserstein": critic_loss, "relativistic": relativistic_loss}

Modules = Mapping[str, nn.Module]


class GANNetwork(nn.Module):
    """Both networks in one, so that files and states hold the game whole."""

    def __init__(self, generator: nn.Module, discriminator: nn.Module):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator


@dataclass(frozen=True)
class Rules:
    """What the players minimize: kind of loss, penalty on the discriminator's gradient, blur of what it sees."""

    n_latents: int
    loss: str = "non-saturating"
    penalty: str = "none"
    penalty_weight: float = 10.0
    blur: float = 0.0


@dataclass
class Turn:
    """What changes from update to update: the fraction of the penalty's weight that is left."""

    penalty_left: float = 1.0


def _make(modules: Modules, rules: Rules, batch: tuple[Tensor, ...], noise: torch.Generator) -> Tensor:
    real = batch[0]
    z = torch.randn((len(real), rules.n_latents), generator=noise, dtype=real.dtype, device=real.device)
    return modules["generator"](z, *batch[1:])


def _blur(x: Tensor, rules: Rules, noise: torch.Generator) -> Tensor:
    return x + rules.blur * torch.randn(x.shape, generator=noise, dtype=x.dtype, device=x.device) if rules.blur else x


def discriminator_terms(
    modules: Modules, batch: tuple[Tensor, ...], noise: torch.Generator, *, rules: Rules, turn: Turn | None = None
) -> dict[str, Tensor]:
    """Loss of the discriminator on real rows and as many made ones; gradients do not reach the generator."""
    discriminate, label = modules["discriminator"], batch[1:]
    with torch.no_grad():
        made = _make(modules, rules, batch, noise)
    real, made = (_blur(x, rules, noise).detach() for x in (batch[0], made))
    # Where the penalty is on the slope at these rows, it comes from the outputs that the loss needs anyway.
    flattened = [x.requires_grad_() for x in {"real": (real,), "both": (real, made)}.get(rules.penalty, ())]
    of_real, of_made = discriminate(real, *label), discriminate(made, *label)
    loss = DISCRIMINATOR_LOSSES.get(rules.loss, discriminator_loss)(of_real, of_made).mean()
    if rules.penalty != "none":
        penalties = [squared_slope(outputs, x).mean() for outputs, x in zip((of_real, of_made), flattened)]
        if rules.penalty == "between":
            mix = torch.rand(len(real), generator=noise, dtype=real.dtype, device=real.device)
            penalties = [gradient_penalty(lambda x: discriminate(x, *label), real, made, mix).mean()]
        weight = rules.penalty_weight * (1.0 if turn is None else turn.penalty_left)
        loss = loss + weight * torch.stack(penalties).sum()
    if rules.loss in DISCRIMINATOR_LOSSES:  # their outputs are no logits of a probability
        return {"loss": loss, "distance": (of_real.mean() - of_made.mean()).detach()}
    value = gan_value(of_real.detach(), of_made.detach())
    return {
        "loss": loss,
        "real": torch.sigmoid(of_real.detach()).mean(),
        "fake": torch.sigmoid(of_made.detach()).mean(),
        "value": value,
        "js": cast(Tensor, implied_js(value)),
    }


def generator_terms(
    modules: Modules, batch: tuple[Tensor, ...], noise: torch.Generator, *, rules: Rules
) -> dict[str, Tensor]:
    """Loss of the generator: what the discriminators make of new rows, on average over them."""
    made = _blur(_make(modules, rules, batch, noise), rules, noise)
    of_made = modules["discriminator"](made, *batch[1:])
    if rules.loss != "relativistic":
        return {"loss": generator_loss(of_made, rules.loss).mean()}
    of_real = modules["discriminator"](_blur(batch[0], rules, noise), *batch[1:])
    return {"loss": relativistic_loss(of_made, of_real).mean()}


class Game(Adversarial):
    """Discriminator first, then generator; the result is both, the generator as its average if there is one.

    ``penalty_left`` says what fraction of the penalty's weight counts in every update; the players see it in ``turn``.
    """

    def __init__(
        self,
        network: GANNetwork,
        players: Sequence[Player],
        *,
        turn: Turn | None = None,
        penalty_left: Schedule | float = 1.0,
        **options: Any,
    ):
        super().__init__(players, **options)
        self.network, self.turn, self.penalty_left = network, turn or Turn(), as_schedule(penalty_left)
        if self.average is not None:
            self.network = copy(network)
            self.network._modules = dict(network._modules) | {"generator": self.average.module}

    @property
    def result(self) -> nn.Module:
        return self.network

    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        self.turn.penalty_left = self.penalty_left(step)
        return super().__call__(batch, step)


def players_of(
    network: GANNetwork, rules: Rules, turn: Turn, *, critic: Mapping[str, Any], maker: Mapping[str, Any]
) -> list[Player]:
    """The two players of a game with these rules; ``critic`` and ``maker`` say how each of them moves."""
    return [
        Player("discriminator", network.discriminator, partial(discriminator_terms, rules=rules, turn=turn), **critic),
        Player("generator", network.generator, partial(generator_terms, rules=rules), **maker),
    ]
