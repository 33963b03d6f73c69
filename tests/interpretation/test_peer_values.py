"""Attributions equal to those of captum and shap, whose answers ``benchmarks/studies/peer_values.py`` stored."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

STORED = json.loads((Path(__file__).parent / "peer_values.json").read_text())


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    return importlib.import_module("benchmarks.studies.peer_values")


@pytest.mark.parametrize("name", ["cam", "grad_cam", "integrated_gradients", "occlusion"])
def test_maps_are_those_of_captum(program, name):
    wanted = np.array(STORED["maps"]["captum"][name])
    assert np.ptp(wanted) > 0.05  # a map that says something
    np.testing.assert_allclose(program.our_maps(STORED["maps"])[name], wanted, rtol=0, atol=1e-6)


def test_shapley_values_are_those_of_shap(program):
    problem = STORED["shapley"]
    ours, wanted = program.our_shapley(problem), problem["shap"]
    np.testing.assert_allclose(ours["kernel"], wanted["kernel"], rtol=0, atol=1e-10)
    assert ours["expected"] == pytest.approx(wanted["expected"], abs=1e-12)
    for found, theirs in zip(ours["tree"], wanted["tree"], strict=True):
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-10)
