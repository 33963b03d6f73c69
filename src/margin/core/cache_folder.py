"""The folder of the user for what programs can make again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["user_cache_folder"]


def user_cache_folder() -> Path:
    """Where programs keep what they can make again, on this platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
