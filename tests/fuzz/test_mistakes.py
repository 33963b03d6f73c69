"""Planted mistakes change what a function computes, and only that function."""

import inspect

import numpy as np
import pytest
from fuzz.mistakes import apply, functions_of, mutants_of, watch

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
