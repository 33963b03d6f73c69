"""Changes to a model file: some damage it, the worse ones leave it well formed and lie."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load

from margin import catalog
from margin.store.container import content_of

__all__ = ["Document", "mutate", "read"]

INTEGERS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 7, 255, 256, 2**15, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
REALS = (0.0, -1.0, 0.5, 1e-300, 1e300, -1e300, 1e17, 3.0)
STRINGS = ("", "x", "relu", "auto", "precomputed", "passthrough", "drop", "../../etc/passwd", "a" * 1000)
SPECIAL = (
    {"!": "float", "value": "nan"},
    {"!": "float", "value": "inf"},
    None,
    True,
    False,
    [],
    {"!": "dict", "items": []},
)
DTYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "|u1", "<u8", "|b1", "<c16")


class Document:
    """The manifest and arrays of one file, to be changed in place."""

    def __init__(self, manifest: dict[str, Any], arrays: dict[str, np.ndarray]):
        self.manifest, self.arrays = manifest, arrays

    def copy(self) -> Document:
        manifest = json.loads(json.dumps(self.manifest))  # several times as fast as a deep copy
        return Document(manifest, {name: array.copy() for name, array in self.arrays.items()})

    def bytes(self) -> bytes:
        return content_of(self.manifest, self.arrays)  # with the right checksum, as an attacker would

    def array_nodes(self) -> list[dict[str, Any]]:
        """The nodes of the manifest that point at an array of the file."""
        return [node for _, _, node in _walk(self.manifest["root"]) if isinstance(node, dict) and "data" in node]


def read(path: Path) -> Document:
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    manifest = json.loads(header["__metadata__"]["margin"])
    manifest.pop("sha256")  # written anew with every change
    return Document(manifest, load(content))


def mutate(original: Document, seed: str) -> tuple[bytes, list[str]]:
    """The bytes of a changed copy, and the names of what was changed."""
    rng = random.Random(seed)
    document, done = original.copy(), []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice(CHANGES)
        change(document, rng)
        done.append(change.__name__)
    content = bytearray(document.bytes())
    if rng.random() < 0.03:
        done.append("raw_bytes")
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del content[rng.randrange(len(content)) :]
    return bytes(content), done


def _walk(node: Any, holder: Any = None, key: Any = None) -> Iterator[tuple[Any, Any, Any]]:
    """Every value of the manifest with what holds it, depth first."""
    waiting = [(holder, key, node)]
    while waiting:
        spot = waiting.pop()
        yield spot
        value = spot[2]
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        waiting += [(value, k, part) for k, part in reversed(list(inner))]


def _pick(document: Document, rng: random.Random) -> tuple[dict[str, Any], np.ndarray] | None:
    nodes = [node for node in document.array_nodes() if document.arrays[node["data"]].size]
    if not nodes:
        return None
    node = rng.choice(nodes)
    return node, document.arrays[node["data"]]


def flip_bits(document: Document, rng: random.Random) -> None:
    found = _pick(document, rng)
    if found:
        raw = found[1].reshape(-1).view(np.uint8)
        for _ in range(rng.randint(1, 8)):
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        if found[1].dtype == bool:
            raw &= 1  # other bytes are no truth values, which only a damaged file would have


def set_extreme(document: Document, rng: random.Random) -> None:
    found = _pick(document, rng)
    if found:
        flat = found[1].reshape(-1)
        for _ in range(rng.choice((1, 1, 3, len(flat)))):
            flat[rng.randrange(len(flat))] = _extreme(flat.dtype, rng)


def _extreme(dtype: np.dtype, rng: random.Random) -> Any:
    if dtype.kind == "f":
        return rng.choice((np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-300))
    if dtype.kind == "b":
        return rng.random() < 0.5
    limits = np.iinfo(dtype)
    return min(max(rng.choice(INTEGERS), limits.min), limits.max)


def small_step(document: Document, rng: random.Random) -> None:
    """Off by one: the change that a range check alone would miss."""
    found = _pick(document, rng)
    if found and found[1].dtype.kind in "iuf":
        flat = found[1].reshape(-1)
        with np.errstate(all="ignore"):
            flat[rng.randrange(len(flat))] += rng.choice((-1, 1)) if flat.dtype.kind != "u" else 1


def swap_entries(document: Document, rng: random.Random) -> None:
    found = _pick(document, rng)
    if found:
        flat = found[1].reshape(-1)
        i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
        flat[[i, j]] = flat[[j, i]]


def shuffle(document: Document, rng: random.Random) -> None:
    found = _pick(document, rng)
    if found and found[1].ndim:
        np.random.default_rng(rng.getrandbits(32)).shuffle(found[1])


def resize(document: Document, rng: random.Random) -> None:
    """Fewer or more rows, the manifest agreeing."""
    found = _pick(document, rng)
    if found and found[1].ndim:
        node, array = found
        count = rng.choice((0, 1, len(array) - 1, len(array) + 1, 2 * len(array), rng.randrange(len(array) + 1)))
        _put(document, node, np.resize(array, (count, *array.shape[1:])) if count else array[:0])


def reshape(document: Document, rng: random.Random) -> None:
    found = _pick(document, rng)
    if found:
        node, array = found
        shape = rng.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1), array.shape[::-1]))
        _put(document, node, array.T.copy() if shape == array.shape[::-1] else array.reshape(shape))


def change_dtype(document: Document, rng: random.Random) -> None:
    found = _pick(document, rng)
    if found:
        node, array = found
        dtype = np.dtype(rng.choice(DTYPES))
        if dtype.kind != "c":
            with np.errstate(all="ignore"):
                _put(document, node, array.astype(dtype))


def _put(document: Document, node: dict[str, Any], array: np.ndarray) -> None:
    document.arrays[node["data"]] = array
    node["shape"], node["dtype"] = list(array.shape), array.dtype.str


def point_elsewhere(document: Document, rng: random.Random) -> None:
    """One attribute gets the array of another, declared as it is."""
    found = _pick(document, rng)
    if found:
        other = rng.choice(document.array_nodes())
        found[0].update({key: other[key] for key in ("data", "shape", "dtype")})


def edit_scalar(document: Document, rng: random.Random) -> None:
    """Any number, string or truth value of the manifest, parameters and learned attributes alike."""
    spots = [
        (holder, key, value)
        for holder, key, value in _walk(document.manifest["root"])
        if holder is not None and key not in ("!", "data") and not isinstance(value, dict | list)
    ]
    holder, key, value = rng.choice(spots)
    same: tuple[Any, ...] = STRINGS if isinstance(value, str) else REALS if isinstance(value, float) else INTEGERS
    holder[key] = rng.choice(same if rng.random() < 0.8 else (*INTEGERS, *REALS, *STRINGS, *SPECIAL))


def remove_attribute(document: Document, rng: random.Random) -> None:
    holder = _estimator(document, rng)["learned"]
    if holder:
        del holder[rng.choice(list(holder))]


def move_attribute(document: Document, rng: random.Random) -> None:
    holder = _estimator(document, rng)["learned"]
    if len(holder) > 1:
        a, b = rng.sample(list(holder), 2)
        holder[a], holder[b] = holder[b], holder[a]


def change_class(document: Document, rng: random.Random) -> None:
    _estimator(document, rng)["class"] = rng.choice(list(catalog.registry()))


def add_resource(document: Document, rng: random.Random) -> None:
    name, value = rng.choice((("memory", "/tmp/margin-fuzz-cache"), ("n_jobs", 24), ("verbose", 1), ("n_jobs", -1)))
    _estimator(document, rng)[rng.choice(("params", "learned"))][name] = value


def _estimator(document: Document, rng: random.Random) -> dict[str, Any]:
    nodes = [n for _, _, n in _walk(document.manifest["root"]) if isinstance(n, dict) and n.get("!") == "estimator"]
    return rng.choice(nodes) if nodes else {"params": {}, "learned": {}}  # the state of a fit often holds no model


CHANGES: tuple[Callable[[Document, random.Random], None], ...] = (
    *3 * (flip_bits, set_extreme, small_step, swap_entries, edit_scalar),
    *2 * (resize, edit_scalar),
    shuffle,
    reshape,
    change_dtype,
    point_elsewhere,
    remove_attribute,
    move_attribute,
    change_class,
    add_resource,
)
