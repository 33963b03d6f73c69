"""Mean average precision equal to that of pycocotools, whose answers ``benchmarks/studies/peer_values.py`` stored."""

import importlib
import json
from pathlib import Path

import pytest

STORED = json.loads((Path(__file__).parent / "peer_values.json").read_text())


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    return importlib.import_module("benchmarks.studies.peer_values")


def test_means_are_those_of_pycocotools(program):
    ours, wanted = program.our_precisions(STORED["scenes"]), STORED["pycocotools"]
    assert ours.keys() == wanted.keys()
    for name, value in wanted.items():
        assert 0.2 < value < 0.95  # neither all found nor all missed
        assert ours[name] == pytest.approx(value, abs=1e-12), name
