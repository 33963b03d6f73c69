"""The list of known failures of scikit-learn's own tests is sound: groups have reasons and patterns that compile."""

import re
import tomllib

from scikit_learn_tests import EXPECTED, expected_groups, group_of, packages, test_files

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


def test_every_package_with_a_class_of_ours_has_tests():
    assert all(test_files(package) for package in packages())
