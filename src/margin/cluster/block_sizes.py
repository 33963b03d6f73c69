"""Lengths that kernels and the Python around them share."""

CHUNK_ROWS = 4096  # rows per task
BATCH = 256  # rows per matrix product: rows, centers and scores stay in the second-level cache
BLOCK = 64  # rows of k-means++ that are looked at together: 32 columns of them fill half of the first-level cache
