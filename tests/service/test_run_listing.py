"""Run folders, listed and shown: whole, running, killed, damaged; and names that are no names of runs."""

import json
import os

import pytest

from margin.runs import Run
from margin.service.fit_commands import fit_command
from margin.service.fit_request import FitRequest
from margin.service.requests import BadRequest
from margin.service.run_listing import find_run, list_runs, model_file, run_page, run_records, runs_side_by_side
from margin.service.training import fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    for clusters in (2, 3):
        fit("kmeans", "iris", FitRequest(settings=[f"n_clusters={clusters}"], seed=1), out=home / f"k{clusters}")
    return home


def write_run(path, status="running", **facts):
    path.mkdir(parents=True)
    manifest = {"identity": {"kind": "fit", "model": "kmeans"}, "status": status, **facts}
    (path / "manifest.json").write_text(json.dumps(manifest))


def test_finished_fits_are_listed_with_their_last_record(folder):
    entries = {entry["id"]: entry for entry in list_runs(folder)}
    assert set(entries) == {"k2", "k3"}
    assert entries["k2"]["status"] == "finished"
    assert entries["k2"]["model"] == "kmeans"
    assert entries["k3"]["last"]["inertia"] < entries["k2"]["last"]["inertia"]


def test_what_is_no_run_is_left_out_and_what_is_damaged_is_named(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "file.txt").write_text("x")
    write_run(tmp_path / "real")
    os.symlink(tmp_path / "real", tmp_path / "link")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    entries = {entry["id"]: entry for entry in list_runs(tmp_path)}
    assert set(entries) == {"real", "broken"}
    assert entries["broken"]["status"] == "damaged"
    assert "is damaged" in entries["broken"]["problem"]
    assert list_runs(tmp_path / "nowhere") == []


def test_a_run_whose_process_was_killed_is_interrupted_and_one_that_holds_its_lock_is_running(tmp_path):
    write_run(tmp_path / "killed")
    write_run(tmp_path / "alive")
    with Run.existing(tmp_path / "alive").lock():
        statuses = {entry["id"]: entry["status"] for entry in list_runs(tmp_path)}
    assert statuses == {"killed": "interrupted", "alive": "running"}


def test_a_thousand_runs_are_listed(tmp_path):
    for i in range(1000):
        write_run(tmp_path / f"run-{i}", "finished", data="iris", seconds=1.0)
    assert len(list_runs(tmp_path)) == 1000


def test_a_long_curve_keeps_its_ends_and_few_points(tmp_path):
    write_run(tmp_path / "long", "finished")
    lines = [json.dumps({"iteration": i, "loss": 1.0 / (1 + i), "note": "x"}) for i in range(5000)]
    (tmp_path / "long" / "metrics.jsonl").write_text("\n".join(lines) + "\n" + '{"iteration": 50')
    records = run_records(tmp_path, "long")
    assert records["n_records"] == 5000
    assert len(records["iteration"]) <= 1001
    assert records["iteration"][0] == 0
    assert records["iteration"][-1] == 4999
    assert list(records["series"]) == ["loss"]


def test_records_that_are_not_finite_or_damaged_are_told(tmp_path):
    write_run(tmp_path / "nan", "failed")
    (tmp_path / "nan" / "metrics.jsonl").write_text('{"iteration": 0, "loss": NaN}\n')
    assert run_records(tmp_path, "nan")["series"] == {"loss": [None]}
    write_run(tmp_path / "bad", "finished")
    (tmp_path / "bad" / "metrics.jsonl").write_text("[1]\n")
    assert "not a record" in run_records(tmp_path, "bad")["problem"]


def test_a_page_has_settings_curves_card_and_code(folder):
    page = run_page(folder, "k3")
    assert page["settings"]["n_clusters"] == "3"
    assert page["records"]["series"]["inertia"]
    assert page["has_model"]
    assert "kmeans" in page["card"].lower() or "KMeans" in page["card"]
    assert page["command"].startswith("margin fit kmeans iris")
    namespace: dict = {}
    exec(page["python"], namespace)
    assert len(namespace["records"]) == page["records"]["n_records"]
    assert model_file(folder, "k3").read_bytes()


def test_side_by_side_names_only_what_differs(folder):
    found = runs_side_by_side(folder, ["k2", "k3", "k2"])
    assert [run["id"] for run in found["runs"]] == ["k2", "k3"]
    assert found["differing"] == {"n_clusters": ["2", "3"]}
    with pytest.raises(BadRequest, match="1 to 12 runs; got 0"):
        runs_side_by_side(folder, [])


@pytest.mark.parametrize("id", ["", ".", "..", "../runs", "k2/../k3", "/etc", "k2\x00", "nothing"])
def test_only_names_of_runs_are_found(folder, id):
    for ask in (find_run, run_page, run_records, model_file):
        with pytest.raises(KeyError, match="no run"):
            ask(folder, id)


def test_a_run_without_a_model_says_so(tmp_path):
    write_run(tmp_path / "new", "new")
    with pytest.raises(KeyError, match="no model yet"):
        model_file(tmp_path, "new")


def test_a_fit_of_an_unknown_model_has_no_command():
    assert fit_command({"identity": {"model": "nobody"}, "data": "iris"}, "runs/a") == ""
