"""Networks in the Bayesian Interchange Format (BIF 0.15), as the usual repositories of networks hold them."""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from margin.data.unpacking import BROKEN, gunzip
from margin.graphical.network import DiscreteNetwork

__all__ = ["read_bif", "write_bif"]

TOKEN = re.compile(r'"[^"]*"|[{}()\[\];,|]|[^\s{}()\[\];,|"]+')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
GZIP = b"\x1f\x8b"
ROUNDED = 0.01  # how far the probabilities of a file may be from summing to 1
MOST_PARENTS = 31  # an array has at most 32 axes in every version of NumPy
MOST_ENTRIES = 2**24  # of all tables together: 128 MB
PLAIN = re.compile(r"[^\s{}()\[\];,|\"]+")


def read_bif(path: str | Path) -> tuple[DiscreteNetwork, dict[str, list[str]]]:
    """The network in a BIF file, compressed by gzip or not, and the names of the states of every variable."""
    tokens = _Tokens(_without_comments(_text(Path(path))), str(path))
    states: dict[str, list[str]] = {}
    parents: dict[str, list[str]] = {}
    tables: dict[str, np.ndarray] = {}
    entries = 0
    for word in tokens:
        if word == "network":
            tokens.skip_block()
        elif word == "variable":
            name = tokens.take()
            if name in states:
                raise tokens.error(f"the variable {name!r} is declared twice")
            states[name] = _states(tokens)
        elif word == "probability":
            child, above = _family(tokens)
            for name in (child, *above):
                if name not in states:
                    raise tokens.error(f"the variable {name!r} is not declared")
            if child in tables or len({child, *above}) <= len(above):
                twice = "has two probability blocks" if child in tables else "names a variable twice in its block"
                raise tokens.error(f"{child!r} {twice}")
            if len(above) > MOST_PARENTS:
                raise tokens.error(f"{child!r} has {len(above)} parents; at most {MOST_PARENTS} are possible")
            size = math.prod(len(states[name]) for name in (child, *above))
            entries += size
            if entries > MOST_ENTRIES:
                raise tokens.error(f"the table of {child!r} has {size} entries; all have at most {MOST_ENTRIES}")
            parents[child], tables[child] = above, _table(tokens, child, above, states)
        else:
            raise tokens.error(f"expected network, variable or probability, found {word!r}")
    if not states:
        raise ValueError(f"read_bif: {path} declares no variables.")
    missing = [name for name in states if name not in tables]
    if missing:
        raise ValueError(f"read_bif: {path}: there is no probability block for {missing[0]!r}.")
    graph = {name: parents[name] for name in states}
    return DiscreteNetwork(graph, tables), states


def _without_comments(text: str) -> str:
    """Blanks in place of comments, whose line breaks stay, so that errors name the right line."""
    return COMMENT.sub(lambda found: " " + "\n" * found.group().count("\n"), text)


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        return (gunzip(content) if content.startswith(GZIP) else content).decode("utf-8")
    except (*BROKEN, ValueError) as problem:
        raise ValueError(f"read_bif: {path} is not a text in UTF-8, plain or compressed by gzip: {problem}.") from None


def write_bif(
    network: DiscreteNetwork, path: str | Path, states: dict[str, list[str]] | None = None, name: str = "unknown"
) -> None:
    """Write a network; states without names are called s0, s1, ..."""
    named = states or {}
    labels = {str(v): named.get(str(v), [f"s{k}" for k in range(n)]) for v, n in network.sizes.items()}
    lines = [f"network {_quote(name)} {{", "}"]
    for variable, values in labels.items():
        lines += [f"variable {_quote(variable)} {{"]
        lines += [f"  type discrete [ {len(values)} ] {{ {', '.join(map(_quote, values))} }};", "}"]
    for child, above in network.parents.items():
        given = f" | {', '.join(_quote(str(v)) for v in above)}" if above else ""
        lines.append(f"probability ( {_quote(str(child))}{given} ) {{")
        table = network.tables[child]
        for index in np.ndindex(table.shape[:-1]):
            key = ", ".join(_quote(labels[str(v)][k]) for v, k in zip(above, index))
            # repr of a float reads back to the same bits.
            numbers = ", ".join(repr(float(p)) for p in table[index])
            lines.append(f"  ({key}) {numbers};" if above else f"  table {numbers};")
        lines.append("}")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


