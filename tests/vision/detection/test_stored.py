"""Files of detectors, segmenters and encoders: what comes back, and what is refused."""

import sys
from pathlib import Path

import numpy as np
import pytest

import margin
from margin import catalog
from margin.core.invariants import Violation
from margin.store.forms import check_model

sys.path.insert(0, str(Path(__file__).parents[1] / "contracts"))
from problems import assert_same_bits, build, outputs, problem

NAMES = ("object-detector", "segmenter", "simclr", "clip")


@pytest.fixture(params=NAMES)
def fitted(request):
    entry = catalog.entry(request.param)
    X, y = problem(entry)
    model = build(entry)
    return entry, (model.fit(X) if y is None else model.fit(X, y)), X


def test_a_loaded_model_says_the_same(fitted, tmp_path):
    entry, model, X = fitted
    margin.save(model, tmp_path / "model.safetensors")
    assert_same_bits(outputs(margin.load(tmp_path / "model.safetensors"), X), outputs(model, X))
    check_model(model, entry.path)


def test_weights_that_the_network_does_not_have_are_refused(fitted):
    entry, model, _ = fitted
    name = next(iter(model.weights_))
    model.weights_ = {**model.weights_, name: np.zeros((1, 2, 3), dtype=np.float32)}
    with pytest.raises(Violation, match="must hold the layers that network_ describes"):
        check_model(model, entry.path)


def test_a_center_is_there_for_every_channel(fitted):
    entry, model, _ = fitted
    model.network_ = {**model.network_, "center": [0.0, 0.0]}
    with pytest.raises(Violation, match="a center and a scale for every channel"):
        check_model(model, entry.path)
