"""Networks on images and texts: torch's own exporter writes the graph of scores, and the classes stand behind it.

Images come as they were fitted, (n, channels, height, width) of bytes or float32; texts as ids (n, longest), 0 after
the end of a text (``TextClassifier.token_ids``).
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

__all__ = ["TORCH_CLASSIFIERS", "export_torch", "exported"]

TORCH_CLASSIFIERS = ("CNNClassifier", "VisionTransformer", "TextClassifier")
OPSET = 18


def exported(model: Any) -> bytes:
    """The bytes of an ONNX file with the outputs ``label`` and ``probabilities``."""
    name = type(model).__name__
    if getattr(model, "architecture", None) == "rnn":
        raise CannotExport(
            f"export_onnx: {name} with architecture 'rnn' cannot be exported: it reads packed sequences."
        )
    try:
        import onnxscript  # noqa: F401
        import torch
    except ImportError:
        raise CannotExport("export_onnx: networks need the package onnxscript, which is not installed.") from None

    module = torch.nn.Sequential(model.module_, torch.nn.Softmax(dim=1)).eval()
    input_name, example, axes = _input(model)
    shapes = {axis: torch.export.Dim(length, min=1) for axis, length in axes.items()}
    with _quiet(), torch.no_grad():
        try:
            program = torch.onnx.export(
                module, (torch.from_numpy(example),), dynamo=True, dynamic_shapes=(shapes,), opset_version=OPSET,
                input_names=[input_name], output_names=["probabilities"], verbose=False,
            )  # fmt: skip
        except torch.onnx.errors.OnnxExporterError as error:
            reason = " ".join(str(error.__cause__ or error).split())[:200]
            raise CannotExport(f"export_onnx: {name} has a layer that torch cannot export ({reason}).") from None
    assert program is not None
    content: bytes = _label(program.model_proto, np.asarray(model.classes_), name).SerializeToString()
    return content


def export_torch(model: Any, path: str | Path) -> Path:
    """Write the network of scores as a program of ``torch.export``, which takes any number of rows."""
    name = type(model).__name__
    if name not in TORCH_CLASSIFIERS or getattr(model, "architecture", None) == "rnn":
        raise CannotExport(f"export: {name} cannot be written for torch; these can: {', '.join(TORCH_CLASSIFIERS)}.")
    import torch

    _, example, axes = _input(model)
    shapes = {axis: torch.export.Dim(length, min=1) for axis, length in axes.items()}
    with _quiet(), torch.no_grad():
        program = torch.export.export(model.module_, (torch.from_numpy(example),), dynamic_shapes=(shapes,))
    made = io.BytesIO()
    torch.export.save(program, made)
    return write_atomically(path, made.getvalue())


def _input(model: Any) -> tuple[str, np.ndarray, dict[int, str]]:
    """Name of the input, an example of it, and which of its axes have any length."""
    if hasattr(model, "image_shape_"):
        return "images", np.zeros((2, *model.image_shape_), dtype=model.input_dtype_), {0: "n"}
    return "ids", np.ones((2, 5), dtype=np.int64), {0: "n", 1: "length"}


def _label(proto: Any, classes: np.ndarray, name: str) -> Any:
    """The graph with the class of the largest probability, the first of equals."""
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
    outputs = [helper.make_tensor_value_info("label", kind, ["n"]), *graph.output]
    del graph.output[:]
    graph.output.extend(outputs)
    proto.doc_string = f"{name}, exported by margin"
    return proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Torch's exporter tells of libraries that it would also know; that is of no use to whoever exports a model."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