class _Tokens:
    """The tokens of a file, one after the other, with errors that name the line."""

    def __init__(self, text: str, path: str) -> None:
        self._found = [(m.group(), m.start()) for m in TOKEN.finditer(text)]
        self._line_ends = [m.start() for m in re.finditer("\n", text)]
        self._at = 0
        self._path = path

    def __iter__(self) -> Iterator[str]:
        while self._at < len(self._found):
            yield self.take()

    def take(self) -> str:
        if self._at >= len(self._found):
            raise self.error("the file ends in the middle of a block")
        self._at += 1
        return self._found[self._at - 1][0].strip('"')

    def peek(self) -> str:
        return self._found[self._at][0] if self._at < len(self._found) else ""

    def expect(self, wanted: str) -> None:
        token = self.take()
        if token != wanted:
            raise self.error(f"expected {wanted!r}, found {token!r}")

    def until(self, end: str) -> list[str]:
        """What comes before ``end``, without commas."""
        taken = []
        while (word := self.take()) != end:
            if word != ",":
                taken.append(word)
        return taken

    def skip_block(self) -> None:
        while self.take() != "{":
            pass
        self.until("}")

    def error(self, message: str) -> ValueError:
        start = self._found[min(self._at, len(self._found)) - 1][1] if self._found else 0
        line = bisect(self._line_ends, start) + 1
        return ValueError(f"read_bif: {self._path}, line {line}: {message}.")


def _states(tokens: _Tokens) -> list[str]:
    tokens.expect("{")
    values: list[str] = []
    while (word := tokens.take()) != "}":
        if word == "type":
            tokens.expect("discrete")
            tokens.expect("[")
            count = tokens.take()
            tokens.expect("]")
            tokens.expect("{")
            values = tokens.until("}")
            if str(len(values)) != count:
                raise tokens.error(f"{count} states are declared and {len(values)} named")
    if not values:
        raise tokens.error("a variable has no states")
    if len(set(values)) != len(values):
        raise tokens.error("a variable has two states of one name")
    return values


def _family(tokens: _Tokens) -> tuple[str, list[str]]:
    tokens.expect("(")
    words = tokens.until(")")
    if not words or (len(words) > 1 and words[1] != "|" and "|" in words):
        raise tokens.error("a probability block needs (child) or (child | parents)")
    return words[0], [word for word in words[1:] if word != "|"]


def _table(tokens: _Tokens, child: str, above: list[str], states: dict[str, list[str]]) -> np.ndarray:
    table = np.full([len(states[v]) for v in (*above, child)], np.nan)
    tokens.expect("{")
    while (word := tokens.take()) != "}":
        if word == "table":
            numbers = _numbers(tokens, table.size)
            # In a flat table the child changes slowest.
            table = np.moveaxis(np.reshape(numbers, (table.shape[-1], *table.shape[:-1])), 0, -1)
        elif word == "default":
            table[np.isnan(table).any(axis=-1)] = _numbers(tokens, table.shape[-1])
        elif word == "(":
            key = tokens.until(")")
            for parent, state in zip(above, key):
                if state not in states[parent]:
                    raise tokens.error(f"{parent!r} has no state {state!r}")
            if len(key) != len(above):
                raise tokens.error(f"a row of {child!r} names {len(key)} states for {len(above)} parents")
            index = tuple(states[parent].index(state) for parent, state in zip(above, key))
            table[index] = _numbers(tokens, table.shape[-1])
        else:
            tokens.until(";")  # properties
    if np.isnan(table).any():
        raise tokens.error(f"the table of {child!r} has rows without numbers")
    total = table.sum(axis=-1, keepdims=True)
    if np.any(np.abs(total - 1) > ROUNDED):
        raise tokens.error(f"a row of {child!r} sums to {total.ravel()[np.abs(total - 1).argmax()]:g}, not to 1")
    # Files hold rounded numbers; those written with all digits stay as they are.
    return np.where(np.abs(total - 1) > 1e-9, table / total, table)


def _numbers(tokens: _Tokens, count: int) -> list[float]:
    words = tokens.until(";")
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise tokens.error(f"expected numbers, found {' '.join(words)[:40]!r}") from None
    if len(values) != count:
        raise tokens.error(f"expected {count} numbers, found {len(values)}")
    return values


def _quote(text: str) -> str:
    return text if PLAIN.fullmatch(text) else f'"{text}"'
