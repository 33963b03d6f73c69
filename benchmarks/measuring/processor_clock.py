"""A clock of processor time: what this process and all its children have computed, whatever else the machine does.

Two programs with the same budget on a shared machine are compared fairly only if the budget is what they computed, not
what passed while others worked. :func:`install` puts this clock in the place of the time module's, before the program
that keeps to a budget is imported.
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path

__all__ = ["install", "processor_seconds"]

#: What a process that is started does before anything else.
IN_WORKERS = "import time\ntime.perf_counter = time.monotonic = time.process_time\n"
_TICK = os.sysconf("SC_CLK_TCK")
_wall = time.time


def processor_seconds(cores: int = 1) -> float:
    """Of this process, of its ended children, and of the living ones, with theirs; divided by ``cores``."""
    own = os.times()
    ended = own.user + own.system + own.children_user + own.children_system
    return (ended + sum(map(_of_tree, _children(os.getpid())))) / cores


def install(cores: int = 1) -> None:
    """From now on ``time.time``, ``monotonic`` and ``perf_counter`` count processor seconds, divided by ``cores``.

    What was imported before and holds the old function keeps it. A Python process that is started later measures its
    own processor time: what it says of the cost of its work does not count the neighbors either.
    """
    folder = tempfile.mkdtemp(prefix="processor-clock-")
    Path(folder, "sitecustomize.py").write_text(IN_WORKERS)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH", "")]))
    began = _wall()
    time.time = lambda: began + processor_seconds(cores)
    time.monotonic = time.perf_counter = partial(processor_seconds, cores)


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def _of_tree(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:  # it has just ended, and counts among the ended ones next time
        return 0.0
    return sum(map(int, fields[11:15])) / _TICK + sum(map(_of_tree, _children(pid)))
