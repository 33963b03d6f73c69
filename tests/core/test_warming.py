"""Kernels can be compiled ahead, in fresh processes."""

import pytest

from margin import catalog
from margin.service.warming import model_names, warm


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
