"""Ours against the libraries a user would pick instead: one module per family, ``python -m benchmarks FAMILY``."""
