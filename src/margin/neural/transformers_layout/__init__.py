"""Networks in the files of Hugging Face's transformers: ``config.json`` and ``model.safetensors``, read and written."""

from margin.neural.transformers_layout.folder import load_transformers, save_transformers
from margin.neural.transformers_layout.tables import MODEL_TYPES

__all__ = ["MODEL_TYPES", "load_transformers", "save_transformers"]
