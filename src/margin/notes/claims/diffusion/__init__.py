"""Claims on diffusion models: the chain and its bound, what is predicted, scores, and sampling."""
