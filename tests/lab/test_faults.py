"""What goes wrong around the lab: its process is killed, the disk is full, everybody comes at once."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.lab.browsing import PATIENCE, wait_for

from margin.lab import sessions
from margin.service import experiment_pages, row_checks

pytest.importorskip("uvicorn")

MODELS = ["gaussian-nb", "k-neighbors-classifier", "linear-discriminant-analysis"]
OPTIONS = {"models": MODELS, "folds": 5, "curve": False, "ensembles": False, "n_jobs": 1}


class Visitor:
    """A client that has entered a lab by the address that it printed."""

    def __init__(self, entrance):
        self.host, token = re.fullmatch(r"http://([^/]+)/\?token=(\S+)", entrance).groups()
        self.cookie = f"margin-lab-{self.host.rpartition(':')[2]}={token}"

    def ask(self, method, path, body=None):
        """Status and answer."""
        connection = HTTPConnection(self.host, timeout=PATIENCE)
        headers = {"cookie": self.cookie, "origin": f"http://{self.host}", "content-type": "application/json"}
        connection.request(method, f"/api{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        status, text = answer.status, answer.read()
        connection.close()
        return status, json.loads(text)


@pytest.fixture
def start_lab(tmp_path):
    """Starts ``margin lab`` as a person does: the process, and a visitor."""
    started = []

    def start():
        command = [sys.executable, "-m", "margin", "lab", "--port", "0", "--no-browser", "--folder", tmp_path / "runs"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        said = next(line for line in process.stdout if "http://" in line)
        return process, Visitor(re.search(r"http://\S+", said)[0])

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def children_of(pid):
    """Every process below this one."""
    found, below = set(), {pid}
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    while below:
        below = {child for child, parent in parents.items() if parent in below}
        found |= below
    return found


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="children are found by /proc")
def test_a_killed_lab_leaves_no_process_and_the_next_one_continues_its_comparison(start_lab, tmp_path):
    lab, visitor = start_lab()
    status, session = visitor.ask("POST", "/sessions", {"model": "kmeans", "play": False})
    assert status == 200
    wait_for(lambda: visitor.ask("GET", f"/sessions/{session['id']}")[1]["records"])
    id = visitor.ask("POST", "/comparisons", {"set": "iris", "options": OPTIONS})[1]["id"]
    trials = tmp_path / "runs" / id / "trials.jsonl"
    wait_for(lambda: trials.exists() and len(trials.read_text().splitlines()) >= 3)
    below = children_of(lab.pid)
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    assert below
    wait_for(lambda: not any(map(is_running, below)))
    measured = [json.loads(line) for line in trials.read_text().splitlines()]

    _, visitor = start_lab()
    assert not visitor.ask("GET", f"/comparisons/{id}")[1]["running"]
    assert visitor.ask("POST", f"/comparisons/{id}/continue", {}) == (200, {"running": True})
    board = wait_for(lambda: (b := visitor.ask("GET", f"/comparisons/{id}")[1]) and not b["running"] and b)
    assert (board["status"], board["error"]) == ("finished", "")
    assert {row["model"] for row in board["board"]} >= set(MODELS)
    lines = [json.loads(line) for line in trials.read_text().splitlines()]
    assert lines[: len(measured)] == measured, "what was measured is not measured again"


def test_fifty_sessions_at_once_leave_a_lab_that_answers(served):
    visitor = Visitor(served.entrance)
    answers = []

    def begin(number):
        wish = {
            "model": "gaussian-mixture",
            "seed": number,
            "settings": ["max_iter=100000", "tol=0"],
            "play": number % 2 == 0,
        }
        answers.append(visitor.ask("POST", "/sessions", wish))

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 50
    assert all(status == 200 or (status == 400 and "fits are playing" in said["error"]) for status, said in answers)
    begun = [said["id"] for status, said in answers if status == 200]
    alive = [id for id in begun if visitor.ask("GET", f"/sessions/{id}")[0] == 200]
    assert 0 < len(alive) <= sessions.MOST_SESSIONS
    for id in alive:
        wait_for(lambda id=id: visitor.ask("GET", f"/sessions/{id}")[1]["records"])
        assert visitor.ask("DELETE", f"/sessions/{id}", {})[0] == 200


def test_closed_tabs_make_room_at_once_though_their_fits_play(served):
    visitor = Visitor(served.entrance)
    wish = {"model": "gaussian-mixture", "settings": ["max_iter=100000", "tol=0"], "play": True}
    begun = []
    for _ in range(sessions.MOST_SESSIONS):
        status, said = visitor.ask("POST", "/sessions", wish)
        assert status == 200
        begun.append(said["id"])
        wait_for(lambda id=said["id"]: visitor.ask("GET", f"/sessions/{id}")[1]["last"].get("playing"))
        connection = HTTPConnection(visitor.host, timeout=PATIENCE)  # a tab that follows, and is closed
        connection.request("GET", f"/api/events?topics={said['topic']}@", headers={"cookie": visitor.cookie})
        assert connection.getresponse().status == 200
        connection.sock.shutdown(2)
        connection.close()
        wait_for(lambda topic=said["topic"]: not served.sessions.hub.followers(topic))
    status, said = visitor.ask("POST", "/sessions", wish)
    assert status == 200, said
    for id in [*begun, said["id"]]:
        visitor.ask("DELETE", f"/sessions/{id}", {})


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/home/somebody/.cache/margin")


def test_a_picture_for_which_the_disk_has_no_room_is_one_sentence_without_paths(client, monkeypatch):
    monkeypatch.setattr(experiment_pages, "draw_experiment", full)
    answer = client.post("/api/experiments/minus-log/draw", json={"seed": 3})
    assert answer.status_code == 507
    assert answer.json() == {"error": "The disk is full: nothing was kept; make room and try again."}


def test_a_drawing_that_finds_the_disk_full_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment_pages.os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        experiment_pages.draw_experiment("minus-log", 0, True, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_check_is_answered_though_the_disk_has_no_room_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr("margin.service.model_facts.os.replace", full)
    facts = row_checks.check_row("sigmoid-derivative", 0, str(tmp_path))
    assert facts["verdict"] == "holds"
    assert row_checks.kept_check("sigmoid-derivative", 0, str(tmp_path)) is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_process_that_stands_still_is_ended_with_its_session(served):
    """Ended means ended: a process that hears nothing any more is killed, not asked."""
    visitor = Visitor(served.entrance)
    id = visitor.ask("POST", "/sessions", {"model": "kmeans", "play": False})[1]["id"]
    wait_for(lambda: visitor.ask("GET", f"/sessions/{id}")[1]["records"])
    pid = served.sessions.get(id).pid
    os.kill(pid, signal.SIGSTOP)
    assert visitor.ask("DELETE", f"/sessions/{id}", {})[0] == 200
    wait_for(lambda: not is_running(pid))
