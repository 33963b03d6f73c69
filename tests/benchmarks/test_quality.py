"""The comparison of defaults: what counts as worse, and what a table that one side refuses is told as."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _benchmarks_on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def run(split, ours, theirs, model="Ridge", table="wine"):
    found = {"table": table, "model": model, "split": split}
    return found | {
        "ours": {"loss": ours, "seconds": 1.0 + split},
        "theirs": {"loss": theirs, "seconds": 3.0 + split},
    }


def test_the_interval_is_that_of_nadeau_and_bengio():
    from benchmarks.studies.quality import difference

    gaps = np.array([0.1, 0.3, 0.2, 0.2])
    found = difference([run(k, 1.0 + gap, 1.0) for k, gap in enumerate(gaps)])
    # The variance of a mean of n plus the test rows per training row, here one to three.
    half = stats.t(3).ppf(0.975) * np.sqrt((1 / 4 + 1 / 3) * gaps.var(ddof=1))
    assert found["interval"] == pytest.approx(half)
    assert found["difference"] == pytest.approx(0.2)
    assert found["worse"] is bool(half < 0.2)
    assert not found["better"]
    assert found["time_ratio"] == pytest.approx(3.0)
    assert difference([run(0, 2.0, 1.0)])["interval"] == np.inf  # one split says nothing


def test_losses_are_named_and_refusals_are_rows():
    from benchmarks.studies.quality import failures, findings, summary

    runs = [run(k, 1.0 + 0.1 * (k % 2), 0.2) for k in range(3)] + [run(k, 0.1, 0.2, table="iris") for k in range(3)]
    runs += [{"table": "sonar", "model": "Ridge", "split": 0, "theirs": {}, "ours_failed": "ValueError: no"}]
    rows = summary(runs)
    assert [row["table"] for row in rows] == ["wine", "iris"]
    (told,) = findings(rows)
    assert not told.reached
    assert told.measured.startswith("better 1, even 0, worse 1 of 2 tables; wine 1.0333 against 0.2000")
    (refused,) = failures(runs)
    assert refused.what == "Ridge on sonar"
    assert refused.reached is False
