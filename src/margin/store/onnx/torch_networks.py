"""Networks of torch: its own exporter writes the graph, and the classes stand behind it.

Images come as they were fitted, (n, channels, height, width) of bytes or float32; texts as ids (n, longest), 0 after
the end of a text (``TextClassifier.token_ids``); tables as doubles (n, p). A language model takes new ``ids`` (n, t)
and the keys and values of those before, ``past`` (blocks, 2, n, heads, read, width), and gives ``scores`` and
``present``, the next ``past``. Graphs come in dense form: ``nodes`` (n, most, p), ``adjacency`` (n, most, most) with
the number of edges from column to row, and which nodes are ``inside`` (n, most). Detectors give all candidates.
"""

from __future__ import annotations

import io
import logging
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.store.container import write_atomically
from margin.store.onnx.graph import CannotExport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from margin.store.onnx.exported_modules import ExportedNetwork, NetworkInput

__all__ = ["TORCH_NETWORKS", "export", "export_torch"]

SCORES = ("CNNClassifier", "VisionTransformer", "TextClassifier")
TORCH_NETWORKS = (
    *SCORES,
    *("CNNRegressor", "GraphClassifier", "GraphRegressor", "LanguageModel", "MaskedLanguageModel", "NodeClassifier"),
    *("ObjectDetector", "Segmenter", "TabularNetClassifier", "TabularNetRegressor", "TokenTagger"),
)
OPSET = 18


def export(model: Any) -> bytes:
    """The bytes of an ONNX file with the outputs of the network; with classes ``label`` before ``probabilities``."""
    name = type(model).__name__
    try:
        import onnxscript  # noqa: F401
        import torch
    except ImportError:
        raise CannotExport("export_onnx: networks need the package onnxscript, which is not installed.") from None
    from margin.store.onnx.exported_modules import described_network

    network = described_network(model)
    with _quiet(), torch.no_grad():
        try:
            program = torch.onnx.export(
                network.module.eval(), _examples(network), dynamo=True, dynamic_shapes=_shapes(network),
                opset_version=OPSET, input_names=[given.name for given in network.inputs],
                output_names=network.outputs, verbose=False,
            )  # fmt: skip
        except torch.onnx.errors.OnnxExporterError as error:
            reason = " ".join(str(error.__cause__ or error).split())[:200]
            raise CannotExport(f"export_onnx: {name} has a layer that torch cannot export ({reason}).") from None
    assert program is not None
    proto = program.model_proto
    proto.doc_string = f"{name}, exported by margin"
    _free_lengths(proto, network)
    if network.classes is not None:
        _label(proto, np.asarray(network.classes), network.inputs[0])
    content: bytes = proto.SerializeToString()
    return content


def export_torch(model: Any, path: str | Path) -> Path:
    """Write the network of scores as a program of ``torch.export``, which takes any number of rows."""
    name = type(model).__name__
    if name not in TORCH_NETWORKS:
        raise CannotExport(f"export: {name} cannot be written for torch; these can: {', '.join(TORCH_NETWORKS)}.")
    import torch

    from margin.store.onnx.exported_modules import described_network

    network = described_network(model)
    scores = name in SCORES  # the network itself, before the softmax
    module = network.module.eval()
    if scores and isinstance(module, torch.nn.Sequential):
        module = module[0]
    with _quiet(), torch.no_grad():
        program = torch.export.export(module, _examples(network), dynamic_shapes=_shapes(network))
    made = io.BytesIO()
    torch.export.save(program, made)
    return write_atomically(path, made.getvalue())


def _examples(network: ExportedNetwork) -> tuple[Any, ...]:
    import torch

    return tuple(torch.from_numpy(given.example) for given in network.inputs)


def _shapes(network: ExportedNetwork) -> tuple[dict[int, Any], ...]:
    """The axes of any length; one name is one length in all inputs."""
    import torch

    least = {axis: given.least for given in reversed(network.inputs) for axis in given.axes.values()} | {"n": 1}
    lengths = {axis: torch.export.Dim(axis, min=length) for axis, length in least.items()}
    return tuple({place: lengths[axis] for place, axis in given.axes.items()} for given in network.inputs)


def _free_lengths(proto: Any, network: ExportedNetwork) -> None:
    """Scores of tokens are as many as the tokens; recurrent layers are told with the length of the example."""
    length = network.inputs[0].axes.get(1)
    if network.inputs[0].name != "ids" or length is None:
        return
    del proto.graph.value_info[:]
    for output in proto.graph.output:
        axes = output.type.tensor_type.shape.dim
        if output.name in ("scores", "states") and len(axes) > 2:
            axes[1].dim_param = length


def _label(proto: Any, classes: np.ndarray, given: NetworkInput) -> None:
    """Add the class of the largest probability, the first of equals, to the graph."""
    from onnx import TensorProto, helper, numpy_helper

    if classes.dtype.kind not in "biuUO":
        raise CannotExport("export_onnx: classes must be integers or strings.")
    numbers = classes.dtype.kind in "biu"
    values = classes.astype(np.int64) if numbers else classes.astype(str).astype(object)
    graph = proto.graph
    graph.initializer.append(numpy_helper.from_array(values, "classes"))
    graph.node.append(helper.make_node("ArgMax", ["probabilities"], ["place"], axis=1, keepdims=0))
    graph.node.append(helper.make_node("Gather", ["classes", "place"], ["label"]))
    kind = TensorProto.INT64 if numbers else TensorProto.STRING
    shape = ["n", *(axis for place, axis in given.axes.items() if place > 1 and given.name == "images")]
    outputs = [helper.make_tensor_value_info("label", kind, shape), *graph.output]
    del graph.output[:]
    graph.output.extend(outputs)


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporter tells of libraries that it would also know; that is of no use to whoever exports a model.

    Layers of torch that take a shorter way where nothing is learned take the written one: it has no node in a graph.
    """
    import torch

    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = logger.level
    logger.setLevel(logging.ERROR)
    shorter = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        torch.backends.mha.set_fastpath_enabled(shorter)
