"""Stages: what a person sees of a model after a record."""
