"""What the twelve-table benchmark makes of outcomes, and the clock it counts by."""

import subprocess
import sys

import numpy as np
from benchmarks.data.mixed_table import mixed_table
from benchmarks.measuring.processor_clock import processor_seconds
from benchmarks.studies.compare import OURS, Outcome, findings, ranks, summary

from margin.data import profile


def outcomes(ours, theirs, failed=False):
    nan = float("nan")
    rows = [Outcome("one", 0, OURS, "roc_auc", ours, 1.0), Outcome("one", 0, "other", "roc_auc", theirs, 1.0)]
    lost = [Outcome("one", 0, "third", "", nan, 0.0, "the process ended")] if failed else []
    return [*rows, *lost]


def test_ranks_put_the_better_first_and_the_failed_last():
    assert ranks(outcomes(0.9, 0.8, failed=True)) == {OURS: [1.0], "other": [2.0], "third": [3.0]}
    assert ranks(outcomes(0.8, 0.9)) == {OURS: [2.0], "other": [1.0]}


def test_a_loss_is_printed_and_found():
    lost = outcomes(0.8, 0.9)
    assert "losses: 1" in summary(lost)
    assert [f.reached for f in findings(lost, ["absent"])] == [False, False, None]
    assert [f.reached for f in findings(outcomes(0.9, 0.9), [])] == [True, None], "equal is enough"


def test_the_clock_counts_what_a_child_computes():
    before = processor_seconds()
    work = "import numpy; sum(i * i for i in range(2_000_000))"
    subprocess.run([sys.executable, "-c", work], check=True)
    own = processor_seconds() - before
    assert own > 0.02
    assert processor_seconds(2) * 2 >= before


def test_the_mixed_table_is_as_it_says():
    frame = mixed_table(800, seed=1)
    assert frame.shape == (800, 30)
    kinds = {column.name: column.kind for column in profile(frame, "churned").columns}
    found = list(kinds.values())
    assert (found.count("number"), found.count("flag"), found.count("date")) == (16, 3, 1)
    assert kinds["customer_id"] == "identifier"
    assert 0.2 < np.mean(frame["churned"] == "yes") < 0.45
