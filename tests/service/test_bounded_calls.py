"""Calls in processes of their own: answers, refusals, limits, stops, and processes that die."""

import os
import threading
import time

import pytest

from margin.service.bounded_calls import BoundedCalls, CallGivenUp
from margin.service.describing import describe
from margin.service.requests import BadRequest

PATIENCE = 120.0  # a process begins late on a busy machine


@pytest.fixture(scope="module")
def calls():
    pool = BoundedCalls(n_workers=1, n_waiting=1)
    yield pool
    pool.close()


def test_a_call_answers_and_its_process_is_used_again(calls):
    first = calls.call(os.getpid, seconds=PATIENCE)
    assert first != os.getpid()
    assert calls.call(os.getpid, seconds=PATIENCE) == first


def test_a_refusal_comes_back_as_one_sentence(calls):
    with pytest.raises(BadRequest, match="neither a file nor a named data set"):
        calls.call(describe, "nothing-of-that-name", seconds=PATIENCE)


def test_a_call_that_takes_too_long_is_ended_and_the_next_one_answers(calls):
    with pytest.raises(CallGivenUp, match=r"not done within 0\.2 s"):
        calls.call(time.sleep, 600, seconds=0.2)
    assert calls.call(abs, -3, seconds=PATIENCE) == 3


def test_a_process_that_dies_is_told_apart_and_replaced(calls):
    with pytest.raises(CallGivenUp, match="ended before it was done"):
        calls.call(os._exit, 3, seconds=PATIENCE)
    assert calls.call(abs, -4, seconds=PATIENCE) == 4


def test_a_running_call_is_stopped_by_its_name_and_too_many_are_refused(calls):
    problems = []

    def wait(name):
        try:
            calls.call(time.sleep, 600, seconds=PATIENCE, name=name)
        except CallGivenUp as problem:
            problems.append(str(problem))

    threads = [threading.Thread(target=wait, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    while len(calls._busy) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.raises(CallGivenUp, match="2 calls are waiting already"):
        calls.call(abs, 1, seconds=PATIENCE)
    assert calls.stop("one")
    assert calls.stop("two")
    assert not calls.stop("nobody")
    for thread in threads:
        thread.join(PATIENCE)
    assert problems == ["stopped.", "stopped."]


def test_a_closed_pool_refuses():
    pool = BoundedCalls()
    pool.close()
    with pytest.raises(CallGivenUp, match="closing"):
        pool.call(abs, 1, seconds=PATIENCE)
