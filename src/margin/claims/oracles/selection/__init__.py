"""Oracles of ``margin.selection``."""
