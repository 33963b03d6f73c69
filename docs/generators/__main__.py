"""``python -m docs.generators``: write every page of the site that is made from code and results."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.generators.evidence import Evidence
from docs.generators.gallery import write_gallery
from docs.generators.measured import write_measured
from docs.generators.notes import write_notes
from docs.generators.reference import write_reference
from docs.generators.sources import parsed_files

DOCS = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--stale",
        action="store_true",
        help="take verdicts and pictures that were kept although sources have changed: for writing text",
    )
    evidence = Evidence(DOCS / "_build" / "evidence", stale=parser.parse_args().stale)
    with parsed_files(evidence.folder / "parsed.json"):
        with timed("experiments"):
            shown = evidence.experiments()
        with timed("statements"):
            verdicts = evidence.rows(shown)
    with timed("pages"):
        print(f"{write_gallery(DOCS / 'gallery', shown)} experiments")
        print(f"{write_notes(DOCS / 'notes', verdicts, shown)} statements")
        print(f"{write_reference(DOCS / 'reference', verdicts, shown)} models")
        print(f"{write_measured(DOCS / 'measured', DOCS.parent / 'benchmarks' / 'results')} cases")


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Say what a part took of the processor: a build that has become slow is noticed where it is."""
    begun = time.process_time()
    yield
    print(f"{part}: {time.process_time() - begun:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
