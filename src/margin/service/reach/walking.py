"""From some parts of the package to all that they can run.

A name leads to the part that it means. A method is reached when its class is and reached code asks an object for an
attribute of its name; methods that Python or another library calls (``__len__``, ``forward``) with their class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from margin.service.reach.parts import BODY, ModuleParts, SourcePart

__all__ = ["Package"]

# Methods by which torch, scikit-learn and the standard library call a class of ours that inherits one of theirs.
CALLED_BY_OTHERS = {
    "forward",
    "backward",
    "setup_context",
    "step",
    "run",
    "emit",
    "format",
    "convert",
    "fit",
    "predict",
}
CALLED_BY_OTHERS |= {"fit", "predict", "transform", "fit_transform", "predict_proba", "score", "split", "get_n_splits"}


class Package:
    """The parts of all modules by dotted path, and the ways between them."""

    def __init__(self, sources: dict[str, ModuleParts]):
        self.sources = sources
        self.parts: dict[str, SourcePart] = {}
        self.module_of: dict[str, str] = {}
        for module, source in sources.items():
            for name, part in source.parts.items():
                self.parts[f"{module}.{name}"] = part
                self.module_of[f"{module}.{name}"] = module
        self._resolved: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}

    def find(self, path: str) -> str | None:
        """The part, or the module, that a dotted path means, through re-exports and base classes."""
        names = path.split(".")
        if names[0] not in self.sources:
            return None
        found, rest = self._follow(names[0], tuple(names[1:]))
        if found in self.parts and self.parts[found].is_class and len(rest) == 1:
            return self.method(found, rest[0]) or found
        return found if not rest or found in self.parts else None

    def mro(self, path: str) -> tuple[str, ...]:
        """A class of ours and the classes of ours that it inherits, nearest first."""
        return self._lineage[path]

    def method(self, path: str, name: str, above: str | None = None) -> str | None:
        """The part that ``path.name`` runs for a class, its own or the nearest inherited one; or the next one ``above``
        a class that it inherits."""
        line = self.mro(path)
        line = line[line.index(above) + 1 :] if above in line else line
        owner = next((owner for owner in line if name in self.parts[owner].methods), None)
        return None if owner is None else f"{owner}.{name}"

    def public_methods(self, path: str) -> list[str]:
        """The methods of a class that a user calls, inherited ones too."""
        names = {name for owner in self.mro(path) for name in self.parts[owner].methods if not name.startswith("_")}
        return [found for name in sorted(names) if (found := self.method(path, name)) is not None]

    def reach(self, roots: Iterable[str]) -> frozenset[str]:
        """All parts that running ``roots`` can run, themselves included."""
        return frozenset(_Walk(self, roots).reached)

    def uses(self, path: str) -> tuple[tuple[str, ...], frozenset[str]]:
        """What the names in one part mean: other parts and modules, and the attributes asked of objects."""
        if path not in self._resolved:
            self._resolved[path] = self._resolve(path)
        return self._resolved[path]

    def _resolve(self, path: str) -> tuple[tuple[str, ...], frozenset[str]]:
        part, module = self.parts[path], self.module_of[path]
        targets: dict[str, None] = {}
        attributes = set(part.attributes)
        for chain in part.names:
            imported = part.imports.get(chain[0])
            found, rest = self._resolve_import(imported, chain[1:]) if imported else self._follow(module, chain)
            if found is None:
                if not imported and chain[0] not in self.sources[module].imports:  # a loop's variable, a built-in
                    attributes.update(rest[1:])
                continue
            if rest == ("*",) and found in self.sources:
                targets.update(dict.fromkeys(f"{found}.{name}" for name in self.sources[found].parts))
                continue
            targets[found] = None
            if rest and found in self.parts and self.parts[found].is_class:
                method = self.method(found, rest[0])
                targets.update({method: None} if method else {})
                rest = rest[1:]
            attributes.update(rest)
        return tuple(targets), frozenset(attributes)

    def _resolve_import(
        self, imported: tuple[str, str | None], rest: tuple[str, ...]
    ) -> tuple[str | None, tuple[str, ...]]:
        module, name = imported
        if name and ".compiled." in module:
            return self._kernel(module, name), rest
        if module not in self.sources:
            return None, rest
        return self._follow(module, (*([name] if name else []), *rest))

    def _kernel(self, module: str, name: str) -> str | None:
        """Where a function of ``margin.compiled.PACKAGE`` is written: a ``*_kernels.py`` of that package or another."""
        package = f"{module.replace('.compiled.', '.')}."
        files = (
            source for source in self.sources if source.endswith("_kernels") and name in self.sources[source].parts
        )
        found = min(files, key=lambda source: (not source.startswith(package), source), default=None)
        return None if found is None else f"{found}.{name}"

    def _follow(self, module: str, chain: tuple[str, ...], depth: int = 0) -> tuple[str | None, tuple[str, ...]]:
        """The part or module at the end of a chain of names that begins in ``module``, and what is left of it."""
        if not chain:
            return module, ()
        source, name = self.sources[module], chain[0]
        if name in source.parts:
            return f"{module}.{name}", chain[1:]
        if name in source.imports and depth < 20:
            inner, imported = source.imports[name]
            if imported and ".compiled." in inner:
                return self._kernel(inner, imported), chain[1:]
            if inner not in self.sources:
                return None, chain
            return self._follow(inner, (*([imported] if imported else []), *chain[1:]), depth + 1)
        if f"{module}.{name}" in self.sources:
            return self._follow(f"{module}.{name}", chain[1:], depth)
        return None, chain

    @cached_property
    def _lineage(self) -> dict[str, tuple[str, ...]]:
        lineage: dict[str, tuple[str, ...]] = {}

        def line(path: str) -> tuple[str, ...]:
            if path not in lineage:
                lineage[path] = (path,)  # a class that inherits itself would have no end
                bases = (self._follow(self.module_of[path], chain) for chain in self.parts[path].bases)
                own = [f for f, rest in bases if f in self.parts and not rest and self.parts[f].is_class]
                lineage[path] = tuple(dict.fromkeys([path, *(owner for base in own for owner in line(base))]))
            return lineage[path]

        for path, part in self.parts.items():
            if part.is_class:
                line(path)
        return lineage

    def inherits_from_others(self, path: str) -> bool:
        """Whether a class, or one that it inherits, has a base that is not of this package."""
        return any(
            self._follow(self.module_of[owner], chain)[0] is None
            for owner in self.mro(path)
            for chain in self.parts[owner].bases
        )


class _Walk:
    """One walk: every part reached is visited once; methods wait for their class and for their name."""

    def __init__(self, package: Package, roots: Iterable[str]):
        self.package = package
        self.reached: set[str] = set()
        self.pending = list(roots)
        self.asked: set[str] = set()  # attributes of any object
        self.offers: dict[str, list[str]] = {}  # methods of reached classes, functions of modules that are passed on
        self.own: dict[str, set[tuple[str, str | None]]] = {}  # what a class asks of itself, or of those above it
        self.classes: dict[str, list[str]] = {}  # reached classes below each class
        while self.pending:
            self._visit(self.pending.pop())

    def _visit(self, path: str) -> None:
        if path in self.reached:
            return
        if path not in self.package.parts:
            self._visit_module(path)
            return
        self.reached.add(path)
        part = self.package.parts[path]
        module = self.package.module_of[path]
        self.pending.append(f"{module}.{BODY}")
        targets, attributes = self.package.uses(path)
        self.pending.extend(targets)
        self._ask(attributes)
        if part.is_class:
            self._enter_class(path, part)
        owner = path.rpartition(".")[0]
        if owner in self.package.parts:
            self._ask_own(owner, {(name, None) for name in part.own} | {(name, owner) for name in part.above})

    def _visit_module(self, module: str) -> None:
        """A module that is passed on as an object: who has it may ask for its functions by name."""
        self.reached.add(module)
        for name in self.package.sources[module].parts:
            if "." not in name and name != BODY:
                self._offer(name, f"{module}.{name}")

    def _enter_class(self, path: str, part: SourcePart) -> None:
        package = self.package
        outside = package.inherits_from_others(path)
        for owner in package.mro(path):
            self.pending.append(owner)
            self.classes.setdefault(owner, []).append(path)
            for name, above in self.own.get(owner, ()):
                self._reach_method(path, name, above)
        for name in part.methods:
            if (name.startswith("__") and name.endswith("__")) or (outside and name in CALLED_BY_OTHERS):
                self.pending.append(f"{path}.{name}")
            else:
                self._offer(name, f"{path}.{name}")

    def _ask_own(self, owner: str, names: set[tuple[str, str | None]]) -> None:
        known = self.own.setdefault(owner, set())
        for name, above in names - known:
            known.add((name, above))
            for path in (owner, *self.classes.get(owner, ())):
                self._reach_method(path, name, above)

    def _reach_method(self, path: str, name: str, above: str | None) -> None:
        method = self.package.method(path, name, above)
        if method is not None:
            self.pending.append(method)

    def _offer(self, name: str, path: str) -> None:
        self.offers.setdefault(name, []).append(path)
        if name in self.asked:
            self.pending.append(path)

    def _ask(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.asked:
                self.asked.add(name)
                self.pending.extend(self.offers.get(name, ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.reached)
