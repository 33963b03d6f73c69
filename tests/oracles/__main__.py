"""``python -m tests.oracles [paths] --seeds 5``: hold the code that rows cite against independent implementations."""

from __future__ import annotations

import argparse

from tests import oracles


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracles", description=__doc__)
    parser.add_argument("paths", nargs="*", help="dotted paths of cited code; none means all")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    failed = 0
    paths = options.paths or oracles.all_paths()
    for path in paths:
        for seed in range(options.first, options.first + options.seeds):
            verdict = oracles.agrees(path, seed)
            if not verdict.ok:
                failed += 1
                print(f"{path}, seed {seed}: measured {verdict.measured}\n  expected {verdict.expected}", flush=True)
    print(f"{len(paths)} paths, {options.seeds} seeds: {failed} disagree")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
