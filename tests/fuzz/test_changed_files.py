"""A few changed checkpoints, run folders and packed files: none crashes, hangs, changes a model or a foreign file."""

import sys

import pytest

from fuzz import archives, campaign, checkpoints, run_folders

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are read as Linux gives them")
MODELS = ["kmeans", "gradient-boosting-classifier", "random-forest-classifier", "lasso"]
WHAT = {
    "checkpoints": (checkpoints, MODELS, 24),
    "runs": (run_folders, MODELS[:2], 24),
    "archives": (archives, archives.names(), 8),
}


@LINUX
@pytest.mark.parametrize("what", WHAT)
def test_changed_files_do_no_harm(what, tmp_path):
    material, names, rounds = WHAT[what]
    assert list(material.write(tmp_path, names)) == names
    tasks = [(name, number) for number in range(rounds) for name in names]
    *_, report = campaign.run(tmp_path, tasks, what)
    assert report.findings == []
    assert report.total == len(tasks)
    assert report.counts["refused"] > 0.1 * len(tasks), "changes must be worth refusing"
    assert report.counts["continued"] + report.counts["read"] > 0.2 * len(tasks), "and some must be harmless"


def test_every_model_that_iterates_is_there():
    assert {"kmeans", "mlp-classifier", "gan", "neural-ode", "svc"} <= set(checkpoints.names())
    assert "ridge" not in checkpoints.names()
