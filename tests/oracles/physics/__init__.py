"""Oracles of physics."""
