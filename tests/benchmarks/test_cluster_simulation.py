"""The simulated cluster in cases that can be worked out by hand."""

import pytest
from benchmarks.measuring.cluster_simulation import Asking, PartCost, asking_time, simulate_pass

LINE = {"merge": 0.0, "bandwidth": 1e30}


@pytest.mark.parametrize(("workers", "expected"), [(1, 12.0), (2, 6.0), (3, 4.0), (12, 1.0), (100, 1.0)])
def test_free_messages_share_the_work_evenly(workers, expected):
    found = simulate_pass([PartCost(1.0, 8.0)] * 12, workers, **LINE)
    assert (found.total, found.busiest) == pytest.approx((expected, expected))


def test_the_line_of_the_caller_is_a_bound():
    found = simulate_pass([PartCost(0.001, 1e6)] * 50, 50, merge=0.0, bandwidth=1e6)
    assert found.total == pytest.approx(50.001)


def test_the_caller_merges_one_after_another():
    found = simulate_pass([PartCost(0.5, 0.0)] * 20, 20, merge=0.1, bandwidth=1e9, latency=0.25)
    assert found.total == pytest.approx(0.25 + 0.5 + 0.25 + 20 * 0.1)
    assert found.caller == pytest.approx(2.0)


def test_a_slow_part_holds_up_those_beyond_the_window():
    """Two workers, two parts ahead of each: the fifth is sent when the first, slow one is merged."""
    parts = [PartCost(10.0, 0.0), *[PartCost(1.0, 0.0)] * 4]
    assert simulate_pass(parts, 2, **LINE).total == pytest.approx(11.0)
    assert simulate_pass(parts, 2, **LINE, ahead=9).total == pytest.approx(10.0)


@pytest.mark.parametrize(("workers", "expected"), [(1, 12.0 + 0.4 + 0.4), (4, 3.0 + 0.7 + 0.4)])
def test_questions_wait_for_each_other_and_for_the_line(workers, expected):
    """Two questions: 12 s of work, 0.1 s of the line for each worker, 0.3 s for rows, and four latencies of 0.1 s."""
    asking = Asking(calls=2, seconds=12.0, size=10.0, rows_size=30.0)
    found = asking_time(asking, workers, scale=1.0, bandwidth=100.0, latency=0.1)
    assert found.total == pytest.approx(expected)
    assert found.busiest == pytest.approx(12.0 / workers)
    assert asking_time(asking, workers, scale=3.0, bandwidth=1e30, latency=0.0).total == pytest.approx(36.0 / workers)
