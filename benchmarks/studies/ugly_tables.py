"""``python -m benchmarks.studies.ugly_tables``: a thousand ugly tables, each to become a board or one sentence.

The tables are those of :mod:`fuzz.tables`; what is done is kept, and the same command goes on after a kill.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from fuzz.tables import run

from benchmarks.measuring.evidence import Finding, save_findings

COUNT = 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.ugly_tables", description=__doc__)
    parser.add_argument("--kept", type=Path, default=Path("build") / "ugly-tables.jsonl", help="what is done")
    parser.add_argument("--report", action="store_true", help="run nothing; write what is kept as findings")
    options = parser.parse_args()
    options.kept.parent.mkdir(parents=True, exist_ok=True)
    lines = options.kept.read_text().splitlines() if options.kept.exists() else []
    done = {number: (outcome, text) for number, outcome, text in map(json.loads, lines)}
    for number, outcome, text in () if options.report else run((n for n in range(COUNT) if n not in done), board=True):
        done[number] = (outcome, text)
        with open(options.kept, "a") as file:
            file.write(json.dumps([number, outcome, text]) + "\n")
    print(f"written to {_save(done)}")


def _save(done: dict[int, tuple[str, str]]) -> Path:
    counts = Counter(outcome for outcome, _ in done.values())
    broken = [
        f"table {number}: {text.strip().splitlines()[-1]}" for number, (o, text) in done.items() if o == "traceback"
    ]
    sentences = Counter(text for outcome, text in done.values() if outcome == "sentence")
    measured = f"{counts['board']} boards, {counts['sentence']} sentences, {counts['traceback']} tracebacks"
    return save_findings(
        "ugly-tables",
        "Generated ugly tables through margin compare",
        protocol="Columns of every bad habit seen in real files under names just as bad, as data frames, text files"
        " of several dialects and encodings, and JSON lines; cheap models, two folds, and the winner must predict.",
        command="python -m benchmarks.studies.ugly_tables",
        findings=[
            Finding("tables", f"{len(done):,}", f"{COUNT:,}", len(done) >= COUNT),
            Finding("a board or one sentence each", measured, "no traceback", not broken),
        ],
        raw={"tracebacks": broken, "sentences": dict(sentences.most_common(30))},
    )


if __name__ == "__main__":
    main()
