"""A GAN's networks applied by hand, its rates and penalties step by step, its losses by probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from torch import Tensor
from torch.nn import functional

from margin.core.verdict import Verdict, equal, every, near
from margin.generative.gan.game import Rules, Turn, discriminator_terms, generator_terms
from margin.generative.gan.model import GAN
from margin.generative.gan.style import ModulatedConv, StyleGenerator, modulated_kernels
from margin.neural.generators import Seeds
from margin.neural.training import TensorRows
from margin.neural.weights import build

PATH = "margin.generative.gan"


def layers(module: Any, x: Tensor, label: Tensor | None = None) -> Tensor:
    """Leaky rectifiers between linear layers; the class's numbers beside the row."""
    h = x if module.classes is None else torch.cat([x, module.classes.weight[label]], dim=1)
    *hidden, last = module.layers
    for layer in hidden:
        h = h @ layer.weight.T + layer.bias
        h = torch.where(h > 0, h, 0.2 * h)
    return h @ last.weight.T + last.bias


@oracle(f"{PATH}.model.GAN", f"{PATH}.model.GAN.discriminate", f"{PATH}.game.GANNetwork")
def game_by_hand(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)) * [1.0, 20.0, 0.1] + [5.0, -30.0, 0.0], np.array(["b", "a"])[np.arange(40) % 2]
    common: dict[str, Any] = {"max_iter": 3, "batch_size": 16, "random_state": seed, "learning_rate_init": 0.004}
    common |= {"discriminator_rate": 3.0, "discriminator_updates": 2, "penalty_end": 0.2}
    alone = GAN(2, (6, 5), **common).fit(X)
    panel = GAN(2, (6,), n_discriminators=2, **common).fit(X)
    critic = GAN(2, (6,), loss="wasserstein", **common).fit(X)
    conditional = GAN(2, (6,), conditional=True, **common).fit(X, y)
    center, scale = X.mean(axis=0), X.std(axis=0)
    rows, z = torch.from_numpy((X[:7] - center) / scale), rng.normal(size=(7, 2))
    numbers = torch.from_numpy(np.searchsorted(["a", "b"], y[:7]))
    with torch.inference_mode():
        judged = torch.sigmoid(layers(_network(alone).discriminator, rows))[:, 0]
        parts: Any = _network(panel).discriminator
        votes = [torch.sigmoid(layers(part, rows))[:, 0] for part in parts.members]
        plain = layers(_network(critic).discriminator, rows)[:, 0]
        of_class = torch.sigmoid(layers(_network(conditional).discriminator, rows, numbers))[:, 0]
        made = layers(_network(alone).generator, torch.from_numpy(z)).numpy() * scale + center
        made_conditional = (
            layers(_network(conditional).generator, torch.from_numpy(z), numbers).numpy() * scale + center
        )
        means = torch.stack(votes).mean(dim=0)
    again = np.random.default_rng(seed).standard_normal((5, 2))
    moves = {f"{m.loss}_{name}": part for m in (alone, critic) for name, part in _moves(m, X).items()}
    return every(
        **moves,
        judged=near(alone.discriminate(X[:7]), judged.numpy(), tolerance=1e-5),
        panel=near(panel.discriminate(X[:7]), means.numpy(), tolerance=1e-5),
        critic=near(critic.discriminate(X[:7]), plain.numpy(), tolerance=1e-5),
        told=near(conditional.discriminate(X[:7], y[:7]), of_class.numpy(), tolerance=1e-5),
        made=near((alone.generate(z) - made) / scale, np.zeros((7, 3)), tolerance=1e-4),
        made_told=near((conditional.generate(z, y=y[:7]) - made_conditional) / scale, np.zeros((7, 3)), tolerance=1e-4),
        drawn=near((alone.sample(5, seed) - alone.generate(again)) / scale, np.zeros((5, 3)), tolerance=1e-4),
        mirrored=equal([a.out_features for a in _network(alone).discriminator.layers], [5, 6, 1]),
    )


def _network(model: GAN) -> Any:
    return model._ready_module()


