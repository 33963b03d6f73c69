"""Sessions over the API with real processes: playing, stepping back, code, a killed process, a closed tab, limits."""

import contextlib
import io
import os
import signal
import threading
import time

import pytest

from margin.lab import sessions
from margin.lab.hub import EventHub
from margin.lab.sessions import LabSession, SessionPool
from margin.lab.stages.request import PlayRequest
from margin.service.requests import BadRequest

PATIENCE = 120.0  # seconds, for a busy machine; a test that holds needs two


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
    return found


def shown(client, id, condition):
    """The first snapshot for which the condition holds."""

    def look():
        snapshot = client.get(f"/api/sessions/{id}").json()
        return snapshot if condition(snapshot) else None

    return wait_for(look)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def control(client, id, action, value=None, **more):
    answer = client.post(f"/api/sessions/{id}/control", json={"action": action, "value": value, **more})
    assert answer.status_code == 200, answer.text


def test_a_session_plays_pauses_steps_back_and_gives_its_code(client):
    wish = {"model": "kmeans", "settings": ["n_clusters=3"], "seed": 5, "play": False}
    id = client.post("/api/sessions", json=wish).json()["id"]
    first = shown(client, id, lambda s: s["last"]["type"] == "frame")
    assert len(first["records"]) == 1
    control(client, id, "step", 4)
    five = shown(client, id, lambda s: len(s["records"]) == 5)
    control(client, id, "step", -3)
    two = shown(client, id, lambda s: len(s["records"]) == 2)
    assert two["records"] == five["records"][:2]
    control(client, id, "step", 3)
    again = shown(client, id, lambda s: len(s["records"]) == 5)
    assert again["records"] == five["records"]
    assert again["last"]["panels"] == five["last"]["panels"]
    exported = client.get(f"/api/sessions/{id}/code").json()
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(exported["python"], names)
    assert names["record"].as_dict() == exported["record"] == five["records"][-1]

    control(client, id, "play")
    end = shown(client, id, lambda s: s["last"].get("finished"))
    assert not end["last"]["playing"]

    pid = client.app.state.lab.sessions.get(id).pid
    os.kill(pid, signal.SIGKILL)
    dead = shown(client, id, lambda s: s["last"].get("ended"))
    assert "process ended" in dead["last"]["error"]
    refused = client.post(f"/api/sessions/{id}/control", json={"action": "play"})
    assert refused.status_code == 400
    assert "begin again" in refused.json()["error"]
    control(client, id, "open", wish=wish)
    reborn = shown(client, id, lambda s: s["last"]["type"] == "frame")
    assert reborn["records"] == first["records"]

    fresh = client.app.state.lab.sessions.get(id).pid
    assert client.delete(f"/api/sessions/{id}").status_code == 200
    assert client.get(f"/api/sessions/{id}").status_code == 404
    wait_for(lambda: not is_alive(fresh))


