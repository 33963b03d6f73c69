"""One trainer, one visible loop: mini-batch gradient descent that can be stopped and continued with the same bits.

The rows lie in tensors and are indexed by a permutation; the loss is added up as a tensor, so no step waits for a
number. All randomness comes from generators of the trainer (order of rows, noise), which are part of its state, as
is the number of threads, because torch's bits depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from margin.core.randomness import as_generator, spawn_seeds
from margin.core.records import Record
from margin.core.threads import threads_for, torch_threads
from margin.neural.batches import Rows
from margin.neural.layers.dropout import use_generator
from margin.neural.optimizers import load_slots, make_optimizer, slots
from margin.neural.plan import Plan
from margin.neural.schedules import learning_rate_factor
from margin.neural.stopping import EarlyStopping
from margin.neural.weights import copy_weights, forward_work, load_weights

__all__ = ["Objective", "Score", "Seeds", "Trainer"]

STEPS_PER_RECORD = 50  # an epoch longer than this reports, and can be checkpointed, inside
EVALUATION_ROWS = 4096  # rows evaluated at once: bounds memory, large enough to be efficient

# Named numbers per row; the first is the loss, the others are only reported. All noise comes from the generator.
Objective = Callable[[nn.Module, tuple[Tensor, ...], torch.Generator], dict[str, Tensor]]
Score = Callable[[nn.Module, Rows], float]


class Seeds(NamedTuple):
    """Independent seeds for the parts of one fit, all from one."""

    weights: int
    split: int
    order: int
    noise: int
    evaluation: int

    @classmethod
    def of(cls, seed: int) -> Seeds:
        return cls(*spawn_seeds(as_generator(seed), len(cls._fields)))


class Trainer:
    r"""Minimizes the weighted mean loss of ``module`` over rows, batch after batch:

    .. math:: \theta \leftarrow \theta - \eta_t\,\mathrm{direction}\Bigl(
              \nabla_\theta \frac{\sum_{i \in B} w_i\,\ell_i(\theta)}{\sum_{i \in B} w_i}\Bigr).

    ``run`` yields a record after every epoch and every ``STEPS_PER_RECORD`` steps inside one; ``state`` after any
    of them, given to ``load_state`` of a new trainer, continues as if nothing had happened.
    """

    def __init__(
        self,
        module: nn.Module,
        objective: Objective,
        plan: Plan,
        *,
        n_rows: int,
        seed: int,
        score: Score | None = None,
        threads: int | None = None,
    ):
        self.module, self.objective, self.plan, self.score = module, objective, plan, score
        self.n_rows, self.seed = n_rows, seed
        self.threads = threads or threads_for(forward_work(module, min(plan.batch_size, n_rows)))
        self.total = plan.epochs * math.ceil(n_rows / plan.batch_size)
        self.optimizer = make_optimizer(
            plan.optimizer, module.parameters(), plan.learning_rate, plan.momentum, plan.weight_decay
        )
        self.stopping = EarlyStopping(plan.n_iter_no_change, plan.tol)
        seeds = Seeds.of(seed)
        self.order = torch.Generator().manual_seed(seeds.order)
        self.noise = torch.Generator().manual_seed(seeds.noise)
        self.step = self.epoch = 0
        self.finished = False
        self.loss_curve: list[float] = []
        self._parameters = list(module.parameters())
        self.sums: dict[str, Tensor]
        self._begin_epoch()
        use_generator(module, self.noise)

    def run(self, rows: Rows, valid: Rows | None = None) -> Iterator[Record]:
        """Train until the epochs are over or ``valid`` has stopped improving; then the best weights are in place."""
        if len(rows) != self.n_rows:
            raise ValueError(f"Trainer: rows must be the {self.n_rows} rows it was made for; got {len(rows)}.")
        while not self.finished:
            # Threads are a setting of the process: whoever consumes the records gets it back as it was.
            with torch_threads(self.threads):
                values = self._advance(rows)
                if self.offset >= self.n_rows:
                    values |= self._end_epoch(values["train_loss"], valid)
            yield Record(self.step, values, self.total)

    def state(self) -> dict[str, Any]:
        """Everything that decides what happens next, as plain values and copied arrays."""
        return {
            "seed": self.seed,
            "threads": self.threads,
            "n_rows": self.n_rows,
            "step": self.step,
            "epoch": self.epoch,
            "offset": self.offset,
            "finished": self.finished,
            "permutation": self.permutation.numpy().copy(),
            "order": self.order.get_state().numpy().copy(),
            "noise": self.noise.get_state().numpy().copy(),
            "sums": {name: float(total) for name, total in self.sums.items()},
            "mass": float(self.mass),
            "weights": copy_weights(self.module),
            "slots": slots(self.optimizer),
            "stopping": self.stopping.state(),
            "loss_curve": list(self.loss_curve),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state``, taken from a trainer of an equal network, plan and number of rows."""
        if state["n_rows"] != self.n_rows:
            raise ValueError(f"Trainer: the state belongs to {state['n_rows']} rows; got {self.n_rows}.")
        load_weights(self.module, state["weights"])
        load_slots(self.optimizer, state["slots"])
        self.stopping.load_state(state["stopping"])
        self.order.set_state(torch.from_numpy(np.array(state["order"])))
        self.noise.set_state(torch.from_numpy(np.array(state["noise"])))
        self.permutation = torch.from_numpy(np.array(state["permutation"]))
        self.sums = {name: torch.tensor(total, dtype=torch.float64) for name, total in state["sums"].items()}
        self.mass = torch.tensor(state["mass"], dtype=torch.float64)
        self.seed, self.threads = int(state["seed"]), int(state["threads"])
        self.step, self.epoch, self.offset = int(state["step"]), int(state["epoch"]), int(state["offset"])
        self.finished = bool(state["finished"])
        self.loss_curve = list(state["loss_curve"])

    def _begin_epoch(self) -> None:
        self.offset = 0
        self.permutation = torch.empty(0, dtype=torch.int64)
        self.sums = {}
        self.mass = torch.zeros((), dtype=torch.float64)

    def _advance(self, rows: Rows) -> dict[str, float]:
        """Up to ``STEPS_PER_RECORD`` steps, not beyond the end of the epoch; the mean of its terms so far."""
        self.module.train()
        size = self.plan.batch_size
        whole = size >= self.n_rows  # one batch is all rows: their order would only change the rounding
        if self.offset == 0 and not whole:
            self.permutation = torch.randperm(self.n_rows, generator=self.order)
        for _ in range(STEPS_PER_RECORD):
            batch = rows if whole else rows.take(self.permutation[self.offset : self.offset + size])
            rate = self._descend(batch)
            self.step += 1
            self.offset += size
            if self.offset >= self.n_rows:
                break
        means = {name: float(total / self.mass) for name, total in self.sums.items()}
        loss = means.pop("loss")
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"Trainer: the training loss is {loss} after {self.step} steps; "
                "a smaller learning_rate or a clip_norm keeps it finite."
            )
        return {"epoch": self.epoch + 1, "train_loss": loss, "learning_rate": rate, **means}

    def _descend(self, batch: Rows) -> float:
        """One update of the weights; returns the learning rate it used."""
        plan = self.plan
        rate = plan.learning_rate * learning_rate_factor(plan.schedule, self.step, self.total, plan.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        terms = self.objective(self.module, batch.tensors, self.noise)
        totals = {name: values @ batch.weight for name, values in terms.items()}
        mass = batch.weight.sum()
        (totals["loss"] / mass).backward()
        if plan.clip_norm is not None:
            nn.utils.clip_grad_norm_(self._parameters, plan.clip_norm)
        self.optimizer.step()
        add_totals(self.sums, totals)
        self.mass += mass
        return rate

    def _end_epoch(self, train_loss: float, valid: Rows | None) -> dict[str, float]:
        self.epoch += 1
        self.loss_curve.append(train_loss)
        self._begin_epoch()
        self.finished = self.epoch >= self.plan.epochs
        if valid is None:
            return {}
        values = self._evaluate(valid)
        self.finished |= self.stopping.see(values["valid_loss"], self.module)
        if self.finished:
            self.stopping.restore_best(self.module)
        return values

    def _evaluate(self, valid: Rows) -> dict[str, float]:
        """Mean terms over ``valid``, every time with the same noise so that epochs can be compared."""
        self.module.eval()
        noise = torch.Generator().manual_seed(Seeds.of(self.seed).evaluation)
        sums: dict[str, Tensor] = {}
        with torch.no_grad():
            for part in valid.chunks(EVALUATION_ROWS):
                terms = self.objective(self.module, part.tensors, noise)
                add_totals(sums, {name: values @ part.weight for name, values in terms.items()})
            values = {f"valid_{name}": float(total / valid.weight.sum()) for name, total in sums.items()}
            if self.score is not None:
                values["valid_score"] = self.score(self.module, valid)
        return values


def add_totals(sums: dict[str, Tensor], totals: Mapping[str, Tensor]) -> None:
    """Add to running sums, kept in double precision."""
    for name, total in totals.items():
        if name in sums:
            sums[name] += total.detach()
        else:
            sums[name] = total.detach().to(torch.float64, copy=True)
