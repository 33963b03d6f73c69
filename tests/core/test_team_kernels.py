"""Blocks of work that threads share: each is done once, by whoever takes it, and the one who offers waits for all."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from margin.core import parallel
from margin.core.atomic_kernels import add_atomic, clear_atomic, load_atomic, pause, store_atomic
from margin.core.cached_kernels import interpreted, njit
from margin.core.parallel import assisted
from margin.core.team_kernels import JOB, OVER, claim, finish, is_over, new_board, offer, wait_for


@njit(nogil=True)
def lead(board, jobs, done, thread=0):
    """Offer jobs of 1, 2, 3, ... blocks; a block of job k adds k + 1 to its place in ``done``."""
    for job in range(jobs):
        board[JOB] = job
        offer(board, job % done.size + 1)
        block = claim(board, thread)
        while block >= 0:
            done[block] += job + 1
            finish(board)
            block = claim(board, thread)
        wait_for(board, job % done.size + 1)
    return load_atomic(board, OVER)


@njit(nogil=True)
def follow(board, thread, patience, done):
    for _ in range(patience):
        if is_over(board):
            return True
        block = claim(board, thread)
        if block >= 0:
            done[block] += board[JOB] + 1
            finish(board)
        pause()
    return False


def expected(jobs, size):
    done = np.zeros(size, dtype=np.int64)
    for job in range(jobs):
        done[: job % size + 1] += job + 1
    return done


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_block_is_done_once(threads):
    board, done = new_board(threads), np.zeros(7, dtype=np.int64)
    with assisted(lambda thread: follow(board, thread, 100, done), threads):
        lead(board, 3000, done)
    board[OVER] = 1
    np.testing.assert_array_equal(done, expected(3000, 7))


def test_the_one_who_offers_goes_on_if_nobody_comes():
    board, done = new_board(2), np.zeros(3, dtype=np.int64)
    lead(board, 50, done)
    np.testing.assert_array_equal(done, expected(50, 3))


def test_interpreted_kernels_do_the_same():
    board, done = new_board(2), np.zeros(3, dtype=np.int64)
    assert interpreted(lead)(board, 20, done) == 0
    np.testing.assert_array_equal(done, expected(20, 3))


def test_those_who_assist_leave_when_it_is_over():
    board, left = new_board(2), threading.Event()
    seen = []

    def assist(thread):
        seen.append(follow(board, thread, 10, np.zeros(1, dtype=np.int64)))
        if seen[-1]:
            left.set()
        return seen[-1]

    with assisted(assist, 2):
        pass
    board[OVER] = 1
    assert left.wait(timeout=60)
    assert seen[-1]
    assert not any(seen[:-1])


def test_nobody_is_called_from_within_parallel_work(monkeypatch):
    """There is one level of parallel work: a fit on a thread of another fit's has that thread alone."""
    asked = []
    monkeypatch.setattr(parallel, "_helpers", lambda: asked.append(1) or pytest.fail("a helper was asked for"))
    monkeypatch.setattr(parallel._this_thread, "works", True, raising=False)
    with assisted(lambda _: True, 4):
        pass
    assert not asked


@njit(nogil=True)
def count(board, times):
    for _ in range(times):
        add_atomic(board, 3, 2)
    return store_atomic(board, 5, load_atomic(board, 3))


def test_additions_of_several_threads_are_all_counted():
    board = np.zeros(8, dtype=np.int64)
    workers = [threading.Thread(target=count, args=(board, 20_000)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert board[3] == 160_000
    assert count(board, 0) == board[5] == 160_000
    assert add_atomic(board, 3, 5) == 160_000  # as plain Python
    assert load_atomic(board, 3) == 160_005
    assert clear_atomic(board, 3, 1) == 160_005
    assert board[3] == 160_004
