"""Routes: parse, call one function, answer. Each module below has a ``router``, mounted under ``/api``."""

__all__ = ["ROUTERS"]

ROUTERS = ("shell", "events", "models", "sessions", "notes", "gallery", "tables", "comparisons", "runs")
