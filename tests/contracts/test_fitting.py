"""Laws of every fit: no global randomness, same seed same bits at any number of threads, exact resume."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from problems import ITERATIVE, assert_same_bits, build, ids, is_table, outputs, problem, uses_torch
from sklearn.base import clone

from margin import catalog
from margin.core.parameters import parameters_of
from margin.core.watching import watch
from margin.store import save
from margin.store.models import load_state, save_state


def fitted(entry, **params):
    X, y = problem(entry)
    model = build(entry, **params)
    return (model.fit(X) if y is None else model.fit(X, y)), X


def global_states():
    import torch

    kind, keys, *rest = np.random.get_state()  # noqa: NPY002 (the state that must not move)
    return [random.getstate(), kind, keys.tolist(), rest, torch.random.get_rng_state().tolist()]


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_a_fit_leaves_the_global_generators_alone(entry):
    before = global_states()
    has_seed = "random_state" in parameters_of(catalog.class_of(entry.name))
    model, X = fitted(entry, **({"random_state": None} if has_seed else {}))
    outputs(model, X)
    assert global_states() == before


@pytest.mark.parametrize("entry", [entry for entry in catalog.ENTRIES if not uses_torch(entry)], ids=ids)
def test_same_seed_same_bits_at_any_number_of_threads(entry, monkeypatch, tmp_path):
    """Torch's own bits depend on its threads; there the number follows from the problem and stands in the state."""
    monkeypatch.setattr("margin.core.threads.WORK_PER_THREAD", 1)  # wake every thread, however small the problem
    said, stored = [], []
    for threads in (1, 2):
        monkeypatch.setattr("margin.core.threads.available", lambda threads=threads: threads)
        model, X = fitted(entry)
        said.append(outputs(model, X))
        save(model, tmp_path / "model.margin")
        stored.append((tmp_path / "model.margin").read_bytes())
    assert_same_bits(said[1], said[0])
    assert stored[0] == stored[1]


@pytest.mark.parametrize("entry", catalog.ENTRIES, ids=ids)
def test_same_seed_same_bits(entry):
    assert_same_bits(outputs(*fitted(entry)), outputs(*fitted(entry)))


def refused_tables(model, X, y):
    """Tables with other columns than ``X`` that the model cannot learn from, and why."""
    renamed = pd.DataFrame(X[:, :-1], columns=[f"other {i}" for i in range(X.shape[1] - 1)])
    if not model.__sklearn_tags__().input_tags.allow_nan:
        yield "infinity", renamed.mask(np.eye(*renamed.shape, dtype=bool), np.inf), y
    if y is not None and len(y) == len(X):
        yield "a target that is too short", renamed, y[:-3]


@pytest.mark.parametrize("entry", [entry for entry in catalog.ENTRIES if is_table(problem(entry)[0])], ids=ids)
def test_a_refused_fit_leaves_the_model_as_it_was(entry):
    X, y = problem(entry)
    table = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
    model = build(entry)
    model.fit(table) if y is None else model.fit(table, y)
    before, said = dict(vars(model)), outputs(model, table)
    for why, wrong, target in refused_tables(model, X, y):
        for learn in ("fit", "partial_fit", "iterate"):
            if not hasattr(model, learn):
                continue
            with pytest.raises((ValueError, TypeError)):
                list(getattr(model, learn)(wrong, target) or ())
            assert vars(model).keys() == before.keys(), (why, learn)
            assert all(vars(model)[name] is value for name, value in before.items()), (why, learn)
    assert_same_bits(outputs(model, table), said)


@pytest.mark.parametrize("entry", ITERATIVE, ids=ids)
def test_the_estimator_is_usable_after_every_record(entry):
    X, y = problem(entry)
    model = build(entry)
    iterations = []
    for record in itertools.islice(model.iterate(X, y), 4):
        outputs(model, X)
        iterations.append(record.iteration)
    assert iterations == sorted(set(iterations)), "iterations count upward"
    assert iterations[0] >= 1


@pytest.mark.parametrize("stops", [[1], [2, 1], [1, 1, 1]], ids=["once", "twice", "thrice"])
@pytest.mark.parametrize("entry", ITERATIVE, ids=ids)
def test_a_resumed_fit_has_the_same_bits(entry, stops, tmp_path):
    """Stop after so many records, write the state to a file, continue from it in a fresh clone: nothing differs."""
    X, y = problem(entry)
    whole = build(entry)
    expected = [record.as_dict() for record in whole.iterate(X, y)]
    state, records = None, []
    for count in stops:
        model = clone(build(entry))
        records += [record.as_dict() for record in itertools.islice(model.iterate(X, y, state=state), count)]
        save_state(model.get_state(), tmp_path / "state.safetensors")
        state, _ = load_state(tmp_path / "state.safetensors")
    resumed = clone(build(entry))
    records += [record.as_dict() for record in resumed.iterate(X, y, state=state)]
    assert records == expected
    assert_same_bits(outputs(resumed, X), outputs(whole, X))


@pytest.mark.parametrize("entry", ITERATIVE, ids=ids)
def test_the_state_of_a_finished_fit_gives_the_finished_model(entry):
    X, y = problem(entry)
    whole = build(entry)
    list(whole.iterate(X, y))
    again = build(entry)
    assert list(again.iterate(X, y, state=whole.get_state())) == []
    assert_same_bits(outputs(again, X), outputs(whole, X))


@pytest.mark.parametrize("entry", ITERATIVE, ids=ids)
def test_a_watcher_sees_every_record_and_can_stop(entry):
    X, y = problem(entry)
    seen, model = [], build(entry)

    def mine(estimator):
        return estimator is model  # a fit may contain fits of other models, which a watcher sees too

    with watch(lambda estimator, record: seen.append(record) if mine(estimator) else None):
        model.fit(X, y)
    assert [record.as_dict() for record in seen] == [record.as_dict() for record in build(entry).iterate(X, y)]
    stopped, model = [], build(entry)
    with watch(lambda estimator, record: mine(estimator) and (stopped.append(record) or True)):
        model.fit(X, y)
    assert len(stopped) == 1
    outputs(model, X)
