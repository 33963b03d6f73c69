"""Oracles of optimization."""
