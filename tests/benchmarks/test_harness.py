"""The benchmark harness: equal treatment, quality beside time, missing and failing peers as rows."""

import importlib
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _benchmarks_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def case(calls):
    from benchmarks.measuring.harness import Case, Peer

    def named(name):
        def call(data):
            calls.append(name)
            return data.sum()

        return call

    def fails(data):
        raise RuntimeError("out of order")

    peers = (
        Peer("peer", "numpy", named("peer")),
        Peer("absent", "no_such_module", named("absent")),
        Peer("broken", "numpy", fails),
    )
    return Case("sum", "10", lambda: np.ones(10), named("margin"), peers, lambda data, found: found / len(data), "mean")


def test_ways_alternate_and_failures_are_rows():
    from benchmarks.measuring.harness import measure

    calls = []
    found = measure(case(calls), rounds=3)
    assert calls == ["margin", "peer"] * 4  # once for the quality, three timed rounds
    assert [way.who for way in found] == ["margin", "peer", "broken", "absent"]
    assert found[0].quality == found[1].quality == 1.0
    assert 0 < found[0].wall < 1
    assert found[2].note == "RuntimeError: out of order"
    assert found[3].note == "no_such_module is not installed"


def test_report_has_ratios_conditions_and_plain_json(tmp_path, monkeypatch):
    from benchmarks.measuring import report
    from benchmarks.measuring.harness import measure
    from rich.console import Console

    one = case([])
    row = report.row(one, measure(one, rounds=1))
    ours, peer, broken, _ = row["ways"]
    assert peer["ratio_wall"] == pytest.approx(peer["wall"] / ours["wall"])
    assert "ratio_wall" not in broken
    assert broken["wall"] is None
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    conditions = report.conditions(threads=1)
    stored = json.loads(report.save("demo", [row], conditions).read_text())
    assert stored["conditions"]["versions"]["numpy"] == np.__version__
    assert {"threads", "OMP_WAIT_POLICY", "load", "processor"} <= stored["conditions"].keys()
    console = Console(width=200, record=True, file=io.StringIO())
    report.show("demo", [row], conditions, console)
    text = console.export_text()
    assert "no_such_module is not installed" in text
    assert "RuntimeError: out of order" in text


def test_the_overview_runs_in_the_harness_at_three_sizes():
    from benchmarks.families.classical import cases
    from benchmarks.measuring.harness import Case

    listed = cases(quick=True)
    assert all(isinstance(one, Case) for one in listed)
    assert len({one.size for one in listed if one.name == "least squares"}) == 3


def test_unknown_families_are_named():
    main = importlib.import_module("benchmarks.__main__")
    with pytest.raises(SystemExit, match="There is no family 'nothing'"):
        main.cases_of("nothing", quick=True)
    assert "classical" in main.names("families")
    assert "benchmarks" in sys.modules


def test_the_name_of_a_study_makes_all_of_its_runs(monkeypatch):
    main = importlib.import_module("benchmarks.__main__")
    called = []
    program = SimpleNamespace(RUNS=(("cora", "--seeds", "3"), ("rings",)), main=lambda: called.append(sys.argv[1:]))
    monkeypatch.setattr(main, "module_of", lambda family: program)
    before = list(sys.argv)
    main.run("graphs", quick=False, threads=1, rounds=None, only="")
    assert called == [["cora", "--seeds", "3"], ["rings"]]
    assert sys.argv == before
    main.run("graphs", quick=False, threads=1, rounds=None, only="rings")
    assert called[2:] == [["rings"]]
    with pytest.raises(SystemExit, match="graphs is measured at full scale only"):
        main.run("graphs", quick=True, threads=1, rounds=None, only="")
    assert main.own_runs(SimpleNamespace(STUDIES={"lenet": None}, main=None)) == [("lenet",)]
    assert main.own_runs(SimpleNamespace(cases=list, RUNS=(("a",),))) == []


def test_every_family_has_cases_and_every_study_is_a_program():
    main = importlib.import_module("benchmarks.__main__")
    for folder, marks in (("families", ("def cases(",)), ("studies", ("def main(", 'if __name__ == "__main__":'))):
        for name in main.names(folder):
            text = (ROOT / "benchmarks" / folder / f"{name}.py").read_text(encoding="utf-8")
            assert all(mark in text for mark in marks), f"benchmarks/{folder}/{name}.py"


@pytest.mark.parametrize("study", ["graphs", "fewshot", "physics", "bccd", "peer_values"])
def test_every_run_of_a_study_is_one_that_it_takes(study):
    module = importlib.import_module(f"benchmarks.studies.{study}")
    for arguments in module.RUNS:
        module.parser().parse_args(arguments)


def test_cases_measured_anew_replace_the_stored_ones(tmp_path, monkeypatch):
    main = importlib.import_module("benchmarks.__main__")
    monkeypatch.setattr(main, "RESULTS", tmp_path)
    assert main._others("sums", []) == []
    stored = [{"case": "sum", "size": size, "ways": [size]} for size in ("10", "20")]
    (tmp_path / "sums.json").write_text(json.dumps({"cases": stored}))
    assert main._others("sums", [{"case": "sum", "size": "10"}]) == stored[1:]


def test_findings_of_full_scale_runs_are_printed_misses_included(tmp_path):
    from benchmarks.measuring.evidence import Finding, save_findings
    from benchmarks.page import render

    findings = [Finding("error | mean", "0.7 %", "0.95 %", True), Finding("time", "3 s", "2 s", False)]
    save_findings(
        "digits",
        "Digits",
        protocol="Five seeds.",
        command="python -m x",
        findings=findings,
        folder=tmp_path / "full_scale",
    )
    page = render(tmp_path)
    assert "Five seeds. `python -m x`; 1 thread(s)" in page
    assert "| error &#124; mean | 0.7 % | 0.95 % | reached |" in page
    assert "| time | 3 s | 2 s | **missed** |" in page


def test_the_page_begins_with_losses_and_missed_goals(tmp_path):
    from benchmarks.page import render

    def case(name, ratio):
        ways = [{"who": "margin", "cpu": 1.0, "quality": None}, {"who": "a", "cpu": ratio, "ratio_cpu": ratio}]
        ways = [{"wall": 1.0, "quality": None, "note": "", "remark": "", **way} for way in ways]
        return {"case": name, "size": "1", "quality_name": "q", "ways": ways}

    state = {"threads": 1, "processor": "P", "load": [0.0], "versions": {}}
    stored = {"family": "linear", "conditions": state, "cases": [case("won", 2.0), case("lost", 0.5)]}
    (tmp_path / "linear.json").write_text(json.dumps(stored))
    page = render(tmp_path)
    head, _, tables = page.partition("# The long tables")
    assert "1 of 2 cases are slower" in head
    assert "| lost | 1 | a | 0.50 |  |" in head
    assert "| Linear models | 2 | 1.00 | 0.50 |" in head
    assert "won" in tables
    assert "won" not in head


def test_the_page_is_that_of_the_stored_results():
    from benchmarks.page import render

    written = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert written == render(ROOT / "benchmarks" / "results"), "run: python -m benchmarks.page > docs/benchmarks.md"
