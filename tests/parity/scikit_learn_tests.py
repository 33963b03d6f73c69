"""scikit-learn's own tests, run against our classes of the same names.

``python tests/parity/scikit_learn_tests.py [package ...] [--out report.json]`` imports the tests from the installed
scikit-learn (nothing of them is kept here), with our classes in place of its own, and counts for every class how many
of the tests that build it pass. Failures that are known are listed in ``expected.toml``: groups with a reason, each
with patterns over "test: error". The program ends with 1 if a failure is not listed. It takes an hour or two of one
processor; name packages to run some of them, or run the first and last case of every test only with ``--few``. Reports
are read again with ``--read report.json ...`` (of a test in several the last one counts); ``--store`` keeps the totals.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import differences
import pytest
import sklearn
from words import go_on_after_other_words

SECONDS = 120  # of processor time for one test, and ten times that by the clock: other programs may be running
EXPECTED = Path(__file__).with_name("expected.toml")
HOME = Path(sklearn.__path__[0])
NOTHING_BUILT = "nothing built"  # the outcome of a file whose tests build no class of ours


def packages() -> dict[str, list[str]]:
    """scikit-learn's packages (or modules) with tests, and the names of our classes in them."""
    found: dict[str, list[str]] = {}
    for _, theirs in differences.same_named():
        parts = theirs.__module__.split(".")
        package = ".".join(parts[:2])
        found.setdefault(package, []).append(theirs.__name__)
    return found


def test_files(package: str) -> list[str]:
    """The files with tests that name a class of ours: in the package's folder, or scikit-learn's for a module."""
    home = importlib.import_module(package)
    if hasattr(home, "__path__"):
        files = sorted(Path(home.__path__[0]).glob("**/tests/test_*.py"))
    else:
        files = [HOME / "tests" / f"test_{package.rpartition('.')[2]}.py"]
    names = re.compile("|".join(rf"\b{name}\b" for name in packages()[package]))
    return [str(file) for file in files if names.search(file.read_text())]


def name_of(file: Path) -> str:
    """With its folders: files of the same name have tests of the same name, even within one package."""
    return str(file.relative_to(HOME))


class Recorder:
    """A pytest plugin: puts our classes in place before the tests are imported and notes who built what.

    Every result is one line of JSON, written at once: a crash loses the test that crashed and those after it, no more.
    """

    def __init__(self, out: Path, few: bool = False):
        self.out, self.few = out, few
        self.built: set[str] = set()
        self.other_words: list[str] = []

    def pytest_configure(self) -> None:
        from margin.core.estimator import Estimator

        for ours, theirs in differences.same_named():
            home = importlib.import_module(".".join(theirs.__module__.split(".")[:2]))
            setattr(home, theirs.__name__, ours)

        def note(cls: type, *_args: object, **_settings: object) -> object:
            self.built.add(cls.__name__)
            return object.__new__(cls)

        Estimator.__new__ = note  # type: ignore[method-assign, assignment]
        go_on_after_other_words(self.other_words)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """With ``few``, the first and last case of every test."""
        if self.few:
            cases: dict[str, list[pytest.Item]] = {}
            for item in items:
                cases.setdefault(item.nodeid.split("[")[0], []).append(item)
            items[:] = [item for found in cases.values() for item in dict.fromkeys([found[0], found[-1]])]

    def pytest_runtest_setup(self) -> None:
        self.built.clear()
        self.other_words.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        del item
        signal.signal(signal.SIGPROF, _too_long)
        signal.signal(signal.SIGALRM, _too_long)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(10 * SECONDS)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "call" and self.built:
            result = {"test": f"{name_of(item.path)}::{item.name}", "outcome": report.outcome, "error": "", "at": ""}
            result["classes"] = ",".join(sorted(self.built))
            if call.excinfo is not None and report.outcome == "failed":
                result["error"] = f"{call.excinfo.typename}: {call.excinfo.value}"[:500]
                result["at"] = _last_line_of_ours(call.excinfo)
            elif report.outcome == "passed" and self.other_words:
                result |= {"outcome": "failed", "error": "; ".join(self.other_words)[:1000]}
            with self.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
        return report


def _too_long(*_: object) -> None:
    raise TimeoutError(f"the test takes longer than {SECONDS} seconds")


def _last_line_of_ours(failure: pytest.ExceptionInfo[BaseException]) -> str:
    """The innermost line of this package in the traceback: where the difference is, if it is not in the test itself."""
    ours = [entry for entry in failure.traceback if "/margin/" in str(entry.path)]
    return f"{ours[-1].path.parent.name}/{ours[-1].path.name}:{ours[-1].lineno + 1}" if ours else ""


