"""Schedules against torch's schedulers, and their edges."""

import numpy as np
import pytest

import margin
from margin.catalog import PARTS
from margin.core.parameters import InvalidParameter, parameters_of
from margin.optimize import (
    Cosine,
    CosineRestarts,
    Cyclical,
    ExponentialDecay,
    FiniteSum,
    InversePower,
    InverseTime,
    LinearDecay,
    OneCycle,
    Plateau,
    RateSchedule,
    StepDecay,
    WarmUp,
    descend,
    follow,
    minimize,
    rate_schedules,
    sgd,
)
from margin.optimize.rate_schedules import SCHEDULES
from margin.optimize.rules import Adam, Descent
from margin.optimize.schedules import (
    as_schedule,
    constant,
    cosine,
    cosine_restarts,
    cyclical,
    exponential,
    inverse_power,
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
            cyclical(0.5, period=12, floor=0.1),
            "CyclicLR",
            {"base_lr": 0.1, "max_lr": 0.5, "step_size_up": 6, "cycle_momentum": False},
        ),
        (cosine_restarts(0.5, period=7, floor=0.1), "CosineAnnealingWarmRestarts", {"T_0": 7, "eta_min": 0.1}),
        (cosine_restarts(0.5, period=3, growth=2), "CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2}),
        (cosine_restarts(0.5, period=1, growth=3), "CosineAnnealingWarmRestarts", {"T_0": 1, "T_mult": 3}),
        (
            one_cycle(0.5, steps=17, rise=0.4, start_factor=10, end_factor=100),
            "OneCycleLR",
            {"max_lr": 0.5, "total_steps": 17, "pct_start": 0.4, "div_factor": 10, "final_div_factor": 100},
        ),
    ],
)
def test_equals_torch(schedule, name, options):
    steps = options.get("total_steps", 90 if "Restarts" in name else 30)
    ours = [schedule(t) for t in range(steps)]
    np.testing.assert_allclose(ours, torch_rates(steps, name, **options), rtol=1e-12, atol=1e-15)


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


def test_one_cycle_may_begin_at_its_peak():
    rates = [one_cycle(0.5, steps=10, rise=0.1)(t) for t in range(10)]
    assert rates[0] == pytest.approx(0.5)
    assert rates == sorted(rates, reverse=True)


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
        lambda: cyclical(0.1, period=0, floor=0.05),
        lambda: cosine_restarts(0.1, period=5, growth=0.5),
        lambda: cosine_restarts(0.1, period=5, growth=np.inf),
    ],
)
def test_refusals(make):
    with pytest.raises(ValueError, match="must"):
        make()


OBJECTS = [
    (Cosine(floor=0.2), cosine(0.5, steps=30, floor=0.1)),
    (Cosine(0.4, steps=10), cosine(0.4, steps=10)),
    (LinearDecay(floor=0.2), linear(0.5, steps=30, floor=0.1)),
    (LinearDecay(steps=7), linear(0.5, steps=7)),
    (StepDecay(), step_decay(0.5, every=10)),
    (StepDecay(factor=0.3, every=4), step_decay(0.5, every=4, factor=0.3)),
    (ExponentialDecay(), exponential(0.5, factor=0.01 ** (1 / 30))),
    (ExponentialDecay(factor=0.9), exponential(0.5, factor=0.9)),
    (InverseTime(half_life=6.0), inverse_time(0.5, half_life=6.0)),
    (InversePower(power=0.7), inverse_power(0.5, power=0.7)),
    (
        OneCycle(rise=0.4, start_factor=10.0, end_factor=50.0),
        one_cycle(0.5, steps=30, rise=0.4, start_factor=10.0, end_factor=50.0),
    ),
    (Cyclical(floor=0.2), cyclical(0.5, period=10, floor=0.1)),
    (Cyclical(floor=0.2, period=4), cyclical(0.5, period=4, floor=0.1)),
    (CosineRestarts(floor=0.2), cosine_restarts(0.5, period=10, floor=0.1)),
    (CosineRestarts(period=4, growth=2.0), cosine_restarts(0.5, period=4, growth=2.0)),
    (WarmUp(fraction=0.2), warm_up(cosine(0.5, steps=24), steps=6)),
    (WarmUp(schedule=LinearDecay(0.3), steps=5), warm_up(linear(0.3, steps=25), steps=5)),
    (Plateau(), constant(0.5)),
]