@pytest.mark.parametrize(
    "wish, sentence",
    [
        ({}, "model"),
        ({"model": "kmeen"}, "There is no model"),
        ({"model": "kmeans", "settings": ["n_clusters=0"]}, "n_clusters: '0' is not"),
        ({"model": "kmeans", "data": "../secret"}, "is shown with"),
        ({"model": "kmeans", "points": [[0, 0]] * 601}, "points"),
        ({"model": "kmeans", "seed": -1}, "seed"),
        ({"model": "kmeans", "more": 1}, "more"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_one_sentence(client, wish, sentence):
    answer = client.post("/api/sessions", json=wish)
    assert answer.status_code in (400, 404, 422)
    assert sentence in answer.json()["error"]
    assert list(answer.json()) == ["error"]
    assert len(client.app.state.lab.sessions) == 0


def test_processes_are_copies_that_outlive_what_they_were_copied_from(monkeypatch):
    pool = SessionPool(EventHub(), warm=True)
    pool.start()
    try:
        first = pool.create(PlayRequest("kmeans"), play=False)
        wait_for(lambda: first.records)
        template = pool._template._process.pid
        os.kill(template, signal.SIGKILL)
        first.tell("step", 2)
        wait_for(lambda: len(first.records) == 3)
        second = pool.create(PlayRequest("kmeans"), play=False, position=3)  # by another template
        wait_for(lambda: len(second.records) == 3)
        assert second.records == first.records
        assert pool._template._process.pid != template
        monkeypatch.delattr(os, "fork")
        third = pool.create(PlayRequest("kmeans"), play=False, position=3)
        wait_for(lambda: len(third.records) == 3)
        assert third.records == first.records
        processes = [session.pid for session in (first, second, third)]
    finally:
        pool.close()
    wait_for(lambda: not any(map(is_alive, processes)))


class Unstarted(LabSession):
    """A session whose process is never started: for tests of how many there are."""

    def _begin(self):
        self.ended, self.sent = False, []

    def tell(self, action, value=None):
        self.sent.append((action, value))

    def close(self):
        self.closed = True


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(sessions, "LabSession", Unstarted)
    return SessionPool(EventHub(), warm=False)


def test_fifty_sessions_at_once_are_never_more_than_the_bound(pool):
    request = PlayRequest("kmeans")
    threads = [threading.Thread(target=pool.create, args=(request,), kwargs={"play": False}) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool) == sessions.MOST_SESSIONS


def test_sessions_that_play_are_not_ended_for_another(pool):
    request = PlayRequest("kmeans")
    first = [pool.create(request, play=True) for _ in range(sessions.MOST_SESSIONS)]
    for session in first:
        session.last = {"type": "frame", "playing": True}
    with pytest.raises(BadRequest, match="pause or close one"):
        pool.create(request, play=True)
    first[3].last = {"type": "frame", "playing": False}
    pool.create(request, play=True)
    wait_for(lambda: first[3].closed)
    assert not any(session.closed for session in first if session is not first[3])


def test_fits_whose_tabs_are_gone_make_room_though_they_play(pool, monkeypatch):
    request = PlayRequest("kmeans")
    first = [pool.create(request, play=True) for _ in range(sessions.MOST_SESSIONS)]
    for session in first:
        session.last = {"type": "frame", "playing": True}
    monkeypatch.setattr(pool.hub, "followers", lambda topic: int(topic not in (first[2].topic, first[5].topic)))
    with pytest.raises(BadRequest, match="pause or close one"):
        pool.create(request, play=True)  # the tabs may be about to follow
    first[2].touched -= sessions.GRACE + 1
    pool.create(request, play=True)
    wait_for(lambda: first[2].closed)
    pool.note_followers({first[5].topic})  # it was followed, and is no more
    pool.create(request, play=True)
    wait_for(lambda: first[5].closed)
    assert not any(session.closed for session in first if session not in (first[2], first[5]))


def test_a_session_whose_tab_is_closed_is_ended(pool, monkeypatch):
    watched, left, never = (pool.create(PlayRequest("kmeans"), play=True) for _ in range(3))
    pool.note_followers({watched.topic, left.topic})
    monkeypatch.setattr(pool.hub, "followers", lambda topic: int(topic == watched.topic))
    now = time.monotonic()
    pool.end_unwatched(now + sessions.UNWATCHED - 10)
    assert len(pool) == 3
    pool.end_unwatched(now + sessions.UNWATCHED + 10)
    assert left.closed
    assert not watched.closed
    assert not never.closed  # its tab may be about to come, or a program asks for it
    pool.end_unwatched(now + sessions.UNASKED + 10)
    assert never.closed
    assert not watched.closed


def test_asking_for_a_session_keeps_it(pool):
    session = pool.create(PlayRequest("kmeans"), play=False)
    session.touched -= sessions.UNASKED + 1
    session.snapshot()
    pool.end_unwatched(time.monotonic())
    assert not session.closed


def test_models_and_presets_are_listed_with_their_stages(client):
    models = client.get("/api/models").json()
    assert {model["name"] for model in models} >= {"kmeans", "svc", "optimizers"}
    assert len({model["kind"] for model in models}) == 9
    facts = client.get("/api/models/svc").json()
    assert facts["scene"]["kind"] == "plane"
    assert {"name", "default", "sentence", "schema"} <= set(facts["parameters"][0])
    assert "support vectors" in facts["scene"]["reading"]["moons"]
    assert "moons" in facts["scene"]["looks"]
    optimizers = client.get("/api/models/optimizers").json()
    assert optimizers["scene"]["kind"] == "landscape"
    assert "adam" in {row["id"] for row in optimizers["rows"]}
    assert "optimizers" in client.get("/api/rows/adam").json()["models"]
    assert client.get("/api/models/nothing").status_code == 404
    pinn = client.get("/api/models/pinn").json()
    assert {"residual", "conditions"} <= set(pinn["scene"]["fixed"])  # what the stage makes is not typed
    lasso = client.get("/api/models/lasso").json()
    assert lasso["scene"]["view"] == {**dict.fromkeys(lasso["scene"]["data"], "curve"), "patients": "effects"}
    assert "patients" not in lasso["scene"]["drawable"]
    assert all("<math" in markup for markup in lasso["equations"].values())
    assert lasso["equations"]
    assert all(preset["kind"] for preset in client.get("/api/presets").json())
