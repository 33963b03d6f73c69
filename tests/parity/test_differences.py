"""The page of differences from scikit-learn is complete, current and gives a reason for each."""

from pathlib import Path

import differences as page
import pytest
import sklearn

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not sklearn.__version__.startswith(page.MEASURED_WITH), reason="other versions have other signatures"
)


def test_every_difference_has_a_reason():
    known = page.reasons()
    missing = [f"{d.owner}.{d.parameter}" for d in page.differences() if page.reason_for(d, known) is None]
    assert missing == []


def test_every_reason_belongs_to_a_difference():
    found = {(d.owner, d.parameter) for d in page.differences()}
    names = {parameter for _, parameter in found}
    unused = [
        f"{owner}.{name}"
        for owner, name in page.reasons()
        if (owner == "every" and name not in names) or (owner != "every" and (owner, name) not in found)
    ]
    assert unused == []


def test_the_page_is_current():
    shown = (ROOT / "docs" / "differences.md").read_text()
    assert shown == page.render(), "run: python tests/parity/differences.py > docs/differences.md"


def test_the_comparison_sees_what_differs():
    assert page.same_default("1", "1.0")
    assert not page.same_default("'a'", "'b'")
    assert not page.same_default("–", "None")
    assert len(page.same_named()) > 30
