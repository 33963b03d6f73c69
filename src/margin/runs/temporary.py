"""A folder that lives as long as the object it belongs to."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

__all__ = ["temporary_folder"]


def temporary_folder(owner: Any, prefix: str) -> Path:
    """A new folder that goes with ``owner``, or with the process; without the warning of ``TemporaryDirectory``, whose
    owner would have to close it."""
    folder = tempfile.mkdtemp(prefix=prefix)
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
