"""Oracles of the foundations."""
