"""Races against peers: a family is a module with ``cases(quick)``, run by ``python -m benchmarks FAMILY``."""
