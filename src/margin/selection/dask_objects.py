"""Objects that live on the workers of a Dask cluster and remember what they were asked.

An object is the result of a task, and every call is a task that needs it; Dask frees it with the last reference of the
caller. A call says how many came before it: an object that has seen another number was made anew after its worker was
lost, or is an old copy, and all calls since the last ``begin`` are repeated on a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from margin.selection.dask_cluster import MOST_LOSSES, send_data

__all__ = ["ObjectsOnDask"]

Item = TypeVar("Item")

LARGE = 2**20  # bytes of an argument that is sent as data, and not within the description of a task


class Call(NamedTuple):
    """A method, its arguments, and whether what is remembered begins with it."""

    method: str
    arguments: tuple[Any, ...]
    begins: bool


class _Remembering:
    """An object on a worker, and the number of calls since one began."""

    def __init__(self, make: Callable[[Any], Any], item: Any):
        from dask.sizeof import sizeof

        self.object, self.calls, self.size = make(item), 0, sizeof(item)

    def __sizeof__(self) -> int:
        return self.size  # Dask does not move what is large

    def answer(self, before: int, call: Call) -> Any:
        """``(True, result)``, or ``(False, None)`` if not ``before`` calls came before."""
        if not call.begins and self.calls != before:
            return False, None
        self.calls = before + 1
        return True, getattr(self.object, call.method)(*call.arguments)


class _Kept:
    """One object, as the caller sees it."""

    def __init__(self, item: Any):
        self.item, self.future, self.address = item, None, ""
        self.calls = list[Call]()


class ObjectsOnDask(Generic[Item]):
    """See :class:`margin.core.streaming.KeptObjects`."""

    def __init__(self, client: Any, make: Callable[[Item], Any], items: Sequence[Item]):
        self.client, self.make = client, make
        self.kept = [_Kept(item) for item in items]

    def begin(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        for kept in self.kept:
            kept.calls.clear()
        return self._ask_all([Call(method, own, True) for own in arguments])

    def ask(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self._ask_all([Call(method, own, False) for own in arguments])

    def close(self) -> None:
        for kept in self.kept:
            kept.future = None
            kept.calls.clear()

    def _ask_all(self, calls: Sequence[Call]) -> list[Any]:
        for number, (kept, call) in enumerate(zip(self.kept, calls, strict=True)):
            kept.calls.append(call)
            if kept.future is None:
                self._make(number)
        sent = [self._send(kept, len(kept.calls) - 1) for kept in self.kept]
        return [self._result(number, future) for number, future in enumerate(sent)]

    def _make(self, number: int) -> None:
        """The object on a worker, the workers taken in turn."""
        from distributed import wait

        kept = self.kept[number]
        item = send_data(self.client, kept.item)
        addresses = sorted(self.client.nthreads()) or [kept.address]
        kept.address = addresses[number % len(addresses)]
        kept.future = self.client.submit(
            _Remembering, self.make, item, workers=[kept.address], allow_other_workers=True, pure=False
        )
        wait([kept.future])
        kept.address = next((there[0] for there in self.client.who_has([kept.future]).values() if there), kept.address)

    def _send(self, kept: _Kept, number: int) -> Any:
        call = kept.calls[number]
        arguments = [send_data(self.client, a) if _is_large(a) else a for a in call.arguments]
        return self.client.submit(
            _answer, kept.future, number, call.method, call.begins, *arguments,
            workers=[kept.address], allow_other_workers=True, pure=False,
        )  # fmt: skip

    def _result(self, number: int, future: Any) -> Any:
        """What the object answers; if it was lost, what one answers to which all calls were repeated."""
        from distributed import KilledWorker

        for _ in range(MOST_LOSSES + 1):
            try:
                known, result = (future or self._repeat(number)).result()
                if known:
                    return result
            except KilledWorker:
                break
            except CancelledError:  # with the object went what it was made of
                pass
            future = None
        raise RuntimeError(
            f"part {number + 1} of {len(self.kept)} of the rows: every worker of the cluster that kept it ended; it "
            "may need more memory than they have."
        ) from None

    def _repeat(self, number: int) -> Any:
        """All calls once more, on a new object; the last one."""
        kept = self.kept[number]
        self._make(number)
        for earlier in range(len(kept.calls) - 1):
            self._send(kept, earlier).result()
        return self._send(kept, len(kept.calls) - 1)


def _answer(kept: _Remembering, before: int, method: str, begins: bool, *arguments: Any) -> Any:
    return kept.answer(before, Call(method, arguments, begins))


def _is_large(argument: Any) -> bool:
    return isinstance(argument, np.ndarray) and argument.nbytes > LARGE
