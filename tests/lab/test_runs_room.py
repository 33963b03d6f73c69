"""The API of the rooms Runs and Compare, from an upload to predictions, across a restart."""

import csv
import io
import time
from pathlib import Path

import pytest
from tests.lab.conftest import ORIGIN, PORT, TOKEN, visitor

from margin.lab.app import create_app
from margin.service.fit_request import FitRequest
from margin.service.training import fit
from margin.service.uploaded_tables import UploadedTables

PATIENCE = 300.0
OPTIONS = {"models": ["gaussian-nb", "decision-tree-classifier"], "folds": 2, "curve": False, "n_jobs": 1}
UGLY = "\ufeffOrt;Preis;Klasse\n" + "".join(
    f"{'Köln' if i % 3 else 'Bonn, am Rhein'};{i},5;{'ja' if i % 2 else 'nein'}\n" for i in range(80)
)


def upload(client, name, content):
    headers = {"content-type": "application/octet-stream"}
    return client.put("/api/tables", params={"name": name}, content=content, headers=headers)


def wait_for_end(client, id):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        board = client.get(f"/api/comparisons/{id}").json()
        if not board["running"]:
            return board
        time.sleep(0.1)
    raise AssertionError(f"{id} did not end: {board}")


def test_an_ugly_table_is_compared_reported_and_predicted_and_a_restarted_lab_knows_it(app, client, tmp_path):
    table = upload(client, "../Häuser (neu).csv", UGLY.encode()).json()
    assert table["name"] == "H-user-neu.csv"
    profile = client.post(f"/api/tables/{table['id']}/profile", json={"target": "Klasse"}).json()
    kinds = {column["name"]: column["kind"] for column in profile["columns"]}
    assert (profile["task"], kinds["Preis"]) == ("classification", "number")
    wish = {"table": table["id"], "options": {**OPTIONS, "target": "Klasse"}}
    assert "margin.compare(" in client.post("/api/comparisons/code", json=wish).json()["python"]
    id = client.post("/api/comparisons", json=wish).json()["id"]
    board = wait_for_end(client, id)
    assert (board["status"], board["error"]) == ("finished", "")
    assert [event.topic for event in app.state.lab.hub.since({f"comparison:{id}": 0})]
    report = client.get(f"/api/comparisons/{id}/report")
    assert "sandbox allow-scripts" in report.headers["content-security-policy"]
    assert "allow-same-origin" not in report.headers["content-security-policy"]
    fields = client.get(f"/api/runs/{id}/form").json()["fields"]
    rows = [{field["name"]: field["example"] for field in fields}]
    assert client.post(f"/api/runs/{id}/predict", json={"rows": rows}).json()["prediction"][0] in ("ja", "nein")
    answer = client.get(f"/api/runs/{id}/predictions.csv", params={"table": table["id"]})
    assert len(list(csv.DictReader(io.StringIO(answer.text)))) == 80

    with visitor(create_app(token=TOKEN, port=PORT, folder=tmp_path / "runs")) as restarted:
        restarted.get("/", params={"token": TOKEN})
        restarted.headers["origin"] = ORIGIN
        again = restarted.get(f"/api/comparisons/{id}").json()
        assert [row["model"] for row in again["board"]] == [row["model"] for row in board["board"]]
        assert restarted.post(f"/api/comparisons/{id}/continue", json={}).json() == {"running": True}
        assert wait_for_end(restarted, id)["status"] == "finished"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.exe", b"x", "is no table"),
        ("a.csv", b"", "is empty"),
    ],
)
def test_what_is_no_table_is_refused_and_leaves_nothing(client, tmp_path, name, content, sentence):
    answer = upload(client, name, content)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert client.get("/api/tables").json()["tables"] == []
    assert [path.name for path in (tmp_path / "runs" / "tables").iterdir()] == []


def test_hostile_files_are_one_sentence(client):
    for name, content in (
        ("a.parquet", b"PAR1\x00\x00garbage"),
        ("a.xlsx", b"PK\x03\x04zip?"),
        ("a.csv.gz", b"\x1f\x8bno"),
    ):
        table = upload(client, name, content).json()
        answer = client.post(f"/api/tables/{table['id']}/profile", json={})
        assert answer.status_code == 400
        assert "Traceback" not in answer.text


def test_an_upload_from_another_site_or_as_a_form_is_refused(client):
    refused = client.put("/api/tables?name=a.csv", content=b"x", headers={"origin": "http://evil.example"})
    assert refused.status_code == 403
    form = client.put("/api/tables?name=a.csv", content=b"x", headers={"content-type": "multipart/form-data"})
    assert form.status_code == 415


def test_runs_are_listed_shown_side_by_side_and_downloaded(client, tmp_path):
    for clusters in (2, 3):
        fit("kmeans", "iris", FitRequest(settings=[f"n_clusters={clusters}"]), out=tmp_path / "runs" / f"k{clusters}")
    assert {run["id"] for run in client.get("/api/runs").json()["runs"]} == {"k2", "k3"}
    assert client.get("/api/runs/k2").json()["settings"]["n_clusters"] == "2"
    found = client.get("/api/runs/side-by-side", params={"ids": "k2,k3"}).json()
    assert found["differing"] == {"n_clusters": ["2", "3"]}
    model = client.get("/api/runs/k2/model")
    assert 'filename="k2.safetensors"' in model.headers["content-disposition"]
    assert model.content


@pytest.mark.parametrize(
    "path",
    ["/api/runs/nothing", "/api/runs/..%2f..", "/api/runs/nothing/model", "/api/comparisons/nothing/report"],
)
def test_what_is_not_there_is_one_sentence(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]


def test_wrong_wishes_change_nothing(client, tmp_path):
    assert client.post("/api/comparisons", json={"set": "nowhere"}).status_code == 404
    assert client.post("/api/comparisons", json={"table": "0" * 16}).status_code == 404
    answer = client.post("/api/comparisons", json={"set": "iris", "options": {"folds": 1}})
    assert answer.status_code == 400
    assert "folds must be" in answer.json()["error"]
    assert client.post("/api/comparisons/nobody/stop", json={}).status_code == 400
    assert not (tmp_path / "runs").exists() or list((tmp_path / "runs").iterdir()) == []


def test_the_options_are_those_of_the_command(client):
    names = [option["name"] for option in client.get("/api/comparisons/options").json()]
    assert {"target", "metric", "folds", "budget", "kinds", "ignore"} <= set(names)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_one_sentence_and_leaves_nothing(client, tmp_path, monkeypatch):
    folder = tmp_path / "runs" / "tables"

    def begin(tables):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".unfinished-full").symlink_to("/dev/full")
        return folder / ".unfinished-full"

    with monkeypatch.context() as patch:
        patch.setattr(UploadedTables, "begin", begin)
        answer = upload(client, "a.csv", b"a,b\n1,2\n")
    assert answer.status_code == 507
    assert answer.json() == {"error": "The disk is full: nothing was kept; make room and try again."}
    assert list(folder.iterdir()) == []
    assert upload(client, "a.csv", b"a,b\n1,2\n").status_code == 200


def test_another_failure_of_the_disk_says_nothing_of_our_paths(client, monkeypatch):
    def begin(tables):
        raise PermissionError(13, "Permission denied", "/home/somebody/runs")

    monkeypatch.setattr(UploadedTables, "begin", begin)
    answer = upload(client, "a.csv", b"a,b\n1,2\n")
    assert answer.status_code == 500
    assert "somebody" not in answer.text
