"""Lengths that kernels and the Python around them share."""

LANES = 64  # points that meet every other point together: their sums are separate, so they fill vector registers
TILE = 64  # vertices of a tile: three tiles of float64 fit the second-level cache
