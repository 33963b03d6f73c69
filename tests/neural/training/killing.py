"""Kill a training at random steps, continue it from files, and compare every bit with the one that ran through."""

import numpy as np

from margin.neural.training import train
from margin.neural.weights import copy_weights
from margin.store.models import load_state, save_state


def flat(value, name=""):
    """Names and values of everything in a nested state."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flat(part, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from flat(part, f"{name}[{number}]")
    else:
        yield name, value


def assert_same(first, second):
    first, second = dict(flat(first)), dict(flat(second))
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def through(make):
    """Records of an uninterrupted training by step, and the states after each of them."""
    training = make()
    records, states = {}, {}
    for record in train(training):
        records[record.iteration], states[record.iteration] = record.as_dict(), training.state()
    return training, records, states


def killed(make, folder, rng, kills=3):
    """The same training, stopped ``kills`` times between records or at them; only files survive a stop."""
    path, records, steps = folder / "state.safetensors", {}, 0
    total = make().total
    for _ in range(kills):
        training = make()
        if path.exists():
            training.load_state(load_state(path)[0])
        limit = steps + int(rng.integers(1, max(2, total // (kills + 1))))
        for record in train(training, stop=lambda training=training, limit=limit: training.steps >= limit):
            records[record.iteration] = record.as_dict()
        steps = training.steps
        save_state(training.state(), path)
    training = make()
    training.load_state(load_state(path)[0])
    for record in train(training):
        records[record.iteration] = record.as_dict()
    return training, records


def assert_a_kill_changes_nothing(make, folder, seed):
    """Weights, slots, samplers, averages and every record of the uninterrupted training come out again."""
    whole, expected, states = through(make)
    again, records = killed(make, folder, np.random.default_rng(seed))
    assert {step: records[step] for step in expected} == expected
    assert_same(again.state(), whole.state())
    for name, module in whole.step.modules.items():
        assert_same(copy_weights(again.step.modules[name]), copy_weights(module))
    # The state of a finished training is small, so the last unfinished one is compared too, slots and all.
    *_, last = [step for step in states if not states[step]["finished"]]
    part = make()
    first = min(states)
    save_state(states[first], folder / "first.safetensors")
    part.load_state(load_state(folder / "first.safetensors")[0])
    for record in train(part):
        if record.iteration == last:
            assert_same(part.state(), states[last])
            return
    raise AssertionError("the training never came to the step that is compared")
