"""Questions that come at the same time are asked together: one call of a model costs little more for a hundred rows.

While the model is at work the next questions wait, and are its next batch: nobody waits for a clock, and a single
question on an idle server is asked at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

__all__ = ["Batcher", "TooBusy"]


class TooBusy(Exception):
    """More questions wait than the server lets wait."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    questions: Sequence[Any]
    answer: asyncio.Future[list[Any]]


class Batcher:
    """``ask`` gives the answers of ``predict`` (questions to answers, one each), which runs in one thread.

    A batch has at most ``batch_rows`` questions (a single request may have more); at most ``waiting_rows`` wait. An
    error of a batch of several requests is asked again one by one, so that it reaches only whom it concerns.
    """

    def __init__(
        self, predict: Callable[[Sequence[Any]], list[Any]], batch_rows: int = 1024, waiting_rows: int = 100_000
    ):
        self.predict, self.batch_rows, self.waiting_rows = predict, batch_rows, waiting_rows
        self.batches = 0  # how often the model was asked
        self._waiting: list[_Waiting] = []
        self._rows = 0
        self._thread = ThreadPoolExecutor(1, "margin-serve")
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, questions: Sequence[Any]) -> list[Any]:
        if not questions:
            return []
        if self._rows and self._rows + len(questions) > self.waiting_rows:
            raise TooBusy
        request = _Waiting(questions, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._rows += len(questions)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())
        return await request.answer

    async def _work(self) -> None:
        while self._waiting:
            batch = self._next_batch()
            try:
                # Whoever gave up in the meantime is not asked for.
                await self._answer([request for request in batch if not request.answer.done()])
            finally:
                self._rows -= sum(len(request.questions) for request in batch)

    def _next_batch(self) -> list[_Waiting]:
        batch, rows = [self._waiting.pop(0)], 0
        rows = len(batch[0].questions)
        while self._waiting and rows + len(self._waiting[0].questions) <= self.batch_rows:
            batch.append(self._waiting.pop(0))
            rows += len(batch[-1].questions)
        return batch

    async def _answer(self, batch: list[_Waiting]) -> None:
        if not batch:
            return
        try:
            answers = await self._call([question for request in batch for question in request.questions])
        except Exception as error:
            if len(batch) == 1:
                _give(batch[0], error=error)
                return
            for request in batch:
                await self._answer([request])
            return
        for request in batch:
            n = len(request.questions)
            _give(request, answers[:n])
            answers = answers[n:]

    async def _call(self, questions: list[Any]) -> list[Any]:
        self.batches += 1
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.predict, questions)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _give(request: _Waiting, answers: list[Any] | None = None, error: Exception | None = None) -> None:
    if request.answer.done():
        return
    if error is not None:
        request.answer.set_exception(error)
    else:
        request.answer.set_result(answers or [])
