"""What moves a network is the update rule that is cited: every rule, its fused form, its decay, its memory."""

import numpy as np
import pytest
import torch
from killing import assert_a_kill_changes_nothing
from torch import nn

from margin.neural.generators import Seeds
from margin.neural.nets.mlp import MLP
from margin.neural.training import Minimize, Plan, RowBatches, TensorRows, Training
from margin.neural.training.descent import GradientDescent, clip_gradients
from margin.neural.training.light_adam import LightAdam, LightAdamW
from margin.neural.training.muon import BatchedMuon
from margin.neural.training.objectives import squared_error
from margin.neural.training.optimizers import make_optimizers, own_decay
from margin.neural.training.rule_optimizer import RuleOptimizer
from margin.neural.weights import build
from margin.optimize import clip_norm
from margin.optimize.rules import RULES, Adam, AdaMax, AdamW, Descent, Lion, Momentum, Muon, NAdam, Nesterov, Rule

FUSED = {
    "adam": (Adam(0.8, 0.95, 1e-6), LightAdam),
    "adam at its defaults": (Adam(), LightAdam),
    "adamw": (AdamW(0.8, 0.95, 1e-6, weight_decay=0.1), LightAdamW),
    "descent": (Descent(), torch.optim.SGD),
    "momentum": (Momentum(0.7, "unscaled"), torch.optim.SGD),
    "nesterov": (Nesterov(0.7, convention="unscaled"), torch.optim.SGD),
    "nesterov without momentum": (Nesterov(0.0, convention="unscaled"), torch.optim.SGD),
}
GENERAL = {
    "sum": Momentum(0.7),
    "average": Momentum(0.7, "average"),
    "nesterov in the notes' form": Nesterov(0.7),
    "lion": Lion(0.8, 0.9, weight_decay=0.1),
    **{name: kind() for name, kind in RULES.items() if name not in {*FUSED, "muon", "momentum", "lion"}},
}
EVERY = {name: rule for name, (rule, _) in FUSED.items()} | GENERAL


class Odd(nn.Module):
    """Parameters of odd shapes: none, one and four axes, a single number, an empty one, strides of their own."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        rng = np.random.default_rng(5)
        shapes = {"number": (), "one": (1,), "row": (7,), "matrix": (3, 5), "kernel": (2, 3, 3, 3), "empty": (0, 4)}
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(torch.tensor(rng.normal(size=shape), dtype=dtype)))
        self.strided = nn.Parameter(torch.tensor(rng.normal(size=(4, 6)), dtype=dtype).T)


SIZES = {"usual": 1.0, "tiny": 1e-30, "huge": 1e15, "zero": 0.0}


def gradients(module, size, steps=7):
    rng = np.random.default_rng(11)
    return [
        {name: size * (1 + 5 * t) * rng.normal(size=tuple(p.shape)) for name, p in module.named_parameters()}
        for t in range(steps)
    ]


def rate_at(t):
    return 0.05 / (1 + t)


def by_the_rule(rule, module, given, decay_of):
    """The same walk with the equation itself, in NumPy's float64."""
    rule = rule.on_gradient_points()
    ends = {}
    for name, parameter in module.named_parameters():
        x = parameter.detach().double().numpy().copy()
        decay = decay_of(parameter)
        own = rule.replace(weight_decay=decay) if rule.decouples else rule
        state = own.start(x)
        with np.errstate(over="ignore", under="ignore"):
            for t, gradient in enumerate(given):
                g = gradient[name] if rule.decouples else gradient[name] + decay * x
                state, step = own.update(state, g, x, rate_at(t))
                x = x + step
        ends[name] = x
    return ends


def by_the_network(optimizers, module, given):
    named = dict(module.named_parameters())
    for t, gradient in enumerate(given):
        for name, parameter in named.items():
            # as autograd gives it, with the strides of its parameter: fused updates walk through memory
            parameter.grad = torch.empty_like(parameter).copy_(torch.tensor(gradient[name]))
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate_at(t)
            optimizer.step()
    return {name: parameter.detach().double().numpy() for name, parameter in named.items()}


@pytest.mark.parametrize("name", FUSED)
def test_fused_forms_are_used(name):
    rule, kind = FUSED[name]
    (optimizer,) = make_optimizers(Odd(), rule, 0.05)
    assert type(optimizer) is kind
    (other,) = make_optimizers(Odd(), type("Own", (type(rule),), {})(**rule.get_params()), 0.05)
    assert type(other) is RuleOptimizer  # a class that may update otherwise is run as it is written


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", EVERY)
def test_a_network_moves_by_its_rule(name, dtype, size):
    """One check for the equation, its run on tensors and its fused form."""
    rule, module = EVERY[name], Odd(dtype)
    given = gradients(module, SIZES[size])
    expected = by_the_rule(rule, module, given, lambda p: own_decay(rule) * (p.ndim >= 2))
    found = by_the_network(make_optimizers(module, rule, 0.05), module, given)
    exact = dtype == torch.float64
    for key, array in found.items():
        scale = max(1.0, float(np.abs(expected[key]).max(initial=0.0)))
        tolerance = 1e-10 if exact else 2e-4 if isinstance(rule, AdaMax | NAdam) else 2e-5
        np.testing.assert_allclose(array, expected[key], rtol=tolerance, atol=tolerance * scale, err_msg=key)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("nesterov", [True, False])
