"""Take a trained model away: to ONNX, to torch, or to a folder of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from margin.service.prediction import open_model

__all__ = ["EXPORT_FORMATS", "export_model"]

EXPORT_FORMATS = {"onnx": "model.onnx", "torch": "model.pt2", "transformers": "transformers"}


def export_model(run: str | Path, out: str | Path | None = None, format: str = "onnx") -> Path:
    """Write the model of a run folder or model file, and say where.

    "onnx" is a file for any runtime, "torch" the network as a program of ``torch.export`` for any number of rows (its
    weights and operations, no Python), "transformers" a folder from which that library builds the network.

    Parameters
    ----------
    run : str or Path
        A run folder or a model file.
    out : str or Path, optional
        The file or folder to write; by default beside the model.
    format : str
        "onnx", "torch" or "transformers".
    """
    if format not in EXPORT_FORMATS:
        raise ValueError(f"export: format must be one of {', '.join(EXPORT_FORMATS)}; got {format!r}.")
    model, _ = open_model(str(run))
    beside = Path(run) if Path(run).is_dir() else Path(run).parent
    target = beside / EXPORT_FORMATS[format] if out is None else Path(out)
    if format == "onnx":
        from margin.store.onnx import export_onnx

        return export_onnx(model, target)
    if format == "torch":
        from margin.store.onnx.torch_networks import export_torch

        return export_torch(model, target)
    return _to_transformers(model, target)


def _to_transformers(model: Any, target: Path) -> Path:
    if not hasattr(model, "to_transformers"):
        raise ValueError(
            f"export: {type(model).__name__} is no network that transformers has; CLIP, LanguageModel, MaskedLanguageModel, "
            "TextClassifier, TokenTagger and VisionTransformer can be."
        )
    written: Path = model.to_transformers(target)
    return written
