"""``python -m benchmarks.measuring.memory FAMILY CASE SIZE WHO``: megabytes by which one fit makes this process grow.

A small fit first loads the library, its threads and its compiled code, which are not counted. What is counted is the
highest resident size during the fit above the size before it, whoever allocates it, in Python or not.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import resource
import sys
from pathlib import Path

from benchmarks.data.tables import first_rows
from benchmarks.measuring.harness import same_threads
from benchmarks.measuring.race import threads

__all__ = ["FORGET", "STATUS", "give_back", "growth", "kilobytes"]

SMALL = 2_000
STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def growth(family: str, name: str, size: str, who: str) -> float:
    """Megabytes that the fit of ``who`` in this case adds at its peak."""
    cases = importlib.import_module(f"benchmarks.families.{family}").cases(False)
    case = next(case for case in cases if (case.name, case.size) == (name, size))
    call = case.ours if who == "margin" else next(peer.call for peer in case.peers if peer.name == who)
    data = case.data()
    call(first_rows(data, SMALL))
    gc.collect()
    give_back()
    if FORGET.exists():
        FORGET.write_text("5")  # the highest size so far is forgotten
        before = kilobytes("VmRSS")
    else:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = call(data)
    peak = kilobytes("VmHWM") if FORGET.exists() else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del model
    return (peak - before) / 1e3


def give_back() -> None:
    """Return what was freed to the system: memory that lies about unused would hide what the fit asks for."""
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def kilobytes(name: str) -> int:
    line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return int(line.split()[1])


if __name__ == "__main__":
    with same_threads(threads()):
        print(growth(*sys.argv[1:5]))
