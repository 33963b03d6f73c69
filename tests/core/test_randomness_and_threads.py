"""Private randomness, and one place that decides about threads."""

import os
import threading

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
    import torch

    def blas():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = blas(), torch.get_num_threads()
    with threads.blas_threads(1), threads.torch_threads(1):
        assert set(blas()) == {1}
        assert torch.get_num_threads() == 1
    assert (blas(), torch.get_num_threads()) == before


class Library:
    """A BLAS that remembers its number of threads."""

    def __init__(self, num_threads):
        self.num_threads = num_threads

    def set_num_threads(self, n):
        self.num_threads = n


def test_blas_is_set_back_in_whatever_order_limits_end(monkeypatch):
    """Two fits in two threads: the one that began first ends first."""
    libraries = [Library(8), Library(4)]
    monkeypatch.setattr(threads, "_blas_libraries", lambda: libraries)

    def now():
        return [library.num_threads for library in libraries]

    first, second, wide = threads.blas_threads(1), threads.blas_threads(2), threads.blas_threads(6)
    first.__enter__()
    second.__enter__()
    assert now() == [1, 1]
    first.__exit__(None, None, None)
    assert now() == [2, 2]
    wide.__enter__()
    assert now() == [2, 2], "another still holds it lower"
    second.__exit__(None, None, None)
    assert now() == [6, 4], "a limit raises nothing"
    wide.__exit__(None, None, None)
    assert now() == [8, 4]


def test_a_forked_process_drops_the_limits_of_threads_it_does_not_have(monkeypatch):
    libraries = [Library(8)]
    monkeypatch.setattr(threads, "_blas_libraries", lambda: libraries)
    limit = threads._BlasLimit()
    limit.hold(4)
    other = threading.Thread(target=limit.hold, args=(1,))
    other.start()
    other.join()
    assert libraries[0].num_threads == 1
    limit.keep_own()
    assert libraries[0].num_threads == 4
    limit.release(4)
    assert libraries[0].num_threads == 8


@pytest.mark.parametrize(
    ("files", "granted"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_container_gets_as_many_threads_as_it_has_time_for(files, granted, tmp_path, monkeypatch):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n", encoding="ascii")
    found = threads._granted_cores(str(tmp_path))
    assert found == granted
    monkeypatch.setattr(threads, "_granted_cores", lambda: found)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(64), raising=False)
    for name in threads.LIMITS:
        monkeypatch.delenv(name, raising=False)
    assert threads.available() == (64 if granted is None else granted)


@pytest.mark.parametrize("seed", [-1, np.int64(-3)])
def test_a_negative_seed_is_refused_by_its_name(seed):
    with pytest.raises(ValueError, match=r"random_state must not be negative; got .*-"):
        as_generator(seed)
