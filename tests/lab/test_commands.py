"""The shell command beside a stage: the same data to the bit, and the same last record."""

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from margin.cli import app
from margin.lab.stages.commands import SETS, command
from margin.lab.stages.materials import material
from margin.lab.stages.request import PlayRequest
from margin.runs import Run
from margin.service.sources import open_source


@pytest.mark.parametrize("name", SETS)
def test_a_set_of_the_command_line_is_that_of_the_stage(name):
    source = open_source(f"{SETS[name]},seed=5")
    X, y = material(name)(5)
    np.testing.assert_array_equal(source.X, X)
    np.testing.assert_array_equal(np.unique(source.y, return_inverse=True)[1], y)


@pytest.mark.parametrize(
    "request_",
    [
        PlayRequest("kmeans", "moons", 4, ("n_clusters=3",)),
        PlayRequest("mlp-classifier", "spirals", 2, ("max_iter=3",)),
        PlayRequest("gaussian-mixture", "moons", 1, ("max_iter=4",)),
    ],
    ids=lambda request: request.model,
)
@pytest.mark.filterwarnings("ignore")
def test_the_command_ends_with_the_last_record_of_the_stage(request_, tmp_path):
    words = shlex.split(command(request_))
    answer = CliRunner().invoke(app, [*words[1:], "--quiet", "--out", str(tmp_path / "run")])
    assert answer.exit_code == 0, answer.output
    fit = request_.start()
    while fit.step():
        pass
    told = Run.existing(tmp_path / "run").metrics()
    assert [{name: record[name] for name in fit.records[0]} for record in told] == fit.records


@pytest.mark.parametrize(
    "request_",
    [
        PlayRequest("optimizers"),
        PlayRequest("kmeans", "clouds"),
        PlayRequest("svc", "moons", points=((0, 0, 0), (1, 1, 1), (2, 0, 1))),
    ],
    ids=["no model", "data of the stage alone", "points by hand"],
)
def test_where_the_command_line_has_not_the_same_there_is_none(request_):
    assert command(request_) == ""
