"""Randomness from ``random_state`` alone, never from the global generators.

``None`` means fresh entropy from the operating system: unlike ``numpy.random.mtrand._rand`` it neither reads nor
advances state that other code shares.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "SEED_BOUND",
    "RandomLike",
    "as_generator",
    "generator_from_state",
    "generator_state",
    "seed_estimator",
    "seed_from",
    "spawn_seeds",
]

RandomLike = None | int | np.integer | np.random.RandomState | np.random.Generator

SEED_BOUND = 2**31 - 1  # what torch, RandomState.randint and every C library here accept


def seed_from(random_state: RandomLike) -> int:
    """One integer that stands for ``random_state``; a passed generator is advanced by one draw."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0]) % SEED_BOUND
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative; got {random_state!r}.")
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(SEED_BOUND))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(SEED_BOUND))
    raise ValueError(f"random_state must be None, an integer, a RandomState or a Generator; got {random_state!r}.")


def as_generator(random_state: RandomLike) -> np.random.Generator:
    """A private generator, the same for the same integer.

    >>> int(as_generator(7).integers(100)) == int(as_generator(7).integers(100))
    True
    """
    return np.random.Generator(np.random.PCG64(seed_from(random_state)))


def spawn_seeds(rng: np.random.Generator, n: int) -> list[int]:
    """``n`` seeds for parts that must not share a stream: trees of a forest, restarts, folds."""
    return [int(seed) for seed in rng.integers(SEED_BOUND, size=n)]


def seed_estimator(estimator: Any, rng: np.random.Generator) -> None:
    """Give every ``random_state`` in ``estimator`` a seed from ``rng``, those of nested estimators and steps too.

    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> pipeline = make_pipeline(SGDClassifier())
    >>> seed_estimator(pipeline, np.random.default_rng(0))
    >>> isinstance(pipeline[0].random_state, int)
    True
    """
    names = [name for name in sorted(estimator.get_params(deep=True)) if f"__{name}".endswith("__random_state")]
    if names:
        estimator.set_params(**{name: int(rng.integers(SEED_BOUND)) for name in names})


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Where ``rng`` stands, as plain values that a checkpoint can hold."""
    return dict(rng.bit_generator.state)


def generator_from_state(state: dict[str, Any]) -> np.random.Generator:
    """A generator that continues where :func:`generator_state` was taken."""
    bits = np.random.PCG64(0)
    bits.state = state  # type: ignore[assignment]
    return np.random.Generator(bits)
