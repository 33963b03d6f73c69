"""Claims on autoencoders: what linear ones share with PCA, and what noise and sparsity change."""
