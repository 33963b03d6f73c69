"""Weights in torchvision's names against networks written out by torch's functions."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from margin.neural import CNNClassifier

CENTER, SCALE = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
WIDTH = 0.125  # of the channels: small networks of the same names


class Names:
    """A state dict that grows while a network is written down: every layer asks for its tensors by name."""

    def __init__(self):
        self.tensors, self.drawn = {}, torch.Generator().manual_seed(0)

    def draw(self, name, *shape, low=None):
        if name not in self.tensors:
            fan = max(1, int(np.prod(shape[1:])))
            drawn = torch.randn(*shape, generator=self.drawn) / fan**0.5 if len(shape) > 1 else None
            uniform = torch.rand(*shape, generator=self.drawn)
            self.tensors[name] = drawn if drawn is not None else uniform + (low or -0.5)
        return self.tensors[name]

    def conv(self, x, name, channels, kernel, stride=1, padding=0, bias=False):
        weight = self.draw(f"{name}.weight", channels, x.shape[1], kernel, kernel)
        return F.conv2d(x, weight, self.draw(f"{name}.bias", channels) if bias else None, stride, padding)

    def norm(self, x, name):
        c = x.shape[1]
        mean, var = self.draw(f"{name}.running_mean", c), self.draw(f"{name}.running_var", c, low=0.5)
        self.tensors[f"{name}.num_batches_tracked"] = torch.tensor(3)
        return F.batch_norm(x, mean, var, self.draw(f"{name}.weight", c, low=0.5), self.draw(f"{name}.bias", c))

    def linear(self, x, name, n):
        return F.linear(x, self.draw(f"{name}.weight", n, x.shape[1]), self.draw(f"{name}.bias", n))


def resnet(x, layers, blocks, bottleneck, n_classes):
    x = F.relu(layers.norm(layers.conv(x, "conv1", 8, 7, 2, 3), "bn1"))
    x = F.max_pool2d(x, 3, 2, 1)
    for stage, n_blocks in enumerate(blocks, start=1):
        inner = 8 * 2 ** (stage - 1)
        out = inner * (4 if bottleneck else 1)
        for b in range(n_blocks):
            name, stride = f"layer{stage}.{b}", 2 if stage > 1 and b == 0 else 1
            steps = [(inner, 1, 1), (inner, 3, stride), (out, 1, 1)] if bottleneck else [(out, 3, stride), (out, 3, 1)]
            h = x
            for k, (channels, kernel, step) in enumerate(steps, start=1):
                h = layers.norm(layers.conv(h, f"{name}.conv{k}", channels, kernel, step, kernel // 2), f"{name}.bn{k}")
                h = F.relu(h) if k < len(steps) else h
            if stride > 1 or x.shape[1] != out:
                x = layers.norm(layers.conv(x, f"{name}.downsample.0", out, 1, stride), f"{name}.downsample.1")
            x = F.relu(h + x)
    return layers.linear(x.mean(dim=(2, 3)), "fc", n_classes)


def densenet(x, layers, blocks, growth, n_classes):
    x = F.relu(layers.norm(layers.conv(x, "features.conv0", 2 * growth, 7, 2, 3), "features.norm0"))
    x = F.max_pool2d(x, 3, 2, 1)
    for b, n_layers in enumerate(blocks, start=1):
        for i in range(1, n_layers + 1):
            name = f"features.denseblock{b}.denselayer{i}"
            h = layers.conv(F.relu(layers.norm(x, f"{name}.norm1")), f"{name}.conv1", 4 * growth, 1)
            h = layers.conv(F.relu(layers.norm(h, f"{name}.norm2")), f"{name}.conv2", growth, 3, 1, 1)
            x = torch.cat([x, h], 1)
        if b < len(blocks):
            name = f"features.transition{b}"
            x = layers.conv(F.relu(layers.norm(x, f"{name}.norm")), f"{name}.conv", x.shape[1] // 2, 1)
            x = F.avg_pool2d(x, 2)
    return layers.linear(F.relu(layers.norm(x, "features.norm5")).mean(dim=(2, 3)), "classifier", n_classes)


def vgg11(x, layers, n_classes):
    place = 0
    for n_convolutions, channels in ((1, 8), (1, 16), (2, 32), (2, 64), (2, 64)):
        for _ in range(n_convolutions):
            x = F.relu(layers.conv(x, f"features.{place}", channels, 3, 1, 1, bias=True))
            place += 2
        x, place = F.max_pool2d(x, 2), place + 1
    x = x.flatten(1)
    x = F.relu(layers.linear(x, "classifier.0", 512))
    return layers.linear(F.relu(layers.linear(x, "classifier.3", 512)), "classifier.6", n_classes)


NETWORKS = {
    "resnet18": lambda x, layers: resnet(x, layers, (2, 2, 2, 2), False, 3),
    "resnet50": lambda x, layers: resnet(x, layers, (3, 4, 6, 3), True, 3),
    "densenet121": lambda x, layers: densenet(x, layers, (6, 12, 24, 16), 4, 3),
    "vgg11": lambda x, layers: vgg11(x, layers, 3),
}


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, (4, 64, 64, 3), dtype=np.uint8)


def written_out(name, images):
    layers = Names()
    x = (torch.from_numpy(images).permute(0, 3, 1, 2) / 255 - CENTER[:, None, None]) / SCALE[:, None, None]
    with torch.inference_mode():
        scores = NETWORKS[name](x, layers)
    return scores.numpy(), layers.tensors


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_those_of_the_network_written_out(name, images):
    scores, tensors = written_out(name, images)
    model = CNNClassifier.from_torchvision(tensors, name, image_size=64, classes=["c", "a", "b"], width=WIDTH)
    assert model.classes_.tolist() == ["a", "b", "c"]
    found = model._outputs(model._images(images, reset=False))
    np.testing.assert_allclose(found, scores[:, [1, 2, 0]], rtol=0, atol=1e-5 * np.abs(scores).max())
    assert np.ptp(scores) > 0.1


def test_a_new_head_is_trained_on_frozen_layers_from_a_file(images, tmp_path):
    _, tensors = written_out("resnet18", images)
    save_file(tensors, tmp_path / "weights.safetensors")
    torch.save(tensors, tmp_path / "weights.pth")
    y = [0, 1, 1, 0]
    models = []
    for file in ("weights.safetensors", "weights.pth"):
        start = {"image_size": 64, "width": WIDTH, "freeze": "encoder", "max_iter": 2, "random_state": 0}
        models.append(CNNClassifier.from_torchvision(tmp_path / file, "resnet18", **start).fit(images, y))
    np.testing.assert_array_equal(models[0].predict_proba(images), models[1].predict_proba(images))
    learned, start = models[0].weights_, models[0].pretrained.weights
    head = next(reversed(learned)).rpartition(".")[0]
    assert all(np.array_equal(learned[name], start[name]) for name in start if not name.startswith(head))
    assert learned[f"{head}.weight"].shape == (2, 64)
    assert models[0].network_["center"] == pytest.approx([255 * 0.485, 255 * 0.456, 255 * 0.406])


class _Code:
    def __reduce__(self):
        return (print, ("executed",))


def test_wrong_files_are_refused_with_one_sentence(images, tmp_path, capsys):
    _, tensors = written_out("resnet18", images)
    torch.save({"conv1.weight": _Code()}, tmp_path / "code.pth")
    (tmp_path / "cut.safetensors").write_bytes(b"12345")
    wide = tensors | {"conv1.weight": tensors["conv1.weight"].repeat(2, 1, 1, 1)}
    wrong = {
        "code.pth must hold tensors and nothing else": tmp_path / "code.pth",
        "cut.safetensors cannot be read": tmp_path / "cut.safetensors",
        "there is none": tmp_path / "missing.pth",
        "must have bn1.bias; they have none": {n: t for n, t in tensors.items() if n != "bn1.bias"},
        "'extra' is no weight of resnet18": tensors | {"extra": torch.ones(2)},
        r"conv1.weight of resnet18 must have shape \(8, 3, 7, 7\) .*; got \(16, 3, 7, 7\)": wide,
        "fc.bias must be a tensor of floating-point numbers; got list": tensors | {"fc.bias": [1, 2]},
    }
    for sentence, source in wrong.items():
        with pytest.raises(ValueError, match=sentence) as caught:
            CNNClassifier.from_torchvision(source, "resnet18", image_size=64, width=WIDTH)
        assert "\n" not in str(caught.value)
    assert "executed" not in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"architecture must be one of resnet18, .*; got 'alexnet2'"):
        CNNClassifier.from_torchvision(tensors, "alexnet2")
    with pytest.raises(ValueError, match="classes must name each output of the network once; got 2 names"):
        CNNClassifier.from_torchvision(tensors, "resnet18", image_size=64, width=WIDTH, classes=["a", "b"])


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "old"])
def test_a_damaged_file_is_refused(tmp_path, zipped):
    """Whatever a flipped or missing byte makes of it, the reader says one sentence that names the file."""
    path = tmp_path / "weights.pth"
    torch.save({"fc.weight": torch.ones(2, 3)}, path, _use_new_zipfile_serialization=zipped)
    whole, rng, unreadable = path.read_bytes(), np.random.default_rng(0), 0
    for k in range(40):
        damaged = bytearray(whole[: rng.integers(1, len(whole))] if k % 4 == 0 else whole)
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^CNNClassifier") as refusal:
            CNNClassifier.from_torchvision(path, "resnet18")
        unreadable += "must hold tensors and nothing else" in str(refusal.value)
    assert unreadable >= 10
