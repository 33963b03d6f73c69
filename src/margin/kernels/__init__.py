"""Kernel methods: kernels as objects, support vector machines, kernel ridge and kernel regression."""

from margin.kernels.functions import (
    RBF,
    Constant,
    Kernel,
    Laplace,
    Linear,
    Periodic,
    Polynomial,
    Product,
    Sum,
    White,
)

__all__ = ["RBF", "Constant", "Kernel", "Laplace", "Linear", "Periodic", "Polynomial", "Product", "Sum", "White"]
