"""Oracles of networks."""
