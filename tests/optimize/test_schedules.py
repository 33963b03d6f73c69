"""Schedules against torch's schedulers, and their edges."""

import numpy as np
import pytest

from margin.optimize.schedules import (
    as_schedule,
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


def torch_rates(steps, name, lr=0.5, metrics=None, **options):
    import torch

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr, momentum=0.9)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, **options)
    rates = []
    for t in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        if t + 1 < steps:
            scheduler.step(*([] if metrics is None else [metrics[t]]))
    return rates


@pytest.mark.parametrize(
    ("schedule", "name", "options"),
    [
        (step_decay(0.5, every=7, factor=0.3), "StepLR", {"step_size": 7, "gamma": 0.3}),
        (exponential(0.5, factor=0.93), "ExponentialLR", {"gamma": 0.93}),
        (cosine(0.5, steps=30, floor=0.1), "CosineAnnealingLR", {"T_max": 30, "eta_min": 0.1}),
        (linear(0.5, steps=20, floor=0.05), "LinearLR", {"start_factor": 1.0, "end_factor": 0.1, "total_iters": 20}),
        (one_cycle(0.5, steps=30), "OneCycleLR", {"max_lr": 0.5, "total_steps": 30}),
        (
            one_cycle(0.5, steps=17, rise=0.4, start_factor=10, end_factor=100),
            "OneCycleLR",
            {"max_lr": 0.5, "total_steps": 17, "pct_start": 0.4, "div_factor": 10, "final_div_factor": 100},
        ),
    ],
)
def test_equals_torch(schedule, name, options):
    steps = options.get("total_steps", 30)
    np.testing.assert_allclose([schedule(t) for t in range(steps)], torch_rates(steps, name, **options), rtol=1e-12)


def test_plateau_equals_torch():
    losses = [5, 4, 4.5, 4.2, 4.1, 4.3, 3.9, 4, 4, 4, 4, 4, 4, 3.0, 3.1]
    theirs = torch_rates(len(losses) + 1, "ReduceLROnPlateau", metrics=losses, patience=2, threshold=0.0)
    ours = [on_plateau(0.5, losses[:t], patience=2) for t in range(len(losses) + 1)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_warm_up_meets_its_schedule():
    schedule = warm_up(cosine(1.0, steps=10), steps=4)
    assert [round(schedule(t), 6) for t in range(5)] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert schedule(14) == 0.0
    assert schedule(1000) == 0.0


def test_inverse_time_halves():
    assert inverse_time(1.0, half_life=8)(8) == 0.5


def test_numbers_are_schedules():
    assert as_schedule(0.25)(17) == 0.25
    assert as_schedule(constant(0.5))(3) == 0.5


@pytest.mark.parametrize(
    "make",
    [
        lambda: constant(0.0),
        lambda: constant(np.inf),
        lambda: constant(None),
        lambda: step_decay(0.1, every=0),
        lambda: cosine(0.1, steps=0),
        lambda: warm_up(constant(0.1), steps=0),
        lambda: one_cycle(0.1, steps=10, rise=1.0),
        lambda: exponential(0.1, factor=-1),
    ],
)
def test_refusals(make):
    with pytest.raises(ValueError, match="must"):
        make()
