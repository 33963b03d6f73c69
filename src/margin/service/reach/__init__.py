"""What the product runs: every part of the package that an estimator, a public function or a command reaches.

Found in the sources, without importing them: which names a part uses, and what these use in turn. ``margin.notes`` is
no part of the product; what only its claims and experiments run is not reached.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import margin
from margin import catalog
from margin.notes import atlas
from margin.service.model_facts import facts_folder, keep
from margin.service.reach.parts import BODY, read_sources
from margin.service.reach.walking import Package

__all__ = ["Reach", "paths_of", "product"]

COMMAND_LINE = ("margin.cli.app.main", f"margin.cli.app.{BODY}", f"margin.__main__.{BODY}")


@dataclass(frozen=True)
class Reach:
    """The parts that the product reaches, those of them that estimators and commands reach, and these by estimator."""

    package: Package
    reached: frozenset[str]
    without_functions: frozenset[str]
    estimators: Mapping[str, frozenset[str]]

    def is_reached(self, path: str, *, functions: bool = True) -> bool:
        """Whether the product runs the function, class or method at a dotted path, or something of the module there.

        Without ``functions`` only what estimators, ``margin`` itself and commands run counts.
        """
        return self._among(self.package.find(path), self.reached if functions else self.without_functions)

    def users(self, path: str) -> tuple[str, ...]:
        """Catalog names of the estimators that can run it."""
        found = self.package.find(path)
        return tuple(name for name, parts in self.estimators.items() if self._among(found, parts))

    def modules(self) -> frozenset[str]:
        """The modules of which the product runs at least one part."""
        module_of = self.package.module_of
        return frozenset(module_of[path] for path in self.reached if path in module_of and not path.endswith(BODY))

    def _among(self, found: str | None, parts: frozenset[str]) -> bool:
        if found in self.package.sources:
            return any(path.startswith(f"{found}.") and not path.endswith(BODY) for path in parts)
        return found in parts


@cache
def product() -> Reach:
    """The reach of the catalog's estimators, of the public functions and of the commands."""
    package = Package(read_sources(Path(margin.__file__).parent, without=("notes",)))
    estimators = {entry.name: package.reach(_roots(package, [entry.path])) for entry in catalog.ENTRIES}
    classes = [path for path in catalog.registry().values() if path.startswith("margin.")]
    offered = [f"{module}.{name}" for name, module in catalog.FUNCTIONS.items()]
    run = [*_roots(package, [*classes, *offered]), *COMMAND_LINE, *_commands(package)]
    public = [f"{module}.{name}" for module, names in catalog.PUBLIC_FUNCTIONS.items() for name in names]
    return Reach(package, package.reach([*run, *_roots(package, public)]), package.reach(run), estimators)


def paths_of(row: atlas.Row, folder: Path | None = None) -> dict[str, list[str]]:
    """The code of a row, apart: ``as_run``, what the product executes, ``as_written``, the rest; and ``used_by``.

    ``as_run`` is what the row says, or else all of its code that is reached. ``used_by`` are the estimators that can
    run it, those that are the code themselves included. What is found is kept until a file of Margin changes.
    """
    kept = (folder or facts_folder()) / "reach.json"
    with contextlib.suppress(OSError, ValueError):  # not kept yet, or damaged
        known = json.loads(kept.read_text(encoding="utf-8"))
        if isinstance(known, dict) and set(row.code) <= known.keys():
            return _tell_apart(row, known)
    reach = product()  # all that rows cite at once: one reading of the sources serves every row
    cited = sorted({*row.code, *(path for each in atlas.rows().values() for path in each.code)})
    known = {path: list(reach.users(path)) if reach.is_reached(path) else None for path in cited}
    keep(kept, known)
    return _tell_apart(row, known)


def _tell_apart(row: atlas.Row, known: Mapping[str, list[str] | None]) -> dict[str, list[str]]:
    run = list(row.as_run) or [path for path in row.code if known[path] is not None]
    users = dict.fromkeys(str(name) for path in run for name in known[path] or [])
    return {
        "as_written": [path for path in row.code if path not in run],
        "as_run": run,
        "used_by": list(users),
    }


def _commands(package: Package) -> list[str]:
    """What registers the commands; their modules are imported when one of them is called."""
    return [path for path in package.parts if path.startswith("margin.cli.") and path.endswith(".register")]


def _roots(package: Package, paths: Iterable[str]) -> list[str]:
    """The parts behind public paths; of a class also all methods without an underscore, which a user calls."""
    roots: list[str] = []
    for path in paths:
        found = package.find(path)
        if found is None:
            raise ValueError(f"The catalog names {path}, which no source defines.")
        is_class = found in package.parts and package.parts[found].is_class
        roots += [found, *(package.public_methods(found) if is_class else [])]
    return roots
