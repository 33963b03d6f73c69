"""Kernels can be compiled ahead, in fresh processes."""

import numpy as np
import pytest

from margin import catalog
from margin.core.compiling_ahead import FirstWork, compiling_ahead
from margin.service.warming import model_names, warm
from margin.trees import DecisionTreeClassifier
from margin.trees.cart import growing as cart_growing


def test_all_models_of_the_tree_package_are_warmed_first():
    names = model_names()
    trees = [entry.name for entry in catalog.ENTRIES if entry.family == "trees"]
    assert set(names[: len(trees)]) == set(trees)
    assert len(set(names)) == len(names)


def test_every_name_is_fitted_once():
    done = dict(warm(["linear-regression", "id3"], jobs=1))
    assert set(done) == {"linear-regression", "id3"}
    assert min(done.values()) > 0


def test_an_unknown_name_is_refused_before_anything_starts():
    with pytest.raises(KeyError, match="There is no model 'oak'"):
        next(warm(["oak"]))


def test_ahead_of_use_even_the_smallest_tree_is_compiled(monkeypatch):
    """A process of its own choice would leave it to Python: then a warmed machine would not be warm."""
    asked, model, first_work = [], DecisionTreeClassifier(), FirstWork(10**6)
    monkeypatch.setattr(cart_growing, "FIRST_CELLS", first_work)
    monkeypatch.setattr(FirstWork, "_is_ready", lambda first, kernel: asked.append(kernel))
    X, y = np.arange(60.0)[:, None], np.repeat([0, 1], 30)
    model.fit(X, y)
    assert asked, "Python grows it as long as nothing is compiled"
    left_to_python = first_work.done
    assert left_to_python > 0
    asked.clear()
    with compiling_ahead():
        model.fit(X, y)
    assert not asked
    assert first_work.done == left_to_python