def _moves(model: GAN, X: np.ndarray) -> dict[str, Verdict]:
    """Rates along half a cosine over all updates, and a penalty whose weight falls geometrically."""
    module, steps = _network(model), 3 * 3  # 40 rows in batches of 16, three times
    rows = TensorRows.of(X)
    game: Any = model._step(module, None, rows, Seeds.of(0))[0]
    critic, maker = (player.schedule for player in game.players)
    cosine = lambda t, updates: (1 + np.cos(np.pi * t / (updates * steps))) / 2  # noqa: E731
    rules = game.players[0].objective.keywords["rules"]
    falling: Any = model.set_params(learning_rate="invscaling", power_t=0.7)._step(module, None, rows, Seeds.of(0))[0]
    model.set_params(learning_rate="cosine")
    epochs = [(t, t // 6, t // 3) for t in (2, 5, 6, 13)]  # finished after t updates: six of the critic's in each
    return {
        "falling_critic": near([falling.players[0].schedule(t) for t, _, _ in epochs],
                               [0.012 / (1 + 40 * done) ** 0.7 for _, done, _ in epochs], tolerance=1e-9),
        "falling_maker": near([falling.players[1].schedule(t) for t, _, _ in epochs],
                              [0.004 / (1 + 40 * done) ** 0.7 for _, _, done in epochs], tolerance=1e-9),
        "critic_rates": near([critic(t) for t in (0, 5, 17)], [0.012 * cosine(t, 2) for t in (0, 5, 17)],
                             tolerance=1e-9),
        "maker_rates": near([maker(t) for t in (0, 5, 8)], [0.004 * cosine(t, 1) for t in (0, 5, 8)], tolerance=1e-9),
        "penalty_left": near([game.penalty_left(t) for t in (0, 4, 9)], [0.2 ** (t / steps) for t in (0, 4, 9)],
                             tolerance=1e-9),
        "penalty": equal(
            (rules.penalty, rules.penalty_weight),
            {"wasserstein": ("between", 10.0), "relativistic": ("both", 0.1)}.get(model.loss, ("real", 0.1)),
        ),
    }  # fmt: skip


@oracle(f"{PATH}.game.discriminator_terms", f"{PATH}.game.generator_terms", f"{PATH}.losses.gan_value",
        f"{PATH}.losses.generator_loss", f"{PATH}.losses.discriminator_loss", f"{PATH}.losses.implied_js")  # fmt: skip
def terms_by_probabilities(seed: int) -> Verdict:
    """A discriminator x . a + (x . x) / 4, whose slope is known: a + x / 2; the noise is drawn once more."""
    rng = np.random.default_rng(seed)
    X, a, W = rng.normal(size=(6, 3)), rng.uniform(-1, 1, size=3), rng.uniform(-0.7, 0.7, size=(2, 3))
    modules: Any = {
        "discriminator": lambda x: x @ torch.from_numpy(a) + (x * x).sum(dim=1) / 4,
        "generator": lambda z: z @ torch.from_numpy(W) + 0.3,
    }
    logit = lambda x: x @ a + (x * x).sum(axis=1) / 4  # noqa: E731
    parts = {}
    for loss in ("non-saturating", "minimax", "wasserstein", "relativistic"):
        for penalty in ("none", "real", "both", "between"):
            noise = torch.Generator().manual_seed(seed)
            made = torch.randn((6, 2), generator=noise, dtype=torch.float64).numpy() @ W + 0.3
            blurs = [0.7 * torch.randn((6, 3), generator=noise, dtype=torch.float64).numpy() for _ in range(2)]
            real, made = X + blurs[0], made + blurs[1]
            mix = torch.rand(6, generator=noise, dtype=torch.float64).numpy()[:, None]
            slopes = lambda x: ((a + x / 2) ** 2).sum(axis=1)  # noqa: E731
            between = np.mean((np.sqrt(slopes(mix * real + (1 - mix) * made)) - 1) ** 2)
            paid = {"none": 0.0, "real": slopes(real).mean(), "both": slopes(real).mean() + slopes(made).mean(),
                    "between": between}[penalty]  # fmt: skip
            f, g = logit(real), logit(made)
            of_real, of_made = 1 / (1 + np.exp(-f)), 1 / (1 + np.exp(-g))
            value = float(np.mean(np.log(of_real)) + np.mean(np.log(1 - of_made)))
            expected = {
                "wasserstein": g.mean() - f.mean(),
                "relativistic": -np.mean(np.log(1 / (1 + np.exp(g - f)))),
            }.get(loss, -value)
            rules = Rules(2, loss, penalty, 1.7, 0.7)
            start = torch.Generator().manual_seed(seed)
            losses = discriminator_terms(modules, (torch.from_numpy(X),), start, rules=rules, turn=Turn(0.4))
            key = f"{loss}_{penalty}".replace("-", "_")
            parts[key] = near(float(losses["loss"].detach()), expected + 1.7 * 0.4 * paid, tolerance=1e-5)
            if loss in ("wasserstein", "relativistic"):
                parts[f"{key}_distance"] = near(float(losses["distance"]), f.mean() - g.mean(), tolerance=1e-10)
                continue
            terms = [float(losses[name]) for name in ("real", "fake", "value", "js")]
            js = value / 2 + np.log(2)
            parts[f"{key}_told"] = near(terms, [of_real.mean(), of_made.mean(), value, js], tolerance=1e-8)
        parts[f"generator_{loss}".replace("-", "_")] = _generator_part(modules, X, logit, W, loss, seed)
    return every(**parts)


def _generator_part(modules: Any, X: np.ndarray, logit: Any, W: np.ndarray, loss: str, seed: int) -> Verdict:
    noise = torch.Generator().manual_seed(seed)
    made = torch.randn((6, 2), generator=noise, dtype=torch.float64).numpy() @ W + 0.3
    made = made + 0.7 * torch.randn((6, 3), generator=noise, dtype=torch.float64).numpy()
    real = X + 0.7 * torch.randn((6, 3), generator=noise, dtype=torch.float64).numpy()
    f, g = logit(real), logit(made)
    d = 1 / (1 + np.exp(-g))
    expected = {
        "non-saturating": -np.log(d).mean(),
        "minimax": np.log(1 - d).mean(),
        "wasserstein": -g.mean(),
        "relativistic": -np.log(1 / (1 + np.exp(f - g))).mean(),
    }[loss]
    start = torch.Generator().manual_seed(seed)
    losses = generator_terms(modules, (torch.from_numpy(X),), start, rules=Rules(2, loss, "none", 1.0, 0.7))
    return near(float(losses["loss"]), expected, tolerance=1e-9)


@oracle(f"{PATH}.style.ModulatedConv", f"{PATH}.style.StyleGenerator", f"{PATH}.style.modulated_kernels")
def styles_row_by_row(seed: int) -> Verdict:
    """A kernel of its own for every row: scaled by input channel, then brought to length 1 by output channel."""
    conv = build(lambda: ModulatedConv(3, 4, 3, 5), seed, torch.float64).requires_grad_(False)
    wide = build(lambda: ModulatedConv(40, 30, 3, 50), seed, torch.float64).requires_grad_(False)
    conv.bias.copy_(torch.from_numpy(np.random.default_rng(seed).normal(size=4)))
    rng = np.random.default_rng(seed)
    x, w = torch.from_numpy(rng.normal(size=(2, 3, 6, 6))), torch.from_numpy(rng.normal(size=(2, 5)))
    by_row, kernels = [], modulated_kernels(conv.kernels, conv.style(w))
    for i in range(2):
        scaled = conv.kernels * (conv.style.weight @ w[i] + conv.style.bias)[:, None, None]
        scaled = scaled / scaled.square().sum(dim=(1, 2, 3), keepdim=True).sqrt()
        by_row.append((scaled, functional.conv2d(x[i : i + 1], scaled, padding=1)[0] + conv.bias[:, None, None]))
    net: Any = build(lambda: StyleGenerator(3, (6, 4), (2, 10, 7)), seed, torch.float64).requires_grad_(False)
    z = torch.from_numpy(rng.normal(size=(3, 3)))
    h = z / z.square().mean(dim=1, keepdim=True).sqrt()
    for layer in net.mapping:
        h = functional.leaky_relu(h @ layer.weight.T + layer.bias, 0.2)
    image = net.constant.expand(3, -1, -1, -1)
    for number, layer in enumerate(net.layers):
        image = image.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3) if number else image
        image = functional.leaky_relu(layer(image, h), 0.2)
    image = torch.tanh(net.to_image(image, h))[:, :, :10, :7]
    return every(
        kernels=near(kernels.numpy(), torch.stack([k for k, _ in by_row]).numpy(), tolerance=1e-6),
        images=near(conv(x, w).numpy(), torch.stack([y for _, y in by_row]).numpy(), tolerance=1e-6),
        spread_of_kernels=near(float(wide.kernels.std()) * 360**0.5, 1.0, tolerance=0.05),
        spread_of_styles=near(float(wide.style.weight.std()) * 50**0.5, 1.0, tolerance=0.1),
        styles_around_one=near(wide.style.bias.numpy(), np.ones(40), tolerance=0.0),
        constant=equal(tuple(net.constant.shape), (6, 3, 2)),
        styles=near(net.styles(z).numpy(), h.numpy(), tolerance=1e-6),
        made=near(net(z).numpy(), image.numpy(), tolerance=1e-6),
    )
