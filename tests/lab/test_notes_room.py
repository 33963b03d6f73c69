"""The API of the rooms Notes and Gallery."""

import pytest

from margin.notes import atlas, experiments
from margin.service import experiment_pages, row_checks

pytest.importorskip("latex2mathml")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Checks and pictures of this test alone; the processes of the lab inherit it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_contents_and_every_section_answer(client):
    contents = client.get("/api/notes").json()
    assert contents["rows"] == len(atlas.rows())
    assert contents["verdicts"] == {}
    for notes in contents["notes"]:
        key = notes["sections"][0]["key"]
        page = client.get(f"/api/notes/{notes['number']}/{key}").json()
        assert page["section"]["key"] == key


def test_a_row_is_found_shown_and_checked_with_two_seeds(client):
    assert client.get("/api/rows", params={"q": "sigmoid derivative"}).json()[0]["id"] == "sigmoid-derivative"
    assert client.get("/api/rows/sigmoid-derivative").json()["check"] is None
    for seed in (0, 7):
        facts = client.post("/api/rows/sigmoid-derivative/verify", json={"seed": seed}).json()
        assert (facts["verdict"], facts["seed"]) == ("holds", seed)
        assert client.get("/api/rows/sigmoid-derivative", params={"seed": seed}).json()["check"] == facts
    known = client.get("/api/areas/activations").json()["verdicts"]["sigmoid-derivative"]
    assert [one["seed"] for one in known] == [0, 7]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/api/rows/nothing", "no row 'nothing'"),
        ("/api/notes/003/99", "no section '99'"),
        ("/api/notes/007/1", "no notes '007'"),
        ("/api/areas/nowhere", "no area 'nowhere'"),
        ("/api/experiments/nothing", "no experiment 'nothing'"),
        ("/api/experiments/minus-log/picture.png", "no picture"),
        ("/api/experiments/..%2f..%2fsecret/picture.png", ""),
    ],
)
def test_what_is_not_there_is_one_sentence(client, path, sentence):
    answer = client.get(path)
    assert answer.status_code == 404
    assert sentence in answer.json()["error"]


@pytest.mark.parametrize("seed", [-1, 2**40, "x", 1.5])
def test_a_bad_seed_changes_nothing(client, seed):
    answer = client.post("/api/rows/sigmoid-derivative/verify", json={"seed": seed})
    assert answer.status_code in (400, 422)
    assert row_checks.kept_verdicts() == {}


def test_the_gallery_lists_every_experiment_and_draws_one(client):
    listing = client.get("/api/experiments").json()
    assert [entry["name"] for entry in listing] == experiments.names()
    assert all(entry["outcome"] is None for entry in listing)
    facts = client.post("/api/experiments/minus-log/draw", json={"seed": 0}).json()
    assert facts["verdict"] in ("holds", "corrected")
    picture = client.get("/api/experiments/minus-log/picture.png")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert client.get("/api/experiments/minus-log").json()["outcome"] == facts
    again = client.post("/api/experiments/minus-log/draw", json={"seed": 0}).json()
    assert again == facts, "what was drawn is not drawn again"
    assert experiment_pages.kept_experiment("minus-log", 1, True) is None


def test_stopping_what_does_not_run_says_so(client):
    assert client.post("/api/calls/nobody/stop", json={}).json() == {"stopped": False}
