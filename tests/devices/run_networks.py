"""Fit networks on the second device, in a process of its own, and say of each whether all of it ran there.

``python run_networks.py FOLDER NAME ...`` writes the models and what they said into FOLDER and prints one line of JSON
per case of these networks: its name, and what went wrong (empty: nothing).
"""

import json
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
from problems import build, is_table, outputs, problem

import margin
from margin import catalog
from margin.core.parameters import parameters_of
from margin.neural.weights import device_of

DEVICE = "fakegpu"
SHORT = {"max_iter": 1}
ROWS, OTHERS = 48, 12  # rows of a table, texts, pictures or graphs: every operation of this device is a call of Python

# Parts of networks that draw, look up or make tensors of their own, beside what the defaults reach.
VARIANTS = {
    "mlp-classifier": [
        {"norm": "batch", "dropout": 0.2, "weight_average": 0.9, "early_stopping": True},
        {"solver": "lbfgs"},
        {"solver": "muon", "hidden_layer_sizes": (8, 8, 8), "input_noise": 0.1, "weight_noise": 0.1},
        {"precision": "float32", "solver": "sgd", "loss": "hinge"},
    ],
    "mlp-regressor": [{"solver": "rmsprop", "loss": "normal", "regularizer": "l1"}],
    "tabular-net-classifier": [{"early_stopping": True}],
    "cnn-classifier": [
        {"augment": ["flip", "shift 1", "crop 1", "rotate 9", "noise 0.1", "color 0.1", "cutout 1", "mixup 0.2"]}
    ],
    "sequence-classifier": [{"cell": "lstm", "truncation": 2, "dropout": 0.1, "n_layers": 2}],
    "vae": [{"latent": kind} for kind in ("mixture", "von-mises-fisher", "hierarchical")],
    "autoencoder": [{"noise": 0.1, "noise_kind": "mask"}],
    "gan": [
        {"spectral_norm": True, "blur": 0.1, "dropout": 0.1},
    ],
    "cyclegan": [{"weight_average": None, "cycle_weight": 5.0}],
    "diffusion-model": [
        {"denoiser": "unet", "image_shape": (2, 2), "prediction": "v", "hidden_layer_sizes": (8, 8)},
        {"denoiser": "transformer", "image_shape": (2, 2), "sampler": "ddpm", "hidden_layer_sizes": (8, 8)},
    ],
    "score-model": [{"denoiser": "unet", "image_shape": (2, 2), "hidden_layer_sizes": (8, 8)}],
    "text-classifier": [{"architecture": name} for name in ("cnn", "rnn", "transformer")],
    "language-model": [{"position": "alibi", "feed_forward": "experts"}, {"position": "learned", "dropout": 0.1}],
    "masked-language-model": [{"position": "sinusoidal"}],
    "object-detector": [{"architecture": name} for name in ("detr", "r-cnn", "fast-r-cnn", "faster-r-cnn", "hog-svm")],
    "segmenter": [{"architecture": "unet"}],
    "simclr": [{"augment": ("crop 2", "flip", "noise", "contrast", "blur")}],
    "node-classifier": [{"architecture": name} for name in ("gat", "sage", "gin", "mpnn")],
    "graph-classifier": [{"architecture": "gat", "readout": "mean", "batch_norm": True}],
    "few-shot-learner": [{"method": name} for name in ("matching", "siamese")],
    "neural-ode": [{"gradient": "adjoint"}],
    "pinn": [{"solver": "adam"}],
}


def settings(name):
    """The cases of a network: its test parameters, and its variants."""
    return [{}, *VARIANTS.get(name, [])]


def few(entry):
    """A small part of the problem; one graph is not cut."""
    X, y = problem(entry)
    if entry.data == "graph" and not isinstance(X, list):
        return X, y
    n = ROWS if is_table(X) else OTHERS
    return X[:n], None if y is None else y[:n]


def networks(model):
    """The model, or those inside of it that are networks."""
    if hasattr(model, "_module"):
        return [model]
    return [inside for inside in vars(model).values() if hasattr(inside, "_module")]


def run(name, case, folder):
    """Fit on the device, look at every record whether the weights are the network's, and store model and outputs."""
    entry = catalog.entry(name)
    short = SHORT if "max_iter" in parameters_of(catalog.class_of(name)) else {}
    model = build(entry, **{**short, **case, "device": DEVICE})
    X, y = few(entry)
    for _ in model.iterate(X) if y is None else model.iterate(X, y):
        for network in networks(model):
            for key, tensor in network._module.state_dict().items():
                np.testing.assert_array_equal(network.weights_[key], tensor.numpy(force=True), err_msg=f"stale {key}")
    assert networks(model), "nothing was looked at"
    for network in networks(model):
        assert device_of(network._module).type == DEVICE, "the network left the device"
    said = outputs(model, X)
    number = settings(name).index(case)
    margin.save(model, folder / f"{name}-{number}.margin")
    np.savez(folder / f"{name}-{number}.npz", **{key: value for key, value in said.items() if value.dtype.kind == "f"})


def main(folder, names):
    warnings.simplefilter("ignore")
    for name in names:
        for number, case in enumerate(settings(name)):
            problem_text = ""
            try:
                run(name, case, folder)
            except Exception as error:
                lines = [f for f in traceback.extract_tb(error.__traceback__) if "src/margin" in f.filename][-3:]
                where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(lines))
                problem_text = f"{type(error).__name__}: {str(error)[:300]} ({where})"
            print(json.dumps({"case": f"{name}-{number}", "problem": problem_text}), flush=True)


if __name__ == "__main__":
    from second_device import install

    install()
    main(Path(sys.argv[1]), sys.argv[2:])
