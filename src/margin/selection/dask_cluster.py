"""Dask clusters: who they are, and parts of a stream read and summarized, and trees grown, by their workers.

Dask schedules, moves and repeats: work of a worker that is lost is done again by another one, with the same result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, TypeVar

from margin.core.arguments import shown
from margin.core.streaming import KeptObjects, NamedWork, Stream, StreamPart

__all__ = ["DaskParts", "cluster_client", "on_cluster", "send_data"]

S = TypeVar("S")
Item = TypeVar("Item")

MOST_LOSSES = 3  # times that work is sent again whose data are gone
AHEAD = 2  # parts per thread of the cluster that are sent before their turn
PATIENCE = "60s"  # until a first worker answers: a cluster that grows on demand starts it, and replaces a lost one


class DaskParts:
    """Parts of a stream on the workers of ``client``; results come in the order of the parts."""

    def __init__(self, client: Any):
        self.client = client

    def map(self, function: Callable[[StreamPart], S], parts: Sequence[StreamPart]) -> Iterator[S]:
        return self._in_order(lambda part: self.client.submit(function, part, pure=False), parts)

    def map_shared(self, function: Callable[[Any, Any], S], shared: Any, items: Sequence[NamedWork]) -> Iterator[S]:
        """``function(shared, item)`` of every item, in order; every worker has ``shared`` once, and gets it again when
        all who had it are lost."""
        there: list[Any] = []

        def send(item: NamedWork) -> Any:
            if not there or there[0].status != "finished":
                there[:] = [send_data(self.client, shared, everywhere=True)]
            return self.client.submit(function, there[0], item, pure=False)

        return self._in_order(send, items)

    @property
    def n_workers(self) -> int:
        return max(1, sum(self.client.nthreads().values()))

    def keep(self, make: Callable[[Item], Any], items: Sequence[Item]) -> KeptObjects:
        """An object ``make(item)`` for every item, on the workers in turn."""
        from margin.selection.dask_objects import ObjectsOnDask

        return ObjectsOnDask(self.client, make, items)

    def _in_order(self, send: Callable[[Any], Any], items: Sequence[NamedWork]) -> Iterator[Any]:
        waiting: deque[Any] = deque()
        most = AHEAD * self.n_workers
        for item in items:
            waiting.append((send(item), item))
            if len(waiting) >= most:
                yield _result(send, *waiting.popleft())
        while waiting:
            yield _result(send, *waiting.popleft())

    def __reduce__(self) -> tuple[Any, ...]:
        # A stream that is sent to a worker as a part of something else is read there, by the worker.
        from margin.core.streaming import InOrder

        return InOrder, ()


def send_data(client: Any, data: Any, *, everywhere: bool = False) -> Any:
    """A future of ``data`` on a worker, or on all that there are; waits for one where the last was just lost."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise RuntimeError(f"cluster: all workers ended, and none came back within {PATIENCE}.") from None
    return client.scatter([data], broadcast=everywhere, hash=False)[0]  # of a tuple it would send the items


def on_cluster(stream: Stream, client: Any) -> Stream:
    """The same stream, its parts read and summarized by the workers of a ``dask.distributed.Client``.

    Blocks and the order of merging stay, so a fit has the same bits as on this process. Files must be where the
    workers find them under the same path.
    """
    if not hasattr(client, "submit") or not hasattr(client, "nthreads"):
        raise TypeError(f"on_cluster: client must be a dask.distributed.Client; got {type(client).__name__}.")
    return stream.on(DaskParts(client))


@contextmanager
def cluster_client(cluster: Any) -> Iterator[Any]:
    """A client of a cluster: an address such as ``tcp://scheduler:8786``, ``local:4`` for four processes on this
    machine (ended with the context), or a client, which is left open."""
    if hasattr(cluster, "submit"):
        yield cluster
        return
    text = str(cluster)
    kind, _, rest = text.partition(":")
    if not (kind == "local" and rest.isdigit() and int(rest) > 0) and "://" not in text:
        raise ValueError(f"cluster must be an address such as tcp://host:8786, or local:4; got {shown(cluster)}.")
    distributed = _import_distributed()
    if kind == "local":
        made = distributed.LocalCluster(
            n_workers=int(rest),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # any port that is free, and no page behind it
        )
        with made, distributed.Client(made) as client:
            yield client
        return
    try:
        client = distributed.Client(text, timeout="10s")
    except (OSError, TimeoutError) as problem:
        raise ValueError(f"cluster: no scheduler answers at {text} ({' '.join(str(problem).split())}).") from None
    with client:
        try:
            client.submit(int).result(timeout=PATIENCE)
        except TimeoutError:
            raise ValueError(f"cluster: no worker of the scheduler at {text} answered within {PATIENCE}.") from None
        yield client


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ValueError("cluster needs Dask: pip install 'margin[cluster]'.") from None
    return distributed


def _result(send: Callable[[Any], Any], future: Any, item: NamedWork, losses: int = 0) -> Any:
    """What a worker gives; work whose data were lost is sent again."""
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        raise RuntimeError(
            f"{item.name}: every worker of the cluster that had it ended; it may need more memory than they have."
        ) from None
    except CancelledError:
        if losses == MOST_LOSSES:
            raise RuntimeError(
                f"{item.name}: the workers of the cluster that had its data ended, {losses + 1} times."
            ) from None
        return _result(send, send(item), item, losses + 1)
    finally:
        future.release()
