"""Two or more players in turn, each with an objective and an optimizer of its own: generator and critic, for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from margin.neural.generators import generator_array, load_generator
from margin.neural.layers.dropout import use_generator
from margin.neural.training.averages import WeightAverage
from margin.neural.training.batches import Batch
from margin.neural.training.compute import Compute
from margin.neural.training.descent import GradientDescent
from margin.neural.training.meter import Mean
from margin.neural.training.steps import Step, Terms
from margin.optimize.rules import Adam, Rule
from margin.optimize.schedules import Schedule

__all__ = ["Adversarial", "Player"]

# The terms of a player: of all networks by name, the batch and the generator of noise.
PlayerObjective = Callable[[Mapping[str, nn.Module], tuple[Tensor, ...], torch.Generator], Terms]


@dataclass(frozen=True)
class Player:
    """A network, what it wants, and how it moves; ``updates`` of them per step on the same batch."""

    name: str
    module: nn.Module
    objective: PlayerObjective
    rule: Rule = field(default_factory=Adam)
    schedule: Schedule | float = 1e-3
    updates: int = 1
    clip_norm: float | None = None


class Adversarial(Step):
    """Every player in turn lowers its own loss; gradients reach the weights of the player whose turn it is.

    Measured terms are named ``<player>_<term>``. The last player's network is the result, as an exponential
    ``average`` of its weights if one is requested.
    """

    def __init__(
        self,
        players: Sequence[Player],
        *,
        seed: int = 0,
        average: float | None = None,
        compute: Compute | None = None,
    ):
        self.players, self.compute = list(players), compute or Compute()
        if self.compute.parts is not None:
            raise ValueError("Adversarial: a batch cannot be cut into parts; its players see all of it.")
        self.modules = {player.name: player.module for player in players}
        if len(self.modules) != len(self.players):
            raise ValueError("Adversarial: players must have names of their own.")
        self.descents = {
            player.name: GradientDescent(player.module, player.rule, player.schedule, clip_norm=player.clip_norm)
            for player in players
        }
        self.noise = self.compute.generator(seed)
        for player in players:
            use_generator(player.module, self.noise)
        self.average = None if average is None else WeightAverage(self.players[-1].module, average)

    @property
    def result(self) -> nn.Module:
        return self.players[-1].module if self.average is None else self.average.module

    def __call__(self, batch: Batch, step: int) -> dict[str, Mean]:
        means: dict[str, Mean] = {}
        for player in self.players:
            descend = self.descents[player.name]
            for turn in range(player.updates):
                own_means = descend(
                    partial(self._terms, player), batch, step * player.updates + turn, factor=self.rate_factor
                )
            means |= {f"{player.name}_{name}": mean for name, mean in own_means.items()}
        if self.average is not None:
            self.average.update()
        return means

    def _terms(self, player: Player, batch: Batch) -> Terms:
        with self.compute.products():
            return player.objective(self.modules, batch.tensors, self.noise)

    def rates(self) -> dict[str, float]:
        return {f"{name}_learning_rate": descent.rate for name, descent in self.descents.items()}

    def state(self) -> dict[str, Any]:
        average = None if self.average is None else self.average.state()
        players = {name: descent.state() for name, descent in self.descents.items()}
        return {"players": players, "noise": generator_array(self.noise), "average": average}

    def load_state(self, state: Mapping[str, Any]) -> None:
        for name, descent in self.descents.items():
            descent.load_state(state["players"][name])
        load_generator(self.noise, state["noise"])
        if self.average is not None:
            self.average.load_state(state["average"])
