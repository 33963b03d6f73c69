"""The gradient of a batch from parts: the bits do not depend on who computes them."""

import threading
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import margin
from margin.neural.layers.dropout import Dropout
from margin.neural.training import Batch, Compute, Minimize, Plan, RowBatches, TensorRows, Training, train
from margin.neural.training.gradient_parts import GradientParts
from margin.neural.training.objectives import cross_entropy
from margin.neural.training.processes import Processes


class Room:
    """Where threads that stand in for processes meet.

    Processes have generators of their own and threads share one, so only one of them works at a time.
    """

    def __init__(self, size):
        self.size, self.table = size, [None] * size
        self.barrier = threading.Barrier(size, timeout=60)
        self.turn = threading.Lock()

    def exchange(self, rank, value):
        self.table[rank] = value
        self.turn.release()
        try:
            self.barrier.wait()
            found = list(self.table)
            self.barrier.wait()
        finally:
            self.turn.acquire()
        return found


class InRoom(Processes):
    def __init__(self, rank, room):
        super().__init__(rank, room.size)
        object.__setattr__(self, "room", room)

    def gather(self, tensor):
        return [found.clone() for found in self.room.exchange(self.rank, tensor)]

    def add(self, tensor):
        return sum(self.room.exchange(self.rank, tensor.clone()))


def together(size, work):
    """``work(processes)`` of every process at the same time; what each of them gives."""
    room, found, errors = Room(size), [None] * size, []

    def run(rank):
        try:
            with room.turn:
                found[rank] = work(InRoom(rank, room) if size > 1 else Processes())
        except Exception as error:
            errors.append(error)
            room.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return found


def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), Dropout(0.4), nn.Linear(8, 2))


def rows(n=23):
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((n, 3)).astype(np.float32), rng.uniform(0.5, 2, n)
    return TensorRows.of(X, rng.integers(0, 2, n), weight=weight)


def learn(processes, *, exact=True, seed=5, steps=6):
    module = network()
    compute = Compute(parts=4, exact=exact, processes=processes)
    step = Minimize(module, cross_entropy, schedule=0.05, seed=seed, clip_norm=0.5, average=0.9, compute=compute)
    batches = RowBatches(rows(), 10, seed=1)  # 10, 10 and 3 rows: 4, 4 and 1 parts
    step.train()
    losses = [float(step(batches.draw(), k)["loss"].total) for k in range(steps)]
    return {name: array.clone() for name, array in module.state_dict().items()}, losses, step.state()


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, torch.Tensor | np.ndarray):
        return np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return one == other


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_any_number_of_processes_has_the_bits_of_one(size):
    """With dropout, batch norm, weights of rows, clipping, and a last batch that has too few rows for all parts."""
    (alone,) = together(1, learn)
    for weights, losses, state in together(size, learn):
        assert same(weights, alone[0])
        assert losses == alone[1]
        assert same(state, alone[2])  # a checkpoint of one number of processes goes on with another


def test_noise_and_statistics_act():
    """What must not differ between processes does differ between seeds, and running statistics move."""
    (one,), (other,) = together(1, learn), together(1, partial(learn, seed=6))
    assert not same(one[0], other[0])
    assert int(one[0]["1.num_batches_tracked"]) == 6  # once per step, not once per part
    assert one[0]["1.running_mean"].abs().max() > 0


def whole_gradient(module, batch):
    loss = nn.functional.cross_entropy(module(batch.tensors[0]), batch.tensors[1], reduction="none")
    return torch.autograd.grad(loss @ batch.weight / batch.weight.sum(), list(module.parameters()))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("n", [23, 2])
def test_parts_give_the_gradient_of_the_whole_batch(exact, n):
    """Also where a process has no row of the batch."""

    def work(processes):
        module = nn.Linear(3, 2)
        with torch.no_grad():
            module.weight.copy_(torch.arange(6.0).view(2, 3) / 6)
            module.bias.zero_()
        batch = rows(n).batch(slice(None))
        parts = GradientParts(list(module.parameters()), processes.size, processes=processes, exact=exact)
        means = parts(lambda part: cross_entropy(module, part.tensors, torch.Generator()), batch, 0)
        return [p.grad for p in module.parameters()], whole_gradient(module, batch), means["loss"].mass, batch.mass

    for found, expected, mass, all_of_it in together(3, work):
        assert mass == pytest.approx(float(all_of_it))
        for ours, theirs in zip(found, expected):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-7)


class Counting(Processes):
    """Two processes that do the same, of which this one counts the messages of a step."""

    def __init__(self):
        super().__init__(0, 2)
        object.__setattr__(self, "messages", {"add": 0, "any": 0})

    def add(self, tensor):
        self.messages["add"] += 1
        return 2 * tensor

    def any(self, *flags):
        self.messages["any"] += 1
        return flags


def test_summed_gradients_are_one_message_per_step_and_a_stop_is_agreed_on_now_and_then():
    processes, module, asked = Counting(), nn.Linear(3, 2), []
    compute = Compute(parts=2, exact=False, processes=processes)
    step = Minimize(module, cross_entropy, schedule=0.05, seed=0, compute=compute)
    training = Training(RowBatches(rows(200), 10, seed=1), step, Plan(epochs=9, record_steps=None), compute=compute)

    def stop():
        asked.append(training.steps)
        return training.steps > 30

    for _ in train(training, stop):
        pass
    assert asked == [8, 16, 20, 24, 32]  # every eighth step, and at the end of an epoch
    assert processes.messages == {"add": 32, "any": 5}


def test_parameters_that_no_part_reaches_have_no_gradient():
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))

    def work(processes):
        parts = GradientParts([used, unused], 2, processes=processes)
        parts(lambda part: {"loss": part.tensors[0] @ used}, Batch((torch.eye(4)[:, :2],), mass=4.0), 0)
        return unused.grad is None, used.grad.tolist()

    assert together(1, work) == [(True, [0.25, 0.25])]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (margin.MLPClassifier(solver="lbfgs", batch_parts=2), "searches along lines"),
        (margin.PINN(solver="levenberg-marquardt", batch_parts=2), "searches along lines"),
        (margin.SimCLR(batch_parts=2), "compares every row of a batch"),
        (margin.CLIP(batch_parts="processes"), "compares every row of a batch"),
        (margin.GAN(batch_parts=2), "players"),
        (margin.NodeClassifier(batch_parts=2), "depend on each other"),
        (margin.FewShotLearner(batch_parts=2), "episodes"),
    ],
)
def test_what_needs_a_whole_batch_says_so(model, reason):
    with pytest.raises(ValueError, match=f"batch_parts must be None, because .*{reason}"):
        model._compute()


def test_a_network_in_parts_on_one_process_learns_the_same_up_to_rounding():
    X, y = np.random.default_rng(0).standard_normal((60, 4)), np.arange(60) % 3

    def fitted(parts):
        model = margin.MLPClassifier(hidden_layer_sizes=(5,), max_iter=3, random_state=0, batch_parts=parts)
        return model.fit(X, y).predict_proba(X)

    np.testing.assert_allclose(fitted(4), fitted(None), rtol=1e-4)
    np.testing.assert_array_equal(fitted("processes"), fitted(1))
