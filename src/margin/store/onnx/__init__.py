"""Models as ONNX files, for programs without Python: what ONNX can express, and a sentence for what it cannot.

To read it in order: ``graph`` (nodes, constants, numbers in double precision), ``columns`` (preparation of a table),
``linear``, ``trees``, ``networks`` (models), ``export`` (what a user calls).
"""

from margin.store.onnx.export import export_onnx

__all__ = ["export_onnx"]
