"""A graph of ONNX operators under construction. Numbers are double precision throughout, as in the models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["ML", "CannotExport", "Labels", "ModelOutput", "OnnxGraph"]

#: The domain of the operators for trees and labels, and the versions that every runtime of the last years knows.
ML = "ai.onnx.ml"
VERSIONS, IR_VERSION = {"": 17, ML: 3}, 8
#: What constants become, by the kind of their NumPy type; strings stay what they are.
KINDS = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}


class CannotExport(ValueError):
    """A model, or a part of it, that ONNX cannot express; the sentence says which."""


@dataclass(frozen=True)
class ModelOutput:
    """Outputs of a model, as names in the graph: numbers (n, outputs), or scores of classes (n, classes).

    ``kind`` is "numbers", "probabilities" or "decision values"; of two classes decision values have one column.
    """

    values: str
    kind: str = "numbers"
    classes: np.ndarray | None = None


@dataclass(frozen=True)
class Labels:
    """A column of strings in the graph, (n, 1)."""

    name: str


class OnnxGraph:
    """Nodes, constants and inputs; every method adds a node and returns the name of what it computes."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], domain=domain or None, **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Numbers in double precision, integers as int64, strings as they are."""
        from onnx import numpy_helper

        array = np.asarray(value)
        array = array.astype(KINDS.get(array.dtype.kind, object))
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def input_numbers(self, name: str, width: int, description: str = "") -> str:
        from onnx import TensorProto, helper

        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, width], description))
        return name

    def input_labels(self, name: str, description: str = "") -> Labels:
        from onnx import TensorProto, helper

        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.STRING, [None, 1], description))
        return Labels(name)

    def affine(self, x: str, matrix: Any, shift: Any) -> str:
        """x @ matrix + shift."""
        return self.add("Add", self.add("MatMul", x, self.constant(matrix)), self.constant(shift))

    def shift(self, x: str, center: Any, scale: Any) -> str:
        """(x - center) / scale."""
        return self.add("Div", self.add("Sub", x, self.constant(center)), self.constant(scale))

    def unshift(self, x: str, center: Any, scale: Any) -> str:
        """x * scale + center."""
        return self.add("Add", self.add("Mul", x, self.constant(scale)), self.constant(center))

    def pick(self, x: str, columns: Sequence[int]) -> str:
        return self.add("Gather", x, self.constant(np.asarray(columns, dtype=np.int64)), axis=1)

    def beside(self, parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else self.add("Concat", *parts, axis=1)

    def as_double(self, x: str) -> str:
        from onnx import TensorProto

        return self.add("Cast", x, to=TensorProto.DOUBLE)

    def two_columns(self, second: str) -> str:
        """Probabilities of both classes from those of the second, (n, 1)."""
        return self.beside([self.add("Sub", self.constant(np.ones(1)), second), second])

    def finish(self, outputs: Sequence[tuple[str, str, Any]], description: str) -> Any:
        """The model; ``outputs`` are names of the result, of the node that gives it, and a NumPy dtype."""
        from onnx import checker, helper

        made = []
        for name, node, dtype in outputs:
            self.nodes.append(helper.make_node("Identity", [node], [name]))
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            made.append(helper.make_tensor_value_info(name, kind, [None] if name == "label" else [None, None]))
        graph = helper.make_graph(self.nodes, "margin", self.inputs, made, self.constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in VERSIONS.items()]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="margin", doc_string=description
        )
        checker.check_model(model)
        return model
