"""The list of known failures of scikit-learn's own tests is sound: groups have reasons and patterns that compile."""

import json
import re
import tomllib
import warnings
from pathlib import Path

import pytest
from scikit_learn_tests import (
    EXPECTED,
    NOTHING_BUILT,
    chosen_files,
    expected_groups,
    group_of,
    joined,
    name_of,
    packages,
    test_files,
)
from stored_totals import files_left, totals
from words import go_on_after_other_words

STORED = Path(__file__).parents[2] / "benchmarks" / "results" / "full_scale" / "parity.json"

test_files.__test__ = False  # a function of the program, not a test


def test_every_group_has_a_reason_and_patterns():
    for name, group in tomllib.loads(EXPECTED.read_text()).items():
        assert set(group) == {"reason", "patterns"}, name
        assert group["reason"].endswith(".")
        assert all(re.compile(pattern) for pattern in group["patterns"])


def test_a_failure_belongs_to_its_group_and_news_to_none():
    groups = expected_groups()
    wording = {
        "test": "test_x.py::test_y",
        "error": "AssertionError: Regex pattern did not match.\n Expected regex: 'a'",
    }
    assert group_of(wording, groups) == "wording"
    assert group_of({"test": "test_x.py::test_y", "error": "ValueError: news"}, groups) is None


def test_no_pattern_is_without_a_failure():
    """Of the stored run: a pattern that excuses nothing would excuse the next bug."""
    stored = json.loads(STORED.read_text())["raw"]
    used = {(failure["reason"], failure["pattern"]) for failure in stored}
    listed = {(name, pattern) for name, patterns in expected_groups().items() for pattern in patterns}
    assert listed - used == set()
    assert used - listed == set()


def test_files_of_the_same_name_are_told_apart():
    names = [name_of(Path(file)) for package in packages() for file in test_files(package)]
    assert len(set(names)) == len(names)


def test_every_package_with_a_class_of_ours_has_tests():
    assert all(test_files(package) for package in packages())


def test_no_pattern_excuses_every_missing_error_or_warning():
    for said in ("Failed: DID NOT RAISE ValueError", "Failed: DID NOT WARN. No warnings of type (UserWarning,)"):
        assert group_of({"test": "test_x.py::test_y", "error": said}, expected_groups()) is None


def test_totals_count_each_test_once_and_tell_news_from_known_failures(tmp_path):
    news = {"test": "svm/tests/test_svm.py::test_a", "outcome": "failed", "error": "ValueError: news"}
    known = {"test": "svm/tests/test_svm.py::test_bad_input[42]", "outcome": "failed", "error": "Failed: DID NOT RAISE"}
    fine = {"test": "decomposition/tests/test_pca.py::test_b", "outcome": "passed", "error": ""}
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    files[0].write_text(json.dumps([news, known, fine]))
    files[1].write_text(json.dumps([news | {"outcome": "passed", "error": ""}]))
    first, both = totals(joined(files[:1])), totals(joined(files))
    assert dict(first["sklearn.svm"]) == {"unexplained": 1, "explained": 1, "tests": 2}
    assert dict(both["sklearn.svm"]) == {"passed": 1, "explained": 1, "tests": 2}
    assert dict(both["sklearn.decomposition"]) == {"passed": 1, "tests": 1}


def test_a_package_is_whole_once_all_tests_of_all_its_files_ran():
    whole = {"test": "svm/tests/test_bounds.py", "outcome": NOTHING_BUILT, "part": "all tests"}
    some = {"test": "svm/tests/test_svm.py::test_a", "outcome": "passed", "part": "chosen tests"}
    assert files_left([whole, some])["sklearn.svm"] == ["test_sparse.py", "test_svm.py"]
    assert "sklearn.svm" not in totals([whole])


def test_a_test_that_is_run_again_still_belongs_to_the_whole_run(tmp_path):
    first = {"test": "svm/tests/test_svm.py::test_a", "outcome": "failed", "error": "", "part": "all tests"}
    files = [tmp_path / "first.json", tmp_path / "second.json"]
    files[0].write_text(json.dumps([first]))
    files[1].write_text(json.dumps([first | {"outcome": "passed", "part": "chosen tests"}]))
    assert joined(files) == [first | {"outcome": "passed"}]
    assert joined(files[::-1]) == [first]


def test_packages_and_single_files_can_be_asked_for():
    assert [Path(file).name for file in chosen_files(["sklearn.svm:bounds", "sklearn.kernel_ridge"])] == [
        "test_bounds.py",
        "test_kernel_ridge.py",
    ]


def test_other_words_are_noted_and_the_test_goes_on(monkeypatch):
    noted = []
    for name in ("raises", "warns"):
        monkeypatch.setattr(pytest, name, getattr(pytest, name))  # puts the real ones back afterwards
    go_on_after_other_words(noted)
    with pytest.raises(ValueError, match="same words"):
        raise ValueError("the same words")
    with pytest.warns(UserWarning, match="same words"):
        warnings.warn("the same words", UserWarning, stacklevel=1)
    assert not noted
    with pytest.raises(ValueError, match="same words") as caught:
        raise ValueError("others")
    with pytest.warns(UserWarning, match="same words"):
        warnings.warn("others", UserWarning, stacklevel=1)
    assert str(caught.value) == "others"
    assert len(noted) == 2
    assert all(said.startswith("Regex pattern did not match") for said in noted)
    with pytest.raises(TypeError), pytest.raises(ValueError, match="same words"):
        raise TypeError("another kind is an error as before")
