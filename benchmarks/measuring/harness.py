"""Times ours and its peers side by side: alternating in one process, the minimum of the rounds, losses like wins.

A family is a module with ``cases(quick) -> list[Case]``. Every pool of threads (BLAS, OpenMP, torch, oneDAL) is
held at the same number for everyone. Quality stands beside every time, because a time means nothing without it. Where
a case asks for it, the first call of a new process is measured too.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Case", "Measured", "Peer", "first_call", "measure", "same_threads"]


@dataclass(frozen=True)
class Peer:
    """Another library's way; ``requires`` is the module that must be installed for it.

    The first call of one that ``compiles`` is never what is compared, however long it takes.
    """

    name: str
    requires: str
    call: Callable[[Any], Any]
    compiles: bool = False

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.requires) is not None


@dataclass(frozen=True)
class Case:
    """One task at one size.

    ``data()`` makes the input once, untimed; ``ours`` and the peers take it and return a result; ``quality(data,
    result)`` is one number, called ``quality_name``, and ``remark(data, result)`` a few words more. ``first_call`` asks
    for the first call of a new process, ``memory`` for the peak that allocations known to Python (NumPy's are) reach
    above the input.
    """

    name: str
    size: str
    data: Callable[[], Any]
    ours: Callable[[Any], Any]
    peers: tuple[Peer, ...]
    quality: Callable[[Any, Any], float]
    quality_name: str
    rounds: int = 3
    first_call: bool = False
    memory: bool = True
    remark: Callable[[Any, Any], str] | None = None


LONG = 10.0  # seconds: a peer that takes longer is timed by its first call alone, of which loading is a small part


@dataclass
class Measured:
    """What one way of doing a case cost: least seconds of wall and processor time, quality, extra megabytes."""

    who: str
    wall: float = float("inf")
    cpu: float = float("inf")
    quality: float = float("nan")
    memory: float | None = None
    remark: str = ""
    note: str = ""  # why there is no measurement
    first: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(case: Case, rounds: int | None = None) -> list[Measured]:
    """Ours first, then the peers; one that is not installed or fails is a row that says so."""
    data = case.data()
    ways: list[tuple[str, Callable[[Any], Any]]] = [("margin", case.ours)]
    ways += [(peer.name, peer.call) for peer in case.peers if peer.installed]
    measured = {name: Measured(name) for name, _ in ways}
    compiling = {"margin", *(peer.name for peer in case.peers if peer.compiles)}
    for name, call in ways:  # compiles, loads, warms, and tells the quality
        _judge(case, data, call, measured[name], warms=name in compiling)
    open_ways = [(name, call) for name, call in ways if not measured[name].note and measured[name].wall == float("inf")]
    for _ in range(rounds or case.rounds):
        for name, call in open_ways:
            _time(data, call, measured[name])
    missing = [peer for peer in case.peers if not peer.installed]
    return [*measured.values(), *(Measured(peer.name, note=f"{peer.requires} is not installed") for peer in missing)]


def _judge(case: Case, data: Any, call: Callable[[Any], Any], into: Measured, warms: bool) -> None:
    if case.memory:
        tracemalloc.start()
    try:
        result = _time(data, call, into)
        if warms or into.wall < LONG:
            into.wall = into.cpu = float("inf")  # a first call is not what is compared, unless a peer takes so long
        into.memory = tracemalloc.get_traced_memory()[1] / 1e6 if case.memory else None
        into.quality = float(case.quality(data, result))
        into.remark = case.remark(data, result) if case.remark else ""
    except Exception as error:  # a peer's failure is a result, not the end of the benchmark
        into.note = f"{type(error).__name__}: {error}".splitlines()[0]
    finally:
        tracemalloc.stop()


def _time(data: Any, call: Callable[[Any], Any], into: Measured) -> Any:
    cpu, wall = time.process_time(), time.perf_counter()
    result = call(data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    into.wall, into.cpu = min(into.wall, wall), min(into.cpu, cpu)
    return result


@contextmanager
def same_threads(n: int) -> Iterator[None]:
    """Hold every pool of this process at ``n`` threads."""
    from threadpoolctl import threadpool_limits

    os.environ["MARGIN_NUM_THREADS"] = str(n)
    with ExitStack() as stack:
        _load_pools(n)
        stack.enter_context(threadpool_limits(n))
        yield


def _load_pools(n: int) -> None:
    """Pools that threadpoolctl does not know; all are loaded first, so that its limit reaches the rest."""
    import scipy.linalg  # noqa: F401
    import sklearn.cluster  # noqa: F401

    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(n)
    if importlib.util.find_spec("daal4py"):
        import daal4py

        daal4py.daalinit(n)


def first_call(family: str, index: int, quick: bool, threads: int) -> dict[str, float]:
    """Seconds of the first and the second call of a case in a new process."""
    command = [sys.executable, "-m", "benchmarks", family, "--first-call", str(index), "--threads", str(threads)]
    command += ["--quick"] if quick else []
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = map(float, done.stdout.split()[-2:])
    return {"first": first, "second": second}


def time_first_calls(case: Case) -> tuple[float, float]:
    """Seconds of the first and the second call in this process."""
    data = case.data()
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        case.ours(data)
        seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]
