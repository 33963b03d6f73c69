"""A few hundred mutated files in a worker with limits: no crash, hang, process or file. ``make fuzz`` tries more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from fuzz import campaign, corpus, mutations

# Trees, codes, rows and centers that compiled code trusts, machines in pairs, and steps of scikit-learn.
MODELS = ("decision-tree-classifier", "tree-of-categories", "k-neighbors-classifier", "kmeans", "svc", "pipeline")
ROUNDS = 50


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and children are read as Linux gives them")
def test_mutated_files_do_no_harm(tmp_path):
    assert list(corpus.write(tmp_path, MODELS)) == list(MODELS)
    tasks = [(name, number) for number in range(ROUNDS) for name in MODELS]
    *_, report = campaign.run(tmp_path, tasks)
    assert report.findings == []
    assert report.total == len(tasks)
    assert report.counts["refused"] > 0.3 * len(tasks), "mutations must be worth refusing"
    assert report.counts["predicted"] > 0.2 * len(tasks), "and some must be harmless"


def test_the_same_number_is_the_same_mutation(tmp_path):
    list(corpus.write(tmp_path, ["kmeans"]))
    document = mutations.read(tmp_path / "kmeans.safetensors")
    assert mutations.mutate(document, "kmeans-3") == mutations.mutate(document, "kmeans-3")
    files = {mutations.mutate(document, f"kmeans-{number}")[0] for number in range(50)}
    assert len(files) > 40


def test_a_worker_that_dies_or_falls_silent_is_counted(tmp_path, monkeypatch):
    """The counting itself: a model that kills its process is a crash, one that never answers a hang."""
    list(corpus.write(tmp_path, ["kmeans"]))
    worker = campaign._Worker(tmp_path)
    worker.process.terminate()
    assert worker.ask("kmeans", 0)["outcome"] == "crash"
    worker.close()
    monkeypatch.setattr(campaign, "SILENCE", 0.0)
    worker = campaign._Worker(tmp_path)
    assert worker.ask("kmeans", 0)["outcome"] == "hang"
    worker.close()
