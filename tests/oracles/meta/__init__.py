"""Oracles of linear models."""
