"""Two players, two optimizers: a small GAN on a ring of Gaussians."""

import math

import numpy as np
import pytest
import torch
from killing import assert_a_kill_changes_nothing
from torch import nn
from torch.nn import functional

from margin.neural.nets.mlp import MLP
from margin.neural.training import (
    Adversarial,
    DrawnPoints,
    GlobalStream,
    Plan,
    Player,
    Training,
    train,
)  # fmt: skip
from margin.neural.weights import build, copy_weights
from margin.optimize.rules import Adam

MODES, LATENT = 8, 4
CENTERS = torch.tensor([[math.cos(2 * math.pi * k / MODES), math.sin(2 * math.pi * k / MODES)] for k in range(MODES)])
ADAM = Adam(0.5, 0.99)


def ring(n):
    def sample(generator):
        mode = torch.randint(MODES, (n,), generator=generator)
        return (CENTERS[mode] + 0.05 * torch.randn(n, 2, generator=generator),)

    return sample


def critic_loss(modules, batch, noise):
    """The critic tells real from made; its inputs are blurred a little so that neither can win at once."""
    (real,) = batch
    made = modules["generator"](torch.randn(len(real), LATENT, generator=noise)).detach()
    scores = [modules["critic"](x + 0.1 * torch.randn(x.shape, generator=noise)) for x in (real, made)]
    return {"loss": functional.softplus(-scores[0]).mean() + functional.softplus(scores[1]).mean()}


def generator_loss(modules, batch, noise):
    made = modules["generator"](torch.randn(len(batch[0]), LATENT, generator=noise))
    score = modules["critic"](made + 0.1 * torch.randn(made.shape, generator=noise))
    return {"loss": functional.softplus(-score).mean(), "spread": made.detach().std()}


def critic_net():
    return nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(32, 1))


def game(seed=0, epochs=2, width=32, batch=32, rate=2e-3, average=0.95):
    maker = build(lambda: MLP([LATENT, width, 2]), seed + 1)
    players = [
        Player("critic", build(critic_net, seed), critic_loss, ADAM, rate, updates=2, clip_norm=5.0),
        Player(
            "generator",
            maker,
            generator_loss,
            ADAM,
            lambda t: rate * 0.999**t,
        ),
    ]
    step = Adversarial(players, seed=seed + 2, average=average)
    batches = DrawnPoints(ring(batch), seed + 3, steps_per_epoch=30)
    return Training(batches, step, Plan(epochs, record_steps=7), stream=GlobalStream(seed + 4))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_kill_changes_nothing(tmp_path, seed):
    assert_a_kill_changes_nothing(lambda: game(seed), tmp_path, seed)


def test_records_name_the_players_and_their_rates():
    *_, last = train(game(epochs=1))
    assert {"critic_loss", "generator_loss", "generator_spread", "critic_learning_rate"} <= set(last.values)
    assert last["generator_learning_rate"] == pytest.approx(2e-3 * 0.999**29)
    assert last.iteration == last.total == 30


def test_it_is_a_hand_written_alternating_loop():
    """The same game with torch's own optimizers: same draws, same turns, same weights."""
    training = game(epochs=1, average=None)
    list(train(training))
    critic, generator = build(critic_net, 0), build(lambda: MLP([LATENT, 32, 2]), 1)
    modules = {"critic": critic, "generator": generator}
    points, noise = torch.Generator().manual_seed(3), torch.Generator().manual_seed(2)
    first = torch.optim.Adam(critic.parameters(), 2e-3, betas=(0.5, 0.99))
    second = torch.optim.Adam(generator.parameters(), 2e-3, betas=(0.5, 0.99))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        for step in range(30):
            batch = ring(32)(points)
            for _ in range(2):
                first.zero_grad()
                critic_loss(modules, batch, noise)["loss"].backward()
                nn.utils.clip_grad_norm_(critic.parameters(), 5.0)
                first.step()
            second.param_groups[0]["lr"] = 2e-3 * 0.999**step
            second.zero_grad()
            generator_loss(modules, batch, noise)["loss"].backward()
            second.step()
    for name, module in modules.items():
        expected = copy_weights(module)
        for key, array in copy_weights(training.step.modules[name]).items():
            np.testing.assert_allclose(array, expected[key], rtol=2e-5, atol=1e-6, err_msg=f"{name}.{key}")


def test_gradients_reach_only_the_player_whose_turn_it_is():
    training = game(epochs=1)
    step = training.step
    step.descents["critic"].schedule = step.descents["generator"].schedule = lambda _: 0.0
    training.advance()
    critic = step.modules["critic"]
    with torch.random.fork_rng(devices=[]):
        before = [parameter.grad.clone() for parameter in critic.parameters()]
        terms = generator_loss(
            step.modules, ring(32)(torch.Generator().manual_seed(0)), torch.Generator().manual_seed(0)
        )
        terms["loss"].backward(inputs=step.descents["generator"].parameters)
    assert all(torch.equal(parameter.grad, grad) for parameter, grad in zip(critic.parameters(), before))


def test_the_ring_is_learned():
    training = game(seed=5, epochs=40, width=64, batch=64, rate=5e-3, average=0.99)
    for _ in train(training):
        pass
    with torch.no_grad():
        made = training.step.result(torch.randn(2000, LATENT, generator=torch.Generator().manual_seed(9)))
    distance, mode = torch.cdist(made, CENTERS).min(dim=1)
    near = distance < 0.3
    assert float(near.float().mean()) > 0.4  # a uniform square around the ring has 0.3 of its points so near
    assert len(torch.unique(mode[near])) >= 7


def test_players_need_names_of_their_own():
    player = Player("one", MLP([1, 1]), generator_loss)
    with pytest.raises(ValueError, match="names of their own"):
        Adversarial([player, player])
