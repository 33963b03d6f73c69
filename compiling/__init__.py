"""How ``*_kernels.py`` files become C; only ``setup.py`` uses it."""
