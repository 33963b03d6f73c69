"""Comparisons of a page: started, watched, stopped, continued by another program, refused."""

import contextlib
import json
import threading

import pytest

from margin.service.comparison_jobs import ComparisonJobs, report_file, stored_snapshot, write_as_code, write_report
from margin.service.requests import BadRequest

PATIENCE = 300.0
OPTIONS = {"models": ["gaussian-nb", "k-neighbors-classifier", "linear-discriminant-analysis"], "folds": 2}
OPTIONS |= {"curve": False, "ensembles": False, "n_jobs": 1}


class Boards:
    """What was published, and a way to wait for it."""

    def __init__(self, act=None):
        self.seen, self.act = [], act
        self.ended = threading.Event()

    def __call__(self, id, board):
        self.seen.append(board)
        if self.act is not None and board["running"] and board.get("trials", {}).get("done"):
            act, self.act = self.act, None
            with contextlib.suppress(BadRequest):  # it may have ended meanwhile
                act(id)
        if not board["running"]:
            self.ended.set()


def trials_of(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def test_a_comparison_is_watched_to_its_end_and_opened_by_another_program(tmp_path):
    boards = Boards()
    jobs = ComparisonJobs(tmp_path, boards)
    id = jobs.start("iris", "iris", OPTIONS)
    assert id == "compare-iris"
    assert boards.ended.wait(PATIENCE)
    board = jobs.snapshot(id)
    assert (board["status"], board["running"], board["error"]) == ("finished", False, "")
    assert board["winner"] in OPTIONS["models"]
    assert board["has_report"]
    json.dumps(board, allow_nan=False)
    assert report_file(tmp_path, id).read_text().startswith("<!DOCTYPE html>")
    other = stored_snapshot(str(tmp_path), id)
    assert [row["model"] for row in other["board"]] == [row["model"] for row in board["board"]]
    assert ComparisonJobs(tmp_path, boards).snapshot(id) is None
    report_file(tmp_path, id).unlink()
    with pytest.raises(KeyError, match="no report yet"):
        report_file(tmp_path, id)
    write_report(str(tmp_path), id)
    assert report_file(tmp_path, id).is_file()


def test_a_stopped_comparison_is_continued_by_another_program(tmp_path):
    jobs = None
    boards = Boards(act=lambda id: jobs.stop(id))
    jobs = ComparisonJobs(tmp_path, boards)
    many = {**OPTIONS, "models": [*OPTIONS["models"], "decision-tree-classifier", "logistic-regression"], "folds": 10}
    id = jobs.start("iris", "iris", many)
    assert boards.ended.wait(PATIENCE)
    stopped = jobs.snapshot(id)
    before = trials_of(tmp_path / id)
    again = Boards()
    restarted = ComparisonJobs(tmp_path, again)
    restarted.resume(id)
    assert again.ended.wait(PATIENCE)
    board = restarted.snapshot(id)
    assert board["status"] == "finished", (stopped["status"], board)
    assert len(board["board"]) == len(many["models"]) + 1
    assert trials_of(tmp_path / id)[: len(before)] == before, "what was measured is not measured again"


def test_names_of_folders_are_never_used_twice(tmp_path):
    (tmp_path / "compare-iris").mkdir()
    boards = Boards()
    jobs = ComparisonJobs(tmp_path, boards)
    assert jobs.start("nothing-of-that-name", "iris", {"n_jobs": 1}) == "compare-iris-2"
    assert boards.ended.wait(PATIENCE)
    board = jobs.snapshot("compare-iris-2")
    assert board["status"] == "failed"
    assert "neither a file nor a named data set" in board["error"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"folds": 1}, "folds must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"nothing": 1}, "no option 'nothing'"),
        ({"generative": True}, "--generative"),
        ({"budget": "soon"}, "budget must be"),
    ],
)
def test_wrong_options_are_refused_before_anything_begins(tmp_path, options, sentence):
    jobs = ComparisonJobs(tmp_path, Boards())
    with pytest.raises(BadRequest, match=sentence):
        jobs.start("iris", "iris", options)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_run_cannot_be_stopped_nor_others_continued(tmp_path):
    jobs = ComparisonJobs(tmp_path, Boards())
    with pytest.raises(BadRequest, match="is not running"):
        jobs.stop("nobody")
    with pytest.raises(KeyError, match="no run"):
        jobs.resume("nobody")
    (tmp_path / "fit").mkdir()
    (tmp_path / "fit" / "manifest.json").write_text('{"identity": {"kind": "fit"}, "status": "finished"}')
    with pytest.raises(BadRequest, match="no comparison"):
        jobs.resume("fit")
    with pytest.raises(BadRequest, match="no comparison"):
        stored_snapshot(str(tmp_path), "fit")


def test_the_code_of_a_comparison_names_what_was_chosen():
    code = write_as_code("t.csv", {"target": "y", "kinds": {"zip": "category"}, "n_jobs": 2})
    assert code["python"].endswith("margin.compare('t.csv', target='y', kinds={'zip': 'category'})")
    assert code["command"].startswith("margin compare t.csv --target y")
