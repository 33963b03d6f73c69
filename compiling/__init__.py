"""How ``*_kernels.py`` files become C; only ``setup.py`` and ``make dist`` use it."""
