"""Weights that someone else trained, as where a fit begins; and which of them it moves, and how fast."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from margin.core.domains import Choice, Either, Instance, Integer, Number, Optional, Text
from margin.core.domains import Sequence as SequenceOf
from margin.core.parameters import parameter
from margin.neural.estimators.base import NeuralEstimator
from margin.neural.generators import Seeds

__all__ = ["FineTuning", "PretrainedNetwork", "freeze_", "image_start", "layers_of"]

LAYER = re.compile(r"^(?:.*\.)?(?:blocks|body)\.\d+(?=\.)")


@dataclass(frozen=True, eq=False)
class PretrainedNetwork:
    """A network that was trained elsewhere: what it is built from, its weights by name, and how it reads its input.

    ``labels`` are the classes of its head, if it has one; ``reading`` is the content of its ``tokenizer.json``. Its
    images had values from 0 to 1, or with ``same_units`` those of the images to come. Clones of an estimator share one:
    nothing changes it.
    """

    source: str
    network: Mapping[str, Any] = field(repr=False)
    weights: Mapping[str, np.ndarray] = field(repr=False)
    labels: tuple[str, ...] | None = None
    reading: str = field(default="", repr=False)
    same_units: bool = False

    def __sklearn_clone__(self) -> PretrainedNetwork:
        return self

    def __deepcopy__(self, _: Any) -> PretrainedNetwork:
        return self


def image_start(
    source: str,
    layers: Mapping[str, Any],
    network: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
    encoder: str = "body.",
) -> PretrainedNetwork:
    """Where networks with the parameters ``layers`` begin: with the weights whose names begin with ``encoder``."""
    kept = {f"body.{name.removeprefix(encoder)}": w.copy() for name, w in weights.items() if name.startswith(encoder)}
    described = {name: network[name] for name in ("shape", "center", "scale")}
    return PretrainedNetwork(source, {"layers": dict(layers), **described}, kept, same_units=True)


def layers_of(names: Iterable[str]) -> list[list[str]]:
    """Names of parameters in groups from the input to the output: what stands before the blocks, every block, the rest.

    >>> layers_of(["embedding.weight", "stack.blocks.0.up.weight", "stack.blocks.0.up.bias", "head.weight"])
    [['embedding.weight'], ['stack.blocks.0.up.weight', 'stack.blocks.0.up.bias'], ['head.weight']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        found = LAYER.match(name)
        key = found.group() if found else "last" if groups.keys() - {"first"} else "first"
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def freeze_(module: nn.Module, names: set[str]) -> None:
    """Keep the named parameters as they are; norms over batches among them use and keep their averages."""
    for name, parameter_ in module.named_parameters():
        if name in names:
            parameter_.requires_grad_(False)
    for path, layer in module.named_modules():
        if isinstance(layer, nn.modules.batchnorm._NormBase) and f"{path}.weight" in names:
            layer.register_forward_pre_hook(_evaluates)


def _evaluates(layer: nn.Module, _: Any) -> None:
    layer.training = False


class FineTuning(NeuralEstimator):
    """Parameters of a fit that begins with a pretrained network, whose last layer is replaced."""

    _: KW_ONLY
    pretrained: PretrainedNetwork | None = parameter(
        None,
        Optional(Instance(PretrainedNetwork, "a network of a folder or file")),
        "Where the weights begin; None: at random. A model file leaves it out.",
    )
    freeze: str | int | Sequence[str] | None = parameter(
        None,
        Optional(Either(Choice("encoder"), Integer(low=0, search=(0, 6)), SequenceOf(Text(), min_length=1))),
        "What training leaves alone: 'encoder' (all but the last layer), the first so many layers (what stands before "
        "the blocks is one of them), or what names of weights begin with.",
    )
    layer_rates: float = parameter(
        1.0,
        Number(above=0, high=1, search=(0.6, 1.0)),
        "Factor by which the learning rate falls from a layer to the one before it.",
    )
    _python_only = frozenset({"pretrained"})
    _pretrained_prefix = ""  # what stands before the names of pretrained weights in the network

    def _check_parameters(self) -> None:
        super()._check_parameters()
        chosen = "freeze" if self.freeze not in (None, 0) else "layer_rates" if self.layer_rates != 1 else None
        limited = ("lbfgs",) if chosen == "freeze" else ("lbfgs", "muon")
        if chosen and isinstance(self.solver, str) and self.solver in limited:
            raise ValueError(
                f"{type(self).__name__}: solver must move layers apart for {chosen}; got {self.solver!r}, which cannot."
            )

    def _begin_network(self, seeds: Seeds, dtype: torch.dtype = torch.float32) -> nn.Module:
        module = super()._begin_network(seeds, dtype)
        if self.pretrained is not None and not self._goes_on():
            self._start_from(module, self.pretrained)
        self._hold(module)
        return module

    def _start_from(self, module: nn.Module, pretrained: PretrainedNetwork) -> None:
        """Write the weights that the network shares with the pretrained one, all but those of its last layer."""
        own = module.state_dict()
        last = set(_last_layer(module))
        with torch.no_grad():
            for name, tensor in own.items():
                array = pretrained.weights.get(name.removeprefix(self._pretrained_prefix))
                if name in last or array is None:
                    continue
                if array.shape != tuple(tensor.shape):
                    raise ValueError(
                        f"{type(self).__name__}: pretrained must fit the network; its {name} has shape {array.shape}, "
                        f"and {tuple(tensor.shape)} is needed."
                    )
                tensor.copy_(torch.from_numpy(np.array(array)))

    def _hold(self, module: nn.Module) -> None:
        """Leave alone what ``freeze`` names, and slow the layers far from the output down."""
        layers = layers_of(name for name, _ in module.named_parameters())
        if len(layers) == 1:  # a network without blocks
            last = set(_last_layer(module))
            layers = [[name for name in layers[0] if name not in last], sorted(last)]
        if self.freeze is not None:
            freeze_(module, self._frozen_names(layers))
        if self.layer_rates != 1:
            named = dict(module.named_parameters())
            for depth, names in enumerate(reversed(layers)):
                for name in names:
                    named[name].rate_factor = float(self.layer_rates) ** depth  # type: ignore[attr-defined]

    def _frozen_names(self, layers: list[list[str]]) -> set[str]:
        if self.freeze == "encoder":
            return {name for names in layers[:-1] for name in names}
        if isinstance(self.freeze, int | np.integer):
            if self.freeze >= len(layers):
                raise ValueError(
                    f"{type(self).__name__}: freeze must leave a layer to learn; the network has {len(layers)}, "
                    f"got {self.freeze}."
                )
            return {name for names in layers[: self.freeze] for name in names}
        every = [name for names in layers for name in names]
        starts = [str(start) for start in self.freeze or ()]
        for start in starts:
            if not any(name.startswith(start) for name in every):
                raise ValueError(
                    f"{type(self).__name__}: freeze must name weights of the network; none begins with {start!r}."
                )
        frozen = {name for name in every if name.startswith(tuple(starts))}
        if len(frozen) == len(every):
            raise ValueError(f"{type(self).__name__}: freeze must leave weights to learn; {starts} names all of them.")
        return frozen


def _last_layer(module: nn.Module) -> list[str]:
    """Names of the weights of the last linear layer, which is replaced for other classes."""
    linear = [path for path, layer in module.named_modules() if isinstance(layer, nn.Linear)]
    return [f"{linear[-1]}.weight", f"{linear[-1]}.bias"] if linear else []
