"""``python -m fuzz --what checkpoints --files 10000 --seed 0 --models kmeans,ridge --out findings.json``."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from fuzz import archives, checkpoints, corpus, run_folders
from fuzz.campaign import BAD, Report, run

#: What makes the unchanged files.
WHAT = {"models": corpus, "checkpoints": checkpoints, "archives": archives, "runs": run_folders}


def _show(line: str) -> None:
    """The last line of a terminal; a log file is spared."""
    if sys.stderr.isatty():
        print(f"\r{line:<100}", end="" if line else "\r", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Read, predict with and fit from files that were changed.")
    parser.add_argument("--what", choices=list(WHAT), default="models", help="which files are changed (models)")
    parser.add_argument("--files", type=int, default=10_000, help="how many files (10000)")
    parser.add_argument("--seed", type=int, default=0, help="number of the first mutation (0)")
    parser.add_argument("--models", default="", help="names, separated by commas; all if left out")
    parser.add_argument("--corpus", type=Path, help="folder for the unchanged files, kept for the next time")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further file after so long")
    parser.add_argument("--out", type=Path, help="write counts and findings to this JSON file")
    arguments = parser.parse_args()
    folder = arguments.corpus or Path(tempfile.mkdtemp(prefix="margin-corpus-"))
    folder.mkdir(parents=True, exist_ok=True)
    material: Any = WHAT[arguments.what]
    chosen = arguments.models.split(",") if arguments.models else material.names()
    for name in material.write(folder, chosen):
        _show(f"written {name}")
    rounds, started = itertools.count(arguments.seed), time.monotonic()
    tasks = itertools.islice(((name, number) for number in rounds for name in chosen), arguments.files)
    report, shown, shown_at = Report(), 0, 0.0
    with contextlib.suppress(KeyboardInterrupt):  # what was tried so far is reported
        for report in run(folder, tasks, arguments.what):
            for finding in report.findings[shown:]:
                print(json.dumps(finding)[:600], flush=True)
            shown = len(report.findings)
            if time.monotonic() - started > 60 * arguments.minutes:
                break
            if time.monotonic() - shown_at > 1.0:
                _show(f"{report.total} files: {dict(report.counts)}")
                shown_at = time.monotonic()
    _show("")
    print(json.dumps({"what": arguments.what, "files": report.total, **report.counts}))
    if arguments.out is not None:
        facts = {"counts": report.counts, "by_model": report.by_model, "findings": report.findings}
        arguments.out.write_text(json.dumps(facts, indent=1))
    return int(any(report.counts[outcome] for outcome in BAD))


if __name__ == "__main__":
    sys.exit(main())