@pytest.mark.parametrize(("made", "function"), OBJECTS, ids=lambda value: getattr(type(value), "__name__", ""))
def test_an_object_lays_its_function_over_a_run(made, function):
    laid = made.over(0.5, 30)
    assert [laid(t) for t in range(40)] == [function(t) for t in range(40)]
    assert eval(repr(made), vars(margin.optimize)) == made
    assert made.replace() == made
    assert made.replace(rate=0.123) != made


def test_every_schedule_is_exported_named_and_in_the_registry_of_files():
    kinds = {
        kind for kind in vars(rate_schedules).values()
        if isinstance(kind, type) and issubclass(kind, RateSchedule) and kind is not RateSchedule
    }  # fmt: skip
    assert {type(schedule) for schedule in SCHEDULES.values()} | {WarmUp} == kinds
    assert all(getattr(margin.optimize, kind.__name__) is kind for kind in kinds)
    registered = {path for path in PARTS.values() if path.startswith("margin.optimize.rate_schedules.")}
    assert registered == {f"margin.optimize.rate_schedules.{kind.__name__}" for kind in kinds}


@pytest.mark.parametrize("kind", [type(made) for made, _ in OBJECTS], ids=lambda kind: kind.__name__)
def test_parameters_outside_their_domain_are_named(kind):
    for name, declared in parameters_of(kind).items():
        for wrong in declared.domain.wrong():
            with pytest.raises(InvalidParameter, match=f"{kind.__name__}: {name} must be"):
                kind(**{name: wrong}).over(0.5, 30)


def bowl(x):
    return float(x @ x), 2 * x


def test_minimizers_take_objects():
    by_function = minimize(
        bowl, [3.0, -1.0], method="adam", grad=True, learning_rate=cosine(0.1, steps=40), max_iter=40
    )
    for rate in (Cosine(0.1), Cosine(0.1, steps=40)):
        by_object = minimize(bowl, [3.0, -1.0], method=Adam(), grad=True, learning_rate=rate, max_iter=40)
        assert np.array_equal(by_object.path, by_function.path)
    usual = minimize(bowl, [3.0, -1.0], method=Adam(), grad=True, learning_rate=Cosine(), max_iter=40)
    expected = minimize(bowl, [3.0, -1.0], method="adam", grad=True, learning_rate=cosine(1e-3, steps=40), max_iter=40)
    assert np.array_equal(usual.path, expected.path)
    with pytest.raises(ValueError, match=r"minimize: Adam\(\) has no option 'beta_1'; it has learning_rate"):
        minimize(bowl, [1.0], method=Adam(), grad=True, beta_1=0.5)


def test_a_plateau_of_a_minimizer_lowers_the_rate():
    """At a rate of 1 descent on x^2 jumps between 3 and -3; two values without a gain halve it once."""
    run = descend(bowl, True, [3.0], Descent(), learning_rate=Plateau(1.0, factor=0.5, patience=2), max_iter=20)
    xs = [float(step.x[0]) for step in run]
    assert xs == [3.0, -3.0, 3.0, 0.0]
    slow = list(descend(bowl, True, [3.0], Descent(), learning_rate=Plateau(1.0, factor=0.5), max_iter=10))
    assert [abs(float(step.x[0])) for step in slow] == [3.0] * 11


def test_descent_by_batches_takes_objects_but_no_plateau():
    problem = FiniteSum(6, lambda x, rows: (x[0] - rows) ** 2.0, lambda x, rows: 2.0 * (x[0] - rows)[:, None])
    runs = [
        follow(sgd(problem, [0.0], batch_size=2, epochs=4, learning_rate=rate)).x
        for rate in (LinearDecay(0.1), linear(0.1, steps=12))
    ]
    assert np.array_equal(*runs)
    with pytest.raises(ValueError, match="sgd: learning_rate must not wait for a plateau"):
        follow(sgd(problem, [0.0], learning_rate=WarmUp(schedule=Plateau(0.1))))
