"""The running fit of t-SNE: positions that are pulled by neighbors and pushed by everyone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.number_range import power_of_two
from margin.core.parallel import over_ranges
from margin.core.randomness import as_generator
from margin.core.restoring import restore
from margin.core.threads import available, threads_for
from margin.reduction.block_sizes import LANES
from margin.reduction.embedding import principal_positions
from margin.reduction.mesh import mesh_repulsion
from margin.reduction.tsne_affinities import sparse_affinities

if TYPE_CHECKING:
    from margin.reduction.tsne import TSNE

__all__ = ["STEPS_PER_RECORD", "NeighborDescent"]

STEPS_PER_RECORD = 10  # the divergence costs a logarithm per pair, so it is recorded every tenth step
FIRST_SPREAD = 1e-4  # standard deviation of the first positions: near enough for all to feel one another
EXAGGERATED_STEPS, EARLY_MOMENTUM, LATE_MOMENTUM = 250, 0.5, 0.8
EXACT_ROWS = 4000  # up to here all pairs are visited faster than a mesh is filled
# Spacing of the mesh per unit of ``angle``: exaggerated pulls forgive large errors, the last steps remove small ones.
EARLY_SPACING, SPACING, FINE_SPACING, FINE_STEPS = 1.0, 0.8, 0.5, 150
NO_PAIRS = np.empty(0)
# Embeddings are some hundred wide; steps that lead this far from the center have run away. A mesh as wide as the second
# still fits the memory.
FARTHEST, FARTHEST_ON_MESH = 1e4, 1e3
MESH_WORK = 200  # operations per point that the mesh is worth when threads are counted
GROWTH, DECAY, SMALLEST_GAIN = 0.2, 0.8, 0.01  # of the step of a coordinate that keeps, or changes, its direction


def push_all(Y: np.ndarray, force: np.ndarray, sums: np.ndarray, low: int, high: int) -> None:
    """The pushes of all points on the blocks ``low`` to ``high`` of LANES points each."""
    from margin.compiled.reduction import pushes, pushes_in_plane

    if len(Y) == 2:
        pushes_in_plane(low, high, Y, force, sums)
    else:
        pushes(low, high, Y, *np.empty((2, len(Y), LANES), dtype=np.float32), force, sums)


class NeighborDescent:
    """The running fit: positions (d, n), velocities and gains, and the affinities in compressed rows."""

    def __init__(self, model: TSNE, X: np.ndarray):
        self.model = model
        P = sparse_affinities(model, X)
        self.starts, self.neighbors, self.P = P.indptr.astype(np.int64), P.indices.astype(np.int32), P.data
        self.entropy = float(np.sum(self.P * np.log(np.maximum(self.P, np.finfo(float).tiny))))
        self.Y = self._initial_positions(X).astype(np.float32, order="C")
        self.velocity, self.gains = np.zeros(self.Y.shape), np.ones(self.Y.shape)
        self.iteration, self.settled = 0, False
        self.rate = model.learning_rate
        if self.rate == "auto":
            self.rate = max(len(X) / model.early_exaggeration / 4, 50.0)
        d, n = self.Y.shape
        self.by_mesh = model.method != "exact" and model.angle > 0 and n > EXACT_ROWS and d <= 2
        self.farthest = FARTHEST_ON_MESH if self.by_mesh else FARTHEST
        self.threads = self._threads(model.n_jobs, n)
        self.best, self.best_iteration = np.inf, 0
        self.judge()

    def _threads(self, n_jobs: int | None, n: int) -> int:
        if n_jobs is None:
            return threads_for(len(self.P) + MESH_WORK * n if self.by_mesh else n * n)
        return available() if n_jobs < 1 else n_jobs

    def _initial_positions(self, X: np.ndarray) -> np.ndarray:
        d, init = self.model.n_components, self.model.init
        if not isinstance(init, str):
            return np.array(init, dtype=np.float64).T
        # Their size is set below, so they may be computed in a unit in which squares neither overflow nor vanish.
        positions = None if init == "random" else principal_positions(X / power_of_two(np.abs(X).max()), d).T
        spread = 0.0 if positions is None else positions[0].std()
        if positions is None or spread == 0:  # all rows are equal: any start is as good
            return FIRST_SPREAD * as_generator(self.model.random_state).normal(size=(d, len(X)))
        return positions * (FIRST_SPREAD / spread)

    def _forces(self, spread: np.ndarray = NO_PAIRS) -> tuple[np.ndarray, np.ndarray, float]:
        """Pulls, pushes and the sum of all similarities; 1 + |y_i - y_j|^2 of the stored pairs into ``spread``."""
        from margin.compiled.reduction import pulls, pulls_in_plane

        kernel = pulls_in_plane if len(self.Y) == 2 else pulls
        pull = np.empty(self.Y.shape)
        push, total = self._pushes()
        given = self.starts, self.neighbors, self.P, self.Y, pull, spread
        over_ranges(lambda low, high: kernel(low, high, *given), self.Y.shape[1], self.threads)
        Z = total - self.Y.shape[1]
        if not Z > 0:  # all so far apart that none is like another
            raise self._run_away()
        return pull, push, Z

    def _run_away(self) -> ValueError:
        return ValueError(
            f"TSNE: learning_rate must be small enough that positions stay within {self.farthest:g} of their center; "
            f"got {self.rate:g}, by which they ran away after {self.iteration} steps."
        )

    def _pushes(self) -> tuple[np.ndarray, float]:
        if self.by_mesh:
            return mesh_repulsion(self.Y, self._spacing() * self.model.angle, self.threads)
        push, sums = np.empty_like(self.Y), np.empty(self.Y.shape[1], dtype=np.float32)
        over_ranges(partial(push_all, self.Y, push, sums), -(-len(sums) // LANES), self.threads)
        return push.astype(np.float64), float(sums.sum(dtype=np.float64))

    def _spacing(self) -> float:
        if self.iteration < EXAGGERATED_STEPS:
            return EARLY_SPACING
        return SPACING if self.iteration < self.model.max_iter - FINE_STEPS else FINE_SPACING

    def judge(self) -> None:
        """The divergence, the norm of its gradient, and whether the descent is over."""
        spread = np.empty(len(self.P))
        pull, push, Z = self._forces(spread)
        self.kl = self.entropy + float(self.P @ np.log(spread)) + float(np.log(Z))
        self.norm = float(np.linalg.norm(4 * (pull - push / Z)))
        if self.iteration <= EXAGGERATED_STEPS:
            self.best_iteration = self.iteration
            return
        if self.kl < self.best:
            self.best, self.best_iteration = self.kl, self.iteration
        waited = self.iteration - self.best_iteration
        self.settled = self.norm <= self.model.min_grad_norm or waited > self.model.n_iter_without_progress

    def step(self) -> None:
        early = self.iteration < EXAGGERATED_STEPS
        pull, push, Z = self._forces()
        gradient = 4 * ((self.model.early_exaggeration if early else 1.0) * pull - push / Z)
        same_way = self.velocity * gradient < 0
        self.gains = np.maximum(np.where(same_way, self.gains + GROWTH, self.gains * DECAY), SMALLEST_GAIN)
        self.velocity *= EARLY_MOMENTUM if early else LATE_MOMENTUM
        self.velocity -= self.rate * self.gains * gradient
        moved = self.Y + self.velocity
        if not np.abs(moved).max() <= self.farthest:
            raise self._run_away()
        self.Y = (moved - moved.mean(axis=1, keepdims=True)).astype(np.float32)
        self.iteration += 1

    def state(self) -> dict[str, Any]:
        arrays = {"Y": self.Y.copy(), "velocity": self.velocity.copy(), "gains": self.gains.copy()}
        return arrays | {"iteration": self.iteration, "best": self.best, "best_iteration": self.best_iteration}

    def restore(self, state: dict[str, Any]) -> None:
        if state["Y"].shape != self.Y.shape:
            raise ValueError(f"TSNE: state belongs to positions of shape {state['Y'].shape}; got {self.Y.shape}.")
        for name in ("Y", "velocity", "gains"):
            setattr(self, name, restore(state, name, getattr(self, name)))
        self.iteration = int(state["iteration"])
        self.best, self.best_iteration = float(state["best"]), int(state["best_iteration"])
        self.judge()
