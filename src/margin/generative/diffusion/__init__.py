"""Diffusion: the chain in closed form, its bound, samplers, scores, and the estimator that learns to denoise."""
