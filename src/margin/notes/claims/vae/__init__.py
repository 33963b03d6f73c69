"""Claims on latent variable models: the bound and its parts, and what training with it gives."""
