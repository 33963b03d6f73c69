"""Safe save and load: one safetensors file with a JSON manifest in its header. No pickle, no code in files.

:mod:`margin.store.container` is the file, :mod:`margin.store.encoding` and :mod:`margin.store.decoding` turn
values into JSON and arrays and back, :mod:`margin.store.models` is what a user calls.
"""

from margin.store.container import StoreError
from margin.store.models import load, save

__all__ = ["StoreError", "load", "save"]
