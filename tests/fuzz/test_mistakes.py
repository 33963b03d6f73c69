"""Planted mistakes change what a function computes, and only that function."""

import importlib
import inspect

import numpy as np
import pytest
from fuzz.equal_changes import EQUAL
from fuzz.mistakes import apply, functions_of, mutants_of, watch

from fuzz import mistakes
from margin.foundations.linalg import rotation
from margin.foundations.probability import Normal
from margin.foundations.statistics import covariance
from margin.neural.training.noise import with_input_noise


@pytest.fixture
def restored():
    """Functions get their code back."""
    kept = {f: f.__code__ for f in (rotation, covariance)}
    yield
    for function, code in kept.items():
        function.__code__ = code


def test_every_mistake_in_a_rotation_is_seen(restored):
    right = rotation(0.7)
    (function,) = functions_of(rotation)
    mistakes = list(mutants_of(function))
    assert {m.kind for m in mistakes} >= {"sign"}
    code = function.__code__
    for mistake in mistakes:
        apply(mistake)
        assert not np.allclose(rotation(0.7), right), str(mistake)
        function.__code__ = code


def test_a_class_gives_its_methods_and_messages_are_left_alone():
    methods = {f.__name__ for f in functions_of(Normal)}
    assert {"add", "subtract"} <= methods
    assert all("must be" not in m.text for f in functions_of(covariance) for m in mutants_of(f))


def test_only_evaluated_expressions_are_seen(restored):
    functions = [*functions_of(rotation), *functions_of(covariance)]
    mistakes = [m for f in functions for m in mutants_of(f)]
    seen = set()
    watch(mistakes, seen.add)
    right = np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    np.testing.assert_allclose(rotation(0.3), right, atol=1e-15)
    assert {mistakes[i].function for i in seen} == {rotation}


def test_the_other_sign_of_a_normal_deviate_is_no_mistake():
    (function,) = functions_of(with_input_noise)
    assert "_normal(" in inspect.getsource(function)
    assert not any(m.kind == "sign" and "_normal(" in m.text for m in mutants_of(function))


def shared_work(n, warn_user, threads_for, rng):
    """Nothing of this can be noticed but the last line."""
    if n * 2.5 > 7.0:
        warn_user(f"many rows: {n}")
    noise = rng.standard_normal(3)
    threads = threads_for(n * 3.5)
    return threads, n + 0.5 * noise, n - 4.5


def read_twice(rng):
    noise = rng.standard_normal(3)
    return 1.0 + noise, noise


def refused_and_returned(n):
    if n > 2.5:
        print("large")
    return n * 1.5


def test_what_changes_no_result_is_not_planted():
    planted = {(m.kind, m.text) for m in mutants_of(shared_work)}
    assert ("sign", "n + 4.5") in planted
    assert ("factor", "9.0") in planted  # 2 * 4.5
    assert not any("7.0" in text or "14.0" in text or "2.5" in text for _, text in planted)  # only a warning
    assert not any("3.5" in text or text == "n" for _, text in planted)  # only a number of threads
    assert ("sign", "n - 0.5 * noise") not in planted  # a normal deviate with the other sign
    assert ("factor", "1.0") in planted  # but its size counts


def test_a_deviate_that_is_read_twice_keeps_its_sign():
    assert ("sign", "1.0 - noise") in {(m.kind, m.text) for m in mutants_of(read_twice)}


def test_a_condition_on_which_more_than_a_warning_hangs_is_planted():
    assert ("factor", "5.0") in {(m.kind, m.text) for m in mutants_of(refused_and_returned)}


def test_every_equal_change_is_one_that_could_be_planted(monkeypatch):
    """A reason for a line that is no longer there would hide a mistake in another one."""
    monkeypatch.setattr(mistakes, "EQUAL", {})
    wanted = {}
    for module, function, text in EQUAL:
        wanted.setdefault((module, function), set()).add(text)
    for (module, function), texts in wanted.items():
        found = {m.text for f in _functions_named(module, function) for m in mutants_of(f)}
        assert texts <= found, (module, function, texts - found)


def _functions_named(module, name):
    place = importlib.import_module(module)
    members = [*vars(place).values()]
    members += [m for owner in members if isinstance(owner, type) for m in vars(owner).values()]
    return [f for m in members for f in functions_of(m) if f.__name__ == name and f.__module__ == module]
