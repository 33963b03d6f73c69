"""Blocks of work that threads share: each is done once, by whoever takes it, and the one who offers waits for all."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from margin.compiled import boosting
from margin.core import parallel, team_kernels
from margin.core.atomic_kernels import add_atomic, clear_atomic, load_atomic, pause, store_atomic
from margin.core.parallel import with_assistants
from margin.core.team import FINISHED, JOB, OVER, UNTAKEN, new_board


def lead(board, jobs, done, kernels=boosting):
    """Offer jobs of 1, 2, 3, ... blocks; a block of job k adds k + 1 to its place in ``done``."""
    for job in range(jobs):
        board[JOB] = job
        kernels.offer(board, job % done.size + 1)
        block = kernels.claim(board, 0)
        while block >= 0:
            done[block] += job + 1
            kernels.finish(board)
            block = kernels.claim(board, 0)
        kernels.wait_for(board, job % done.size + 1)


def follow(board, thread, patience, done):
    for _ in range(patience):
        if boosting.is_over(board):
            return True
        block = boosting.claim(board, thread)
        if block >= 0:
            done[block] += board[JOB] + 1
            boosting.finish(board)
    return False


def expected(jobs, size):
    done = np.zeros(size, dtype=np.int64)
    for job in range(jobs):
        done[: job % size + 1] += job + 1
    return done


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_block_is_done_once(threads):
    board, done = new_board(threads), np.zeros(7, dtype=np.int64)
    with with_assistants(lambda thread: follow(board, thread, 100, done), threads):
        lead(board, 3000, done)
    board[OVER] = 1
    np.testing.assert_array_equal(done, expected(3000, 7))


def test_the_one_who_offers_goes_on_if_nobody_comes():
    board, done = new_board(2), np.zeros(3, dtype=np.int64)
    lead(board, 50, done)
    np.testing.assert_array_equal(done, expected(50, 3))


def test_kernels_as_they_are_written_do_the_same():
    board, done = new_board(2), np.zeros(3, dtype=np.int64)
    lead(board, 20, done, team_kernels)
    np.testing.assert_array_equal(done, expected(20, 3))


def test_those_who_assist_leave_when_it_is_over():
    board, left = new_board(2), threading.Event()
    seen = []

    def assist(thread):
        seen.append(follow(board, thread, 10, np.zeros(1, dtype=np.int64)))
        if seen[-1]:
            left.set()
        return seen[-1]

    with with_assistants(assist, 2):
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
    with with_assistants(lambda _: True, 4):
        pass
    assert not asked


def test_blocks_that_several_threads_finish_are_all_counted():
    """Every claim and every end is a change of a number that all threads change."""
    board, taken = new_board(4), [[] for _ in range(4)]
    together = threading.Barrier(4, timeout=60)
    left_over = []

    def work(thread):
        for _ in range(200):
            if thread == 0:
                boosting.offer(board, 62)
            together.wait()
            block = boosting.claim(board, thread)
            while block >= 0:
                taken[thread].append(block)
                boosting.finish(board)
                block = boosting.claim(board, thread)
            together.wait()
            if thread == 0:
                left_over.append((int(board[UNTAKEN]), int(board[FINISHED])))

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert left_over == [(0, 62)] * 200
    np.testing.assert_array_equal(np.bincount(np.concatenate(taken)), np.full(62, 200))


def test_what_stands_for_atomic_numbers_where_kernels_are_not_compiled():
    board = np.zeros(8, dtype=np.int64)
    store_atomic(board, 3, 160_000)
    assert add_atomic(board, 3, 5) == 160_000
    assert load_atomic(board, 3) == 160_005
    assert clear_atomic(board, 3, 1) == 160_005
    assert board[3] == 160_004
    pause()