def run_file(file: str, only: str = "", few: bool = False) -> list[dict[str, str]]:
    """The tests of one file, in a process of its own: the classes of scikit-learn are replaced in it.

    A file none of whose tests builds a class of ours gives one entry that says so: it has been run.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results.jsonl"
        command = [sys.executable, __file__, "--inside", file, str(out), "--only", only, *(["--few"] if few else [])]
        ended = subprocess.run(command, check=False).returncode
        results = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    name = name_of(Path(file))
    if ended < 0:
        results.append({"test": name, "outcome": "failed", "error": f"signal {-ended}", "at": "", "classes": "crash"})
    elif not results:
        results.append({"test": name, "outcome": NOTHING_BUILT, "error": "", "at": "", "classes": ""})
    part = f"{'first and last case of ' if few else ''}{'chosen tests' if only else 'all tests'}"
    return [result | {"part": part} for result in results]


def run_inside(file: str, out: Path, only: str, few: bool) -> int:
    arguments = [file, "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-k", only]
    return int(pytest.main([*arguments, "-p", "no:doctest", "-c", "/dev/null"], plugins=[Recorder(out, few)]))


def chosen_files(names: list[str]) -> list[str]:
    """Test files of packages (``sklearn.svm``), or some of them (``sklearn.svm:test_bounds``); all without a name."""
    chosen = []
    for name in names or packages():
        package, _, part = name.partition(":")
        chosen += [file for file in test_files(package) if part in file]
    return chosen


def expected_groups() -> dict[str, list[str]]:
    """Patterns of every group, in the order in which they are tried."""
    return {name: group["patterns"] for name, group in tomllib.loads(EXPECTED.read_text()).items()}


def reason_of(result: dict[str, str], groups: dict[str, list[str]]) -> tuple[str, str] | None:
    """The group that a failure belongs to and the pattern that says so: the first of both that matches."""
    said = f"{result['test']}: {result['error']}".replace("\n", " ")
    found = ((name, p) for name, patterns in groups.items() for p in patterns if re.search(p, said))
    return next(found, None)


def group_of(result: dict[str, str], groups: dict[str, list[str]]) -> str | None:
    reason = reason_of(result, groups)
    return None if reason is None else reason[0]


def report(results: list[dict[str, str]]) -> int:
    """Counts per class and per group of known failures on the screen; 1 if a failure belongs to no group."""
    groups = expected_groups()
    counts: dict[str, Counter[str]] = {}
    known: Counter[str] = Counter()
    unexplained = []
    for result in results:
        outcome = result["outcome"]
        if outcome == NOTHING_BUILT:
            continue
        if outcome == "failed":
            outcome = group_of(result, groups) or "unexplained"
            known[outcome] += 1
            if outcome == "unexplained":
                unexplained.append(result)
        for name in result["classes"].split(","):
            counts.setdefault(name, Counter())[outcome] += 1
    for name, count in sorted(counts.items()):
        print(f"{name:32} {dict(count.most_common())}")
    for result in unexplained:
        print(f"unexplained: {result['test']}: {result['error']}")
    total = Counter(result["outcome"] for result in results if result["outcome"] != NOTHING_BUILT)
    print(f"failures by group: {dict(known.most_common())}")
    print(f"{total.total()} tests build a class of ours: {dict(total)}, {len(unexplained)} failures without a reason")
    return int(bool(unexplained))


def joined(files: list[Path]) -> list[dict[str, str]]:
    """The results of several reports; of a test in more than one of them the last, which belongs to the fullest run."""
    found: dict[str, dict[str, str]] = {}
    for result in (result for file in files for result in json.loads(file.read_text())):
        before = found.get(result["test"], {}).get("part")
        found[result["test"]] = result | ({"part": before} if before == "all tests" else {})
    ran = {test.partition("::")[0] for test in found if "::" in test}
    return [result for test, result in found.items() if result["outcome"] != NOTHING_BUILT or test not in ran]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="sklearn.svm, sklearn.svm:test_bounds ...; all by default")
    parser.add_argument("--only", default="", help="names of tests or test files, as pytest's -k takes them")
    parser.add_argument("--few", action="store_true", help="of every test the first and the last case only")
    parser.add_argument("--out", type=Path, help="write every result as JSON")
    parser.add_argument("--read", type=Path, nargs="+", help="judge these results instead of running anything")
    parser.add_argument("--store", action="store_true", help="with --read: keep the totals as evidence")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return run_inside(given.inside[0], Path(given.inside[1]), given.only, given.few)
    if given.read:
        results = joined(given.read)
        if given.store:
            importlib.import_module("stored_totals").store(results)
        return report(results)
    results = []
    for file in chosen_files(given.packages):
        results += run_file(file, given.only, given.few)
        if given.out:  # after every file: the program may be stopped at any time
            given.out.write_text(json.dumps(results, indent=1))
    return report(results)


if __name__ == "__main__":
    sys.exit(main())
