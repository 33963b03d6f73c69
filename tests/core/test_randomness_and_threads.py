"""Private randomness, and one place that decides about threads."""

import os

import numpy as np
import pytest
import threadpoolctl

from margin.core import threads
from margin.core.randomness import as_generator, generator_from_state, generator_state, seed_from, spawn_seeds


def test_whole_numbers_repeat_and_none_does_not():
    assert as_generator(3).normal() == as_generator(3).normal()
    assert as_generator(None).normal() != as_generator(None).normal()


def test_passed_generators_are_advanced_once():
    for make in (np.random.RandomState, np.random.default_rng):
        generator, twin = make(0), make(0)
        first, second = seed_from(generator), seed_from(generator)
        assert first != second
        assert first == seed_from(twin)


def test_a_strange_seed_is_named():
    with pytest.raises(ValueError, match=r"random_state must be .*; got 'x'"):
        seed_from("x")


def test_state_continues():
    rng = as_generator(1)
    rng.normal(size=7)
    again = generator_from_state(generator_state(rng))
    np.testing.assert_array_equal(again.normal(size=5), rng.normal(size=5))


def test_spawned_seeds_differ():
    seeds = spawn_seeds(as_generator(0), 100)
    assert len(set(seeds)) == 100


def test_available_obeys_the_environment(monkeypatch):
    for name in threads.LIMITS:
        monkeypatch.delenv(name, raising=False)
    cores = len(os.sched_getaffinity(0))
    assert threads.available() == cores
    monkeypatch.setenv("MARGIN_NUM_THREADS", "1")
    assert threads.available() == 1
    monkeypatch.setenv("MARGIN_NUM_THREADS", "many")
    assert threads.available() == cores


def test_small_work_runs_on_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 8)
    assert threads.threads_for(1000) == 1
    assert threads.threads_for(1e12) == 8


def test_limits_hold_inside_and_are_restored():
    import numba
    import torch

    def blas():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = blas(), numba.get_num_threads(), torch.get_num_threads()
    with threads.blas_threads(1), threads.numba_threads(1), threads.torch_threads(1):
        assert set(blas()) == {1}
        assert (numba.get_num_threads(), torch.get_num_threads()) == (1, 1)
    assert (blas(), numba.get_num_threads(), torch.get_num_threads()) == before
