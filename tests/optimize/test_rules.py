"""What holds for every update rule of the table: purity, both kinds of arrays, refusals, copies, files, networks."""

import itertools
import pickle
import pkgutil

import numpy as np
import pytest
import torch
from sklearn.base import clone

import margin
from margin.catalog import class_of, registry
from margin.core.parameters import InvalidParameter, parameters_of
from margin.optimize import rules
from margin.optimize.rules import RULES, Adam, AdamW, Muon, Rule, hyperparameters

WITHOUT_CLASS = {"base"}


def chosen(kind):
    """A rule of every class with parameters that are not the defaults, where it has numbers among them."""
    numbers = {
        name: 0.7 * p.default for name, p in parameters_of(kind).items() if isinstance(p.default, float) and p.default
    }
    return kind(**numbers, **{"weight_decay": 0.3} if kind.decouples else {})


ALL = [chosen(kind) for kind in RULES.values()]
ids = [type(rule).__name__ for rule in ALL]


def gradients(shape, steps=6, seed=0):
    """Gradients of very different sizes without symmetry."""
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=(steps, *shape)) * rng.choice([1e-4, 1.0, 50.0], size=shape)


def walk(rule, x, given, rate=0.03):
    state = rule.start(x)
    for t, gradient in enumerate(given):
        state, step = rule.update(state, gradient, x, rate / (1 + t))
        x = x + step
    return x, state


def test_every_file_of_the_package_is_in_the_table_and_in_the_registry_of_files():
    files = {module.name for module in pkgutil.iter_modules(rules.__path__)} - WITHOUT_CLASS
    assert files == {kind.__module__.rpartition(".")[2] for kind in RULES.values()}
    assert len(set(RULES.values())) == len(RULES)
    registered = {path for path in registry().values() if path.startswith("margin.optimize.rules.")}
    assert registered == {f"margin.optimize.rules.{kind.__name__}" for kind in RULES.values()}
    for name, path in registry().items():
        if path in registered:
            assert issubclass(class_of(name), Rule)
    for kind in RULES.values():
        assert getattr(margin.optimize, kind.__name__) is kind
        assert kind.__name__ in margin.optimize.__all__


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_update_is_pure(rule):
    x, (first, gradient) = np.array([[1.0, -2.0], [0.5, 3.0]]), gradients((2, 2), 2)
    state, _ = rule.update(rule.start(x), first, x, 0.1)
    copies = repr(state), x.copy(), gradient.copy(), repr(rule)
    once, again = rule.update(state, gradient, x, 0.1), rule.update(state, gradient, x, 0.1)
    assert np.array_equal(once[1], again[1])
    assert repr(state) == copies[0]
    assert np.array_equal(x, copies[1])
    assert np.array_equal(gradient, copies[2])
    assert repr(rule) == copies[3]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_tensors_and_arrays_take_the_same_steps(rule, dtype):
    for shape in [(3, 5)] if isinstance(rule, Muon) else [(), (1,), (3, 5), (2, 1, 3)]:
        x = np.random.default_rng(1).normal(size=shape).astype(dtype)
        given = gradients(shape).astype(dtype)
        ours, state = walk(rule, x, given)
        theirs, other = walk(rule, torch.tensor(x), torch.tensor(given))
        tolerance = {"rtol": 1e-12, "atol": 1e-14} if dtype == "float64" else {"rtol": 3e-5, "atol": 1e-6}
        np.testing.assert_allclose(theirs.numpy(), ours, **tolerance)
        assert theirs.dtype == getattr(torch, dtype)
        assert np.asarray(ours).dtype == dtype
        for name, value in state._asdict().items():
            np.testing.assert_allclose(np.asarray(getattr(other, name)), value, **tolerance)


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_no_gradient_is_no_step_but_decay(rule):
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    end, _ = walk(rule, x, np.zeros((3, 2, 2)), rate=0.1)
    shrunk = np.prod([1 - 0.1 / (1 + t) * 0.3 for t in range(3)]) if rule.decouples else 1.0
    np.testing.assert_allclose(end, shrunk * x, rtol=1e-12)


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_parameters_are_refused_when_a_run_starts_and_named(rule):
    for name, declared in parameters_of(type(rule)).items():
        for wrong in declared.domain.wrong():
            bad = rule.replace(**{name: wrong})
            with pytest.raises(InvalidParameter, match=rf"{type(rule).__name__}: {name} must be"):
                bad.start(np.zeros((2, 2)))


@pytest.mark.parametrize("rule", ALL, ids=ids)
def test_copies_are_equal_and_apart(rule):
    for copy in (clone(rule), type(rule)(**hyperparameters(rule)), pickle.loads(pickle.dumps(rule)), rule.replace()):
        assert copy == rule
        assert copy is not rule
        assert hash(copy) == hash(rule)
    assert eval(repr(rule), vars(rules)) == rule
    numbers = [name for name, value in hyperparameters(rule).items() if isinstance(value, float) and value]
    for name in numbers:
        assert rule.replace(**{name: 0.5 * getattr(rule, name)}) != rule


def test_parameters_are_set_by_name_and_inside_parts():
    rule = Muon(rest=AdamW())
    assert rule.set_params(momentum=0.8, rest__beta_1=0.5) is rule
    assert rule == Muon(0.8, rest=AdamW(beta_1=0.5))
    assert rule.get_params()["rest__beta_1"] == 0.5
    with pytest.raises(ValueError, match="Muon has no parameter 'speed'; it has momentum"):
        rule.set_params(speed=1)
    network = margin.MLPClassifier(solver=Adam())
    assert network.set_params(solver__beta_1=0.7).solver == Adam(beta_1=0.7)
    assert "solver=Adam(beta_1=0.7)" in repr(network)
    copy = clone(network)
    assert copy.solver == network.solver
    assert copy.solver is not network.solver


def test_rules_differ():
    """No rule is another under a new name: steps from the same gradients."""
    x, given = np.zeros((2, 2)) + 0.1, gradients((2, 2))
    ends = [walk(kind(), x, given)[0] for kind in RULES.values()]
    for (i, a), (j, b) in itertools.combinations(enumerate(ends), 2):
        same = {"Momentum", "Nesterov"} == {ids[i], ids[j]}  # they differ in where the gradient is taken
        assert np.allclose(a, b, rtol=1e-9, atol=0) == same, (ids[i], ids[j])
