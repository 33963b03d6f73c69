"""The oldest version of every dependency that ``pyproject.toml`` allows, as constraints for pip: ``make lowest``.

``pyproject.toml`` promises these versions, so one environment of them runs the tests; everything else in it (test
tools, extras) is the newest that goes with them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

__all__ = ["floors"]


def floors(requirements: list[str]) -> list[str]:
    """``name==oldest`` for every requirement of the form ``name>=oldest``.

    >>> floors(["numpy>=2.0", "dask[dataframe]>=2025.1"])
    ['numpy==2.0', 'dask==2025.1']
    """
    found = []
    for requirement in requirements:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement.replace(" ", ""))
        if match is None:
            raise SystemExit(f"pyproject.toml: the dependency {requirement!r} must have the form name>=version.")
        found.append(f"{match[1]}=={match[2]}")
    return found


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    print(*floors(project["dependencies"]), sep="\n")
