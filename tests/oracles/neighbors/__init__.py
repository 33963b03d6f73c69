"""Oracles of neighbors and of densities by counting them."""
