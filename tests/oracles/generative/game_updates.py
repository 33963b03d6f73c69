"""Rounds of a GAN's game moved by hand: losses, slopes, clipping, Adam and the average of weights written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from torch import Tensor

from margin.core.verdict import Verdict, equal, every, near
from margin.generative.gan.game import Game, GANNetwork, Rules, Turn, players_of
from margin.generative.gan.networks import MLPDiscriminator, MLPGenerator
from margin.neural.training import Batch
from margin.neural.weights import build
from margin.optimize.rules import Adam

PATH = "margin.generative.gan"
ROUNDS, ROWS, LATENTS = 4, 7, 2
BETAS, EPS = (0.3, 0.8), 1e-8
CLIP_NORM, PENALTY, BLUR = 0.1, 0.7, 0.4
RATE_FACTOR = 0.8  # by which both learning rates are multiplied
AVERAGE = 0.2  # the first averages keep less: 0.1, then 0.18


def critic_rate(t: int) -> float:
    return 0.05 / (1 + t)


def maker_rate(t: int) -> float:
    return 0.03 - 0.002 * t


def penalty_left(step: int) -> float:
    return 0.6**step


class Hand:
    """A player's weights in a list, and Adam's two memories of each."""

    def __init__(self, module: torch.nn.Module):
        self.weights = [p.detach().clone().requires_grad_() for p in module.parameters()]
        self.first, self.second = ([torch.zeros_like(w) for w in self.weights] for _ in range(2))
        self.moves = 0

    def __call__(self, x: Tensor) -> Tensor:
        W, b, V, c = self.weights
        h = x @ W.T + b
        return torch.maximum(h, 0.2 * h) @ V.T + c

    def move(self, loss: Tensor, rate: float, most: float = float("inf")) -> None:
        slopes = torch.autograd.grad(loss, self.weights)
        length = float(torch.cat([slope.flatten() for slope in slopes]).norm())
        self.moves += 1
        for k, slope in enumerate(slopes):
            g = slope * min(1.0, most / (length + 1e-6))  # torch guards the division so
            self.first[k] = BETAS[0] * self.first[k] + (1 - BETAS[0]) * g
            self.second[k] = BETAS[1] * self.second[k] + (1 - BETAS[1]) * g * g
            mean, square = self.first[k] / (1 - BETAS[0] ** self.moves), self.second[k] / (1 - BETAS[1] ** self.moves)
            self.weights[k] = (self.weights[k] - rate * mean / (square.sqrt() + EPS)).detach().requires_grad_()


class GameByHand:
    """The discriminator twice, then the generator, on the same rows; the noise is drawn in the same order."""

    def __init__(self, network: GANNetwork, loss: str, penalty: str, seed: int):
        self.critic, self.maker, self.loss, self.penalty = (
            Hand(network.discriminator),
            Hand(network.generator),
            loss,
            penalty,
        )
        self.average = [w.detach().clone() for w in self.maker.weights]
        self.noise = torch.Generator().manual_seed(seed)

    def draw(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.noise, dtype=torch.float64)

    def made(self) -> Tensor:
        return self.maker(self.draw(ROWS, LATENTS))

    def blurred(self, x: Tensor) -> Tensor:
        return x + BLUR * self.draw(*x.shape)

    def paid(self, x: Tensor) -> Tensor:
        """The mean squared slope of the logit."""
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.critic(x).sum(), x, create_graph=True)
        return (slope * slope).sum() / ROWS

    def critic_loss(self, X: Tensor, weight: float) -> Tensor:
        made = self.made().detach()
        real, made = self.blurred(X), self.blurred(made)
        of_real, of_made = self.critic(real)[:, 0], self.critic(made)[:, 0]
        if self.loss == "relativistic":
            wrong = -torch.log(1 / (1 + torch.exp(of_made - of_real)))
        else:
            wrong = -torch.log(1 / (1 + torch.exp(-of_real))) - torch.log(1 / (1 + torch.exp(of_made)))
        paid = self.paid(real) + (self.paid(made) if self.penalty == "both" else 0.0)
        return wrong.sum() / ROWS + weight * paid

    def maker_loss(self, X: Tensor) -> Tensor:
        of_made = self.critic(self.blurred(self.made()))[:, 0]
        of_real = self.critic(self.blurred(X))[:, 0] if self.loss == "relativistic" else 0.0
        return -torch.log(1 / (1 + torch.exp(of_real - of_made))).sum() / ROWS

    def round(self, X: Tensor, step: int) -> tuple[float, float]:
        """Both losses as they were before the last update of each."""
        for turn in range(2):
            wrong = self.critic_loss(X, PENALTY * penalty_left(step))
            self.critic.move(wrong, RATE_FACTOR * critic_rate(2 * step + turn))
        missed = self.maker_loss(X)
        self.maker.move(missed, RATE_FACTOR * maker_rate(step), CLIP_NORM)
        kept = min(AVERAGE, (1 + step) / (10 + step))
        self.average = [kept * a + (1 - kept) * w.detach() for a, w in zip(self.average, self.maker.weights)]
        return float(wrong.detach()), float(missed.detach())


def begun(seed: int, loss: str, penalty: str, average: float | None = AVERAGE) -> tuple[GANNetwork, Game]:
    def network() -> GANNetwork:
        return GANNetwork(MLPGenerator(LATENTS, [5], 3), MLPDiscriminator(3, [4]))

    both, turn = build(network, seed, torch.float64), Turn()
    adam = Adam(*BETAS, EPS)
    critic = {"rule": adam, "schedule": critic_rate, "updates": 2}
    maker = {"rule": adam, "schedule": maker_rate, "clip_norm": CLIP_NORM}
    players = players_of(both, Rules(LATENTS, loss, penalty, PENALTY, BLUR), turn, critic=critic, maker=maker)
    game = Game(both, players, turn=turn, penalty_left=penalty_left, seed=seed, average=average)
    game.rate_factor = RATE_FACTOR
    return both, game


@oracle(f"{PATH}.game.Game")
def rounds_by_hand(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    batches = [torch.from_numpy(rng.normal(size=(ROWS, 3)) * [1.0, 2.0, 0.5] + 0.3) for _ in range(ROUNDS)]
    parts: dict[str, Verdict] = {}
    for loss, penalty in (("non-saturating", "real"), ("relativistic", "both")):
        network, game = begun(seed, loss, penalty)
        hand, losses, expected = GameByHand(network, loss, penalty, seed), [], []
        for step, X in enumerate(batches):
            if step == ROUNDS - 1:  # another game goes on from what this one remembers
                state = game.state()
                network, game = begun(seed + 1, loss, penalty)
                game.load_state(state)
            means = game(Batch((X,)), step)
            losses.append([float(means[f"{name}_loss"].total.detach()) for name in ("discriminator", "generator")])
            expected.append(hand.round(X, step))
        result: Any = game.result
        key = loss.replace("-", "_")
        parts |= {
            f"{key}_losses": near(np.array(losses), np.array(expected), tolerance=1e-9),
            f"{key}_discriminator": near(_flat(network.discriminator), _row(hand.critic.weights), tolerance=1e-9),
            f"{key}_generator": near(_flat(network.generator), _row(hand.maker.weights), tolerance=1e-9),
            f"{key}_average": near(_flat(result.generator), _row(hand.average), tolerance=1e-9),
            f"{key}_judge_of_the_result": equal(result.discriminator is network.discriminator, True),
            f"{key}_rates": near(
                np.array(list(game.rates().values())) / RATE_FACTOR,
                np.array([critic_rate(2 * ROUNDS - 1), maker_rate(ROUNDS - 1)]),
                tolerance=1e-12,
            ),
        }
    network, game = begun(seed, "non-saturating", "real", average=None)
    return every(**parts, result_without_average=equal(game.result is network, True))


def _flat(module: torch.nn.Module) -> np.ndarray:
    return _row(list(module.parameters()))


def _row(weights: list[Tensor]) -> np.ndarray:
    return torch.cat([w.detach().flatten() for w in weights]).numpy()
