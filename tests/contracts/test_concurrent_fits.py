"""Fits beside each other give the bits of a fit alone: in threads, under asyncio, and in processes of joblib."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import joblib
import numpy as np
import pytest
import torch
from problems import assert_same_bits, build, ids, outputs, problem
from tests.event_loops import run_coroutine

import margin
from margin import catalog

ENTRIES = [
    catalog.entry(name)
    for name in (
        *("logistic-regression", "elastic-net", "svc", "gaussian-process-regressor", "k-neighbors-classifier"),
        *("random-forest-classifier", "hist-gradient-boosting-regressor", "gradient-boosting-classifier", "kmeans"),
        *("gaussian-mixture", "bayesian-network", "umap", "t-sne", "latent-dirichlet-allocation", "crf-tagger"),
        *("mlp-classifier", "cnn-classifier", "tabular-net-regressor", "sequence-classifier", "vae", "gan"),
        *("diffusion-model", "text-classifier", "language-model", "graph-classifier", "few-shot-learner"),
    )
]
AT_ONCE = 3


def learned(entry):
    X, y = problem(entry)
    model = build(entry)
    return outputs(model.fit(X) if y is None else model.fit(X, y), X)


def at_once(learn):
    """What ``learn`` gives in several threads that begin together."""
    together = Barrier(AT_ONCE)

    def begin(_):
        together.wait(60)
        return learn()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(begin, range(AT_ONCE)))


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_fits_in_threads_have_the_bits_of_one_alone(entry):
    alone = learned(entry)
    for said in at_once(lambda: learned(entry)):
        assert_same_bits(said, alone)


def test_fits_of_different_models_at_once_do_not_disturb_each_other():
    alone = [learned(entry) for entry in ENTRIES]

    async def all_of_them():
        return await asyncio.gather(*(asyncio.to_thread(learned, entry) for entry in ENTRIES))

    for said, expected in zip(run_coroutine(all_of_them()), alone):
        assert_same_bits(said, expected)


def test_fits_in_processes_have_the_bits_of_one_alone():
    entries = ENTRIES[::5]
    found = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(learned)(entry) for entry in entries)
    for said, entry in zip(found, entries):
        assert_same_bits(said, learned(entry))


class Dropping(torch.nn.Module):
    """Layers of torch draw from the generator that torch keeps for the whole process."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(16, 3)
        )

    def forward(self, x):
        return self.layers(x)


def test_networks_with_layers_of_torch_that_draw_do_not_disturb_each_other():
    X, y = problem(catalog.entry("mlp-classifier"))

    def learn():
        return margin.NeuralClassifier(Dropping, max_iter=4, batch_size=16, random_state=0).fit(X, y).predict_proba(X)

    before = torch.random.get_rng_state()
    alone = learn()
    for said in at_once(learn):
        np.testing.assert_array_equal(said, alone)
    assert (torch.random.get_rng_state() == before).all()
