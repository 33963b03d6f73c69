"""What moves a network, by hand: gradients of a mean with weights, penalty, clipping, rates, Adam, batches, records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.oracles import oracle
from torch import nn

from margin.core.verdict import Verdict, equal, every, near
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.training.batches import Batch
from margin.neural.training.descent import GradientDescent, clip_gradients
from margin.neural.training.optimizers import make_optimizers
from margin.neural.training.schedules import rate_schedule
from margin.optimize.rules import AdaGrad, Adam, AdamW, Descent, Momentum, Rule

PATH = "margin.neural.training"
BETAS, EPSILON, DECAY, PENALTY, CLIP = (0.6, 0.9), 0.02, 0.3, 0.7, 0.4


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 5])
    X, Y, W, b = (rng.normal(size=shape) for shape in [(7, 3), (7, 2), (2, 3), (2,)])
    return X, Y, W, b, rng.uniform(0.5, 3, 7)


def squares(module: Any, batch: Any, _noise: Any = None) -> Any:
    return {"loss": (module(batch[0]) - batch[1]).square().sum(dim=1)}


def moved(rule: Rule, seed: int, **options: Any) -> list[np.ndarray]:
    """Matrix and bias of a linear map after four updates from all rows with their weights, and the last mean loss."""
    X, Y, W, b, weight = drawn(seed)
    module = nn.Linear(3, 2, dtype=torch.float64)
    module.load_state_dict({"weight": torch.tensor(W), "bias": torch.tensor(b)})
    descent = GradientDescent(module, rule, rate, **options)
    batch = Batch((torch.tensor(X), torch.tensor(Y)), torch.tensor(weight), torch.tensor(weight).sum())
    for t in range(4):
        means = descent(lambda part: squares(module, part.tensors), batch, t, factor=0.8)
    loss = float(means["loss"].total.detach() / means["loss"].mass)
    return [module.weight.detach().numpy(), module.bias.detach().numpy(), np.array(loss)]


def rate(t: int) -> float:
    return 0.05 / (1 + t)


Direction = Callable[[int, int, np.ndarray, np.ndarray], np.ndarray]


def by_hand(direction: Direction, seed: int, *, penalty: float = 0.0, clip: float | None = None) -> list[np.ndarray]:
    """The same with gradients written out; ``direction`` is of parameter, update, gradient and weights."""
    X, Y, W, b, weight = drawn(seed)
    for t in range(4):
        error = X @ W.T + b - Y
        loss = np.average((error**2).sum(axis=1), weights=weight)
        gap = 2 * weight[:, None] * error / weight.sum()
        slopes = [gap.T @ X, gap.sum(axis=0)]
        if clip is not None:
            slopes = [slope * min(1.0, clip / np.sqrt(sum((s**2).sum() for s in slopes))) for slope in slopes]
        slopes[0] = slopes[0] + penalty / weight.sum() * W
        moves = [direction(k, t, slope, x) for k, (slope, x) in enumerate(zip(slopes, (W, b)))]
        W, b = (x - 0.8 * rate(t) * move for x, move in zip((W, b), moves))
    return [W, b, loss]


def adam_by_hand(decay: float) -> Direction:
    memory: dict[int, list[np.ndarray]] = {}

    def direction(k: int, t: int, slope: np.ndarray, x: np.ndarray) -> np.ndarray:
        m, v = memory.get(k, [0 * slope, 0 * slope])
        m, v = BETAS[0] * m + (1 - BETAS[0]) * slope, BETAS[1] * v + (1 - BETAS[1]) * slope**2
        memory[k] = [m, v]
        mean, square = m / (1 - BETAS[0] ** (t + 1)), v / (1 - BETAS[1] ** (t + 1))
        return mean / (np.sqrt(square) + EPSILON) + (decay * x if k == 0 else 0)

    return direction


def adagrad_by_hand() -> Direction:
    total: dict[int, np.ndarray] = {}

    def direction(k: int, t: int, slope: np.ndarray, x: np.ndarray) -> np.ndarray:
        total[k] = total.get(k, 0) + slope**2
        return slope / (np.sqrt(total[k]) + EPSILON)

    return direction


def joined(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([array.ravel() for array in arrays])


@oracle(f"{PATH}.descent.GradientDescent", f"{PATH}.optimizers.make_optimizers")
def descents(seed: int) -> Verdict:
    plain: Direction = lambda k, t, slope, x: slope  # noqa: E731
    penalized = by_hand(plain, seed, penalty=PENALTY)
    every_other = [type(o).__name__ for o in make_optimizers(nn.Linear(2, 2), Momentum(), 0.1)]
    return every(
        descent=near(joined(moved(Descent(), seed)), joined(by_hand(plain, seed)), tolerance=1e-12),
        in_parts=near(joined(moved(Descent(), seed, accumulate=3)), joined(by_hand(plain, seed)), tolerance=1e-12),
        penalty=near(joined(moved(Descent(), seed, penalty=PENALTY)), joined(penalized), tolerance=1e-12),
        clipped=near(
            joined(moved(Descent(), seed, clip_norm=CLIP)), joined(by_hand(plain, seed, clip=CLIP)), tolerance=1e-6
        ),
        run_as_written=equal(every_other, ["RuleOptimizer"]),
    )


@oracle(f"{PATH}.light_adam.LightAdam", f"{PATH}.light_adam.LightAdamW")
def light_adam(seed: int) -> Verdict:
    adam, adamw = Adam(*BETAS, EPSILON), AdamW(*BETAS, EPSILON, weight_decay=DECAY)
    return every(
        adam=near(joined(moved(adam, seed)), joined(by_hand(adam_by_hand(0.0), seed)), tolerance=1e-12),
        penalty=near(
            joined(moved(adam, seed, penalty=PENALTY)),
            joined(by_hand(adam_by_hand(0.0), seed, penalty=PENALTY)),
            tolerance=1e-12,
        ),
        adamw=near(joined(moved(adamw, seed)), joined(by_hand(adam_by_hand(DECAY), seed)), tolerance=1e-12),
    )


@oracle(f"{PATH}.rule_optimizer.RuleOptimizer")
def rules_as_written(seed: int) -> Verdict:
    rule = AdaGrad(EPSILON)
    return every(
        adagrad=near(joined(moved(rule, seed)), joined(by_hand(adagrad_by_hand(), seed)), tolerance=1e-12),
        penalty=near(
            joined(moved(rule, seed, penalty=PENALTY)),
            joined(by_hand(adagrad_by_hand(), seed, penalty=PENALTY)),
            tolerance=1e-12,
        ),
    )


@oracle(f"{PATH}.descent.clip_gradients")
def clipping(seed: int) -> Verdict:
    rng = np.random.default_rng(seed)
    given = [rng.normal(size=shape) for shape in [(3, 2), (4,), ()]]
    norm = np.sqrt(sum((g**2).sum() for g in given))
    ends = []
    for limit in (0.6 * norm, 1.4 * norm):
        parameters = [nn.Parameter(torch.tensor(g)) for g in given]
        for parameter, g in zip(parameters, given):
            parameter.grad = torch.tensor(g)
        clip_gradients(parameters, limit)
        ends.append(joined([p.grad.numpy() for p in parameters if p.grad is not None]))
    return every(
        longer=near(ends[0], 0.6 * joined(given), tolerance=1e-5), shorter=near(ends[1], joined(given), tolerance=1e-15)
    )


@oracle(f"{PATH}.rows.RowBatches", f"{PATH}.loop.train")
def passes(seed: int) -> Verdict:
    """Descent by batches of two on seven numbers, one update after the other written out."""
    values = np.random.default_rng([seed, 8]).normal(size=7)
    order = torch.Generator().manual_seed(seed)
    module = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    nn.init.zeros_(module.weight)

    def distance(net: Any, batch: Any, _noise: Any) -> Any:
        return {"loss": (net.weight[0, 0] - batch[0]).square()}

    step = Minimize(module, distance, Descent(), schedule=rate)
    source = RowBatches(TensorRows.of(values), 2, seed)
    records = list(train(Training(source, step, Plan(2, record_steps=3), threads=1)))
    w, losses, updates = 0.0, [], 0
    for _ in range(2):
        rows, seen = torch.randperm(7, generator=order).numpy(), []
        for first in (0, 2, 4, 6):
            batch = values[rows[first : first + 2]]
            seen += [(w - v) ** 2 for v in batch]
            w, updates = w - rate(updates) * 2 * np.mean(w - batch), updates + 1
            if first in (4, 6):
                losses.append(float(np.mean(seen)))
    return every(
        end=near(module.weight.item(), w, tolerance=1e-12),
        losses=near([record["train_loss"] for record in records], losses, tolerance=1e-12),
        steps=equal([record.iteration for record in records], [3, 4, 7, 8]),
        epochs=equal([record["epoch"] for record in records], [1, 1, 2, 2]),
        rates=near([record["learning_rate"] for record in records], [rate(t) for t in (2, 3, 6, 7)], tolerance=1e-15),
    )


@oracle(f"{PATH}.schedules.rate_schedule")
def rates_of_a_training(seed: int) -> Verdict:
    """A rise over a fifth of 50 updates, then a quarter of a line; and a power of the rows seen."""
    peak = float(np.random.default_rng(seed).uniform(0.2, 2))
    rise = [peak * (t + 1) / 11 for t in range(10)]
    fall = [peak * (1 - t / 40) for t in range(40)]
    risen = rate_schedule("linear", peak, steps=50, warmup=0.2)
    by_rows = rate_schedule("invscaling", peak, steps=50, steps_per_epoch=4, n_rows=30, power=0.3)
    powers = [peak / (1 + t // 4 * 30) ** 0.3 for t in range(12)]
    return every(
        linear=near([risen(t) for t in range(50)], rise + fall, tolerance=1e-12),
        by_rows=near([by_rows(t) for t in range(12)], powers, tolerance=1e-12),
    )
