"""Update rules and schedules in a file: only those of the registry, only inside their domains, and nothing beside."""

import json

import numpy as np
import pytest
from safetensors.numpy import save as safetensors_save

import margin
from margin.optimize import Adam, AdamW, Cosine, Muon, WarmUp
from margin.store import StoreError


def node(name, learned=None, **params):
    return {"!": "estimator", "class": name, "params": params, "learned": learned or {}}


def file_of(path, **params):
    manifest = {"format_version": 1, "kind": "model", "root": node("mlp-classifier", **params)}
    return written(path, json.dumps(manifest))


def written(path, manifest):
    path.write_bytes(safetensors_save({"a0": np.zeros(3)}, metadata={"margin": manifest}))
    return path


def test_parts_come_back_as_they_were(tmp_path):
    model = margin.MLPClassifier(
        solver=Muon(0.8, rest=AdamW(0.7)), learning_rate=WarmUp(schedule=Cosine(floor=0.1), steps=3)
    )
    loaded = margin.load(margin.save(model, tmp_path / "model.safetensors"))
    assert loaded.get_params() == model.get_params()
    assert loaded.solver.rest is not model.solver.rest
    assert margin.load(file_of(tmp_path / "by_hand", solver=node("margin/adam-rule", beta_1=0.8))).solver == Adam(0.8)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"solver": node("margin/adam-rule", beta_1=5.0)}, "beta_1 must be a number at least 0 and below 1; got 5"),
        ({"solver": node("margin/adam-rule", beta_1="fast")}, "beta_1 must be"),
        ({"solver": node("margin/adam-rule", speed=1.0)}, "speed"),
        ({"solver": node("margin/muon-rule", rest=node("margin/cosine-schedule"))}, "rest must be"),
        ({"solver": node("margin/cosine-schedule")}, "solver must be one of"),
        ({"solver": node("ridge")}, "solver must be one of"),
        ({"solver": node("torch.optim.SGD")}, "not in the registry"),
        ({"solver": node("margin/adam-rule", {"update": 3})}, "cannot have an attribute 'update'"),
        ({"solver": node("margin/adam-rule", {"beta_1": 3})}, "cannot have an attribute 'beta_1'"),
        ({"learning_rate": node("margin/adam-rule")}, "learning_rate must be one of"),
        ({"learning_rate": node("margin/cosine-schedule", steps=0)}, "steps must be"),
    ],
)
def test_what_is_no_such_part_is_refused(tmp_path, params, match):
    path = file_of(tmp_path / "hostile.safetensors", **params)
    with pytest.raises(StoreError, match=match) as caught:
        margin.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("depth", [150, 5000])
def test_parts_deep_inside_each_other_are_refused(tmp_path, depth):
    inner, outer = json.dumps(node("margin/cosine-schedule")), json.dumps(node("margin/warm-up-schedule", schedule="?"))
    before, after = outer.split('"?"')
    chain = before * depth + inner + after * depth
    manifest = json.dumps({"format_version": 1, "kind": "model", "root": node("mlp-classifier", learning_rate="?")})
    with pytest.raises(StoreError, match=r"damaged|deep"):
        margin.load(written(tmp_path / "deep.safetensors", manifest.replace('"?"', chain)))
