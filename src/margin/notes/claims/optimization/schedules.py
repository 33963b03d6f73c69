"""Learning-rate schedules against torch's schedulers, and what decay is for."""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.verdict import Verdict, above, corrected, equal, every, near
from margin.notes.claims import claim
from margin.optimize import follow, sgd
from margin.optimize.problems import least_squares
from margin.optimize.rate_schedules import Cosine, InverseTime, Plateau, RateSchedule
from margin.optimize.schedules import (
    Schedule,
    constant,
    cosine,
    exponential,
    inverse_time,
    linear,
    on_plateau,
    one_cycle,
    step_decay,
    warm_up,
)


def rates(schedule: Schedule, steps: int) -> list[float]:
    return [schedule(t) for t in range(steps)]


def torch_rates(steps: int, name: str, **options: Any) -> list[float]:
    """The rate that a torch scheduler sets before each of the first steps, starting at 0.5."""
    import torch

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
    rates = []
    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    return rates


@claim("learning-rate-schedule")
def schedules_equal_torch_and_decay_ends_closer(seed: int) -> Verdict:
    import torch

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 2))
    problem = least_squares(X, y := X @ [1.0, -1.0] + rng.standard_normal(50))
    best = np.linalg.lstsq(X, y)[0]

    def distance(schedule: Schedule) -> float:
        runs = [
            sgd(problem, [0.0, 0.0], rng=np.random.default_rng([seed, run]), learning_rate=schedule, epochs=4)
            for run in range(10)
        ]
        ends = [follow(run).x for run in runs]
        return float(np.mean(np.linalg.norm(np.array(ends) - best, axis=1)))

    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    optimizer.param_groups[0]["lr"] = 0.7  # no scheduler anywhere
    weight.grad = torch.ones(1)
    optimizer.step()
    falling = [
        step_decay(0.5, every=3),
        exponential(0.5, factor=0.9),
        cosine(0.5, steps=20),
        inverse_time(0.5, half_life=5),
    ]
    return corrected(
        every(
            step=near(rates(step_decay(0.5, every=3), 20), torch_rates(20, "StepLR", step_size=3), tolerance=1e-12),
            exponential=near(
                rates(exponential(0.5, factor=0.9), 20), torch_rates(20, "ExponentialLR", gamma=0.9), tolerance=1e-12
            ),
            cosine=near(
                rates(cosine(0.5, steps=20), 20), torch_rates(20, "CosineAnnealingLR", T_max=20), tolerance=1e-12
            ),
            never_rising=equal([bool(np.all(np.diff(rates(s, 30)) <= 0)) for s in falling], [True] * 4),
            plateau=near(on_plateau(1.0, [5.0, 4.0, 4.0, 4.0, 4.0], patience=2), 0.1, tolerance=1e-15),
            decay_helps=above(distance(constant(0.05)) / distance(inverse_time(0.05, half_life=20)), 1.5),
            written_directly=near(weight.item(), -0.7, tolerance=1e-6),
            as_run=every(
                step=equal(_network_rates("step", 30), rates(step_decay(0.5, every=10), 30)),
                exponential=equal(
                    _network_rates("exponential", 30), rates(exponential(0.5, factor=0.01 ** (1 / 30)), 30)
                ),
                cosine=equal(_network_rates(Cosine(floor=0.1), 30), rates(cosine(0.5, steps=30, floor=0.05), 30)),
                inverse_time=equal(
                    _network_rates(InverseTime(half_life=5), 30), rates(inverse_time(0.5, half_life=5), 30)
                ),
                plateau=equal(Plateau(factor=0.1).lower(1.0), 0.1),
            ),
        ),
        printed=near(weight.item(), -0.1, tolerance=1e-3),  # only a scheduler could have changed the rate
    )


def _network_rates(schedule: str | RateSchedule, steps: int, warmup: float = 0.0) -> list[float]:
    """The rates of a training of so many updates."""
    from margin.neural.training.schedules import rate_schedule

    return rates(rate_schedule(schedule, 0.5, steps=steps, warmup=warmup), steps)


@claim("lr-warmup-decay")
def rise_then_fall_to_the_floor() -> Verdict:
    made = {
        "cosine": warm_up(cosine(1.0, steps=80, floor=0.1), steps=20),
        "linear": warm_up(linear(1.0, steps=80, floor=0.1), steps=20),
        "step": warm_up(step_decay(1.0, every=40), steps=20),
    }
    curves = {name: np.array(rates(schedule, 101)) for name, schedule in made.items()}
    cycle = np.array(rates(one_cycle(0.5, steps=40), 40))
    return every(
        linear_rise=near(curves["cosine"][:20], np.arange(1, 21) / 21, tolerance=1e-12),
        peak=equal([float(c[20]) for c in curves.values()], [1.0] * 3),
        falls=equal([bool(np.all(np.diff(c[20:]) <= 0)) for c in curves.values()], [True] * 3),
        floor=near([curves["cosine"][-1], curves["linear"][-1]], [0.1, 0.1], tolerance=1e-12),
        one_cycle=near(cycle, _torch_one_cycle(0.5, 40), tolerance=1e-12),
        network_rise=equal(
            _network_rates("linear", 40, warmup=0.25), rates(warm_up(linear(0.5, steps=30), steps=10), 40)
        ),
        after_the_cycle=near(one_cycle(0.5, steps=40)(70), cycle[-1], tolerance=1e-15),
        network_cycle=equal(_network_rates("one_cycle", 40), cycle.tolist()),
    )


def _torch_one_cycle(peak: float, steps: int) -> list[float]:
    import torch

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=peak, total_steps=steps)
    rates = []
    for t in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        if t + 1 < steps:
            scheduler.step()
    return rates