def test_batched_muon_moves_by_its_rule(nesterov, dtype):
    shapes = [(6, 6), (3, 8), (3, 8), (9, 4), (6, 6), (1, 5), (4, 2)]
    rule = Muon(0.8, nesterov, weight_decay=0.1)
    rng = np.random.default_rng(2)
    module = nn.ParameterList([torch.tensor(rng.normal(size=shape), dtype=dtype) for shape in shapes])
    given = gradients(module, 1.0)
    expected = by_the_rule(rule, module, given, lambda _: 0.1)
    muon = BatchedMuon(list(module.parameters()), 0.05, 0.1, 0.8, nesterov)
    tolerance = 1e-10 if dtype == torch.float64 else 2e-4
    for key, array in by_the_network([muon], module, given).items():
        np.testing.assert_allclose(array, expected[key], rtol=tolerance, atol=tolerance, err_msg=key)


@pytest.mark.parametrize("name", [name for name, rule in EVERY.items() if not rule.decouples])
def test_a_penalty_is_added_to_the_gradients_of_matrices(name):
    rule, module = EVERY[name], Odd()
    given = gradients(module, 1.0)
    expected = by_the_rule(rule, module, given, lambda p: 0.3 * (p.ndim >= 2))
    found = by_the_network(make_optimizers(module, rule, 0.05, penalty=0.3), module, given)
    for key, array in found.items():
        np.testing.assert_allclose(array, expected[key], rtol=1e-9, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", GENERAL)
def test_parameters_without_a_gradient_stay_and_do_not_count(name):
    module = Odd()
    still, moved = module.row.detach().clone(), gradients(module, 1.0, 1)[0]
    (optimizer,) = make_optimizers(module, GENERAL[name], 0.05)
    module.matrix.grad = torch.tensor(moved["matrix"])
    optimizer.step()
    assert torch.equal(module.row, still)
    assert module.row not in optimizer.state
    assert not torch.equal(module.matrix, Odd().matrix)


@pytest.mark.parametrize("name", [*EVERY, "muon", "muon with another rest"])
def test_a_kill_changes_nothing(tmp_path, name):
    rule = EVERY.get(name) or Muon(rest=Lion() if "rest" in name else None)
    rng = np.random.default_rng(0)
    rows = TensorRows.of(X := rng.normal(size=(50, 4)), np.sin(X[:, :2]))

    def make():
        module = build(lambda: MLP([4, 6, 5, 2], "tanh"), 0, torch.float64)
        step = Minimize(module, squared_error, rule, schedule=rate_at, penalty=0.0 if rule.decouples else 0.5)
        return Training(RowBatches(rows, 8, Seeds.of(1).order), step, Plan(3, record_steps=2), threads=1)

    assert_a_kill_changes_nothing(make, tmp_path, seed=4)


def test_a_penalty_beside_a_decay_is_refused():
    with pytest.raises(ValueError, match="the same thing twice"):
        GradientDescent(nn.Linear(2, 2), AdamW(weight_decay=0.1), 0.1, penalty=0.2)


def test_a_rule_that_takes_gradients_elsewhere_is_refused():
    class Elsewhere(Descent):
        def point(self, state, x):
            return x + 1

    with pytest.raises(ValueError, match=r"Elsewhere\(\) takes gradients elsewhere than at the weights"):
        make_optimizers(nn.Linear(2, 2), Elsewhere(), 0.1)


def test_parameters_of_a_rule_are_checked():
    for wrong in (Adam(beta_1=1.0), Lion(beta_2=-0.1), Momentum(2.0, "unscaled")):
        with pytest.raises(ValueError, match=f"{type(wrong).__name__}: .* must be"):
            make_optimizers(nn.Linear(2, 2), wrong, 0.1)


def test_clipping_is_that_of_the_notes():
    module = Odd()
    for factor in (1e-3, 1.0, 1e4):
        given = gradients(module, factor, 1)[0]
        for name, parameter in module.named_parameters():
            parameter.grad = torch.tensor(given[name])
        flat = np.concatenate([given[name].ravel() for name, _ in module.named_parameters()])
        clip_gradients(module.parameters(), 2.0)
        found = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
        np.testing.assert_allclose(found, clip_norm(flat, 2.0), rtol=1e-5)


def test_every_rule_is_tried():
    tried = {type(rule) for rule in EVERY.values()} | {Muon}
    assert tried == set(RULES.values())
    assert all(issubclass(kind, Rule) for kind in tried)
