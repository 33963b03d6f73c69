"""Physics-informed networks at full scale: ``python -m benchmarks.physics``; needs ``MARGIN_DATA``."""

from __future__ import annotations

import argparse

RUNS: tuple[tuple[str, ...], ...] = (("burgers",), ("inverse",))


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m benchmarks.physics", description=__doc__)
    found.add_argument("what", choices=("burgers", "inverse"))
    return found
