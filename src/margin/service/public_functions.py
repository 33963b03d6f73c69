"""The page of the public functions: ``python -m margin.service.public_functions > docs/functions.md``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys

from margin.catalog import PUBLIC_FUNCTIONS

__all__ = ["render"]

HEAD = """# Functions beside the estimators

Generated from `catalog.py`. What `import margin` offers itself, and the estimators, are in [the README](../README.md)
and in `margin list`; these are imported from their packages, for example `from margin.metrics import roc_curve`.
"""


def render() -> str:
    """One table for each package: the function and the first sentence of its documentation."""
    lines = [HEAD]
    for module, names in PUBLIC_FUNCTIONS.items():
        package = importlib.import_module(module)
        lines += [f"## `{module}`", "", "| function | what it gives |", "| --- | --- |"]
        lines += [f"| `{name}` | {_first_sentence(getattr(package, name))} |" for name in names]
        lines.append("")
    return "\n".join(lines)


def _first_sentence(function: object) -> str:
    """The summary of a docstring as Markdown: its mathematics between dollar signs, its references as code."""
    summary = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    summary = re.sub(r":math:`([^`]*)`", r"$\1$", summary)
    summary = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", summary).replace("``", "`").replace("|", "\\|")
    return re.split(r"(?<=[.?]) ", summary)[0].rstrip(":")


if __name__ == "__main__":
    sys.stdout.write(render())
