"""``python -m margin.notes.claims``: run every claim and experiment with several seeds and print the ones that fail.

A statement that holds for one seed only is luck. Rows may be named; the deterministic ones run once.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from margin.core.verdict import Verdict
from margin.notes import atlas, claims, experiments


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m margin.notes.claims", description=__doc__)
    parser.add_argument("names", nargs="*", help="areas, ids of claims, names of experiments, paths; none means all")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further check after so long")
    parser.add_argument("--seconds", type=float, default=math.inf, help="leave out checks that take longer for a seed")
    parser.add_argument("--out", type=Path, help="write failed seeds by check to this JSON file, and go on from it")
    options = parser.parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    known: dict[str, dict[str, int]] = (
        json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    )
    failures, run, begun = 0, 0, time.monotonic()
    for name, is_random, check in _checks(options.names):
        if name in known or time.monotonic() - begun > 60 * options.minutes:
            continue
        started = time.perf_counter()
        verdicts = {options.first: _run(check, options.first)}
        if time.perf_counter() - started > options.seconds:
            continue
        verdicts |= {seed: _run(check, seed) for seed in (seeds[1:] if is_random else ())}
        failed = {seed: verdict for seed, verdict in verdicts.items() if not verdict.ok}
        run, failures = run + len(verdicts), failures + len(failed)
        known[name] = {"seeds": len(verdicts), "failed": len(failed)}
        if options.out:  # after every check: the program may be stopped at any time
            options.out.write_text(json.dumps(known, indent=1))
        if failed:
            seconds = (time.perf_counter() - started) / len(verdicts)
            print(f"{name}: fails for {len(failed)} of {len(verdicts)} seeds, {seconds:.2f} s each", flush=True)
            for seed, verdict in failed.items():
                print(f"    seed {seed}: measured {verdict.measured}\n      expected {verdict.expected}", flush=True)
    print(f"{run} runs, {failures} failures")
    return int(failures > 0)


def _checks(names: Sequence[str]) -> Iterator[tuple[str, bool, Callable[[int], Verdict]]]:
    """Name, whether it draws anything, and the check as a function of the seed: claims, then experiments."""
    requested_areas = {row.area for row in atlas.rows().values() if not names or {row.area, row.id} & set(names)}
    for area in (area for area in atlas.areas() if area in requested_areas):  # the others need not be imported
        for id, check in claims.of_area(area).items():
            if not names or area in names or id in names:
                yield id, check.is_random, check
    for name in experiments.names():
        if not names or "experiments" in names or name in names:
            yield f"experiment {name}", True, partial(_run_experiment, experiments.load(name))


def _run_experiment(module: experiments.Experiment, seed: int) -> Verdict:
    return module.check(module.run(seed, fast=True))


def _run(check: Callable[[int], Verdict], seed: int) -> Verdict:
    try:
        return check(seed)
    except Exception as error:  # a check that breaks is one that fails, and the others still run
        return Verdict(False, f"{type(error).__name__}: {error}", "a verdict")


if __name__ == "__main__":
    raise SystemExit(main())
