"""Differential equations: solvers, networks that solve them, and networks that are them."""

from margin.physics.adaptive import dormand_prince
from margin.physics.implicit import solve_stiff
from margin.physics.neural_ode import NeuralODE
from margin.physics.ode import integral_curve, linear_system, solve_ode
from margin.physics.pinn import PINN, Condition
from margin.physics.solution import Event, ODESolution
from margin.physics.steps import euler, midpoint, rk4

__all__ = [
    "PINN",
    "Condition",
    "Event",
    "NeuralODE",
    "ODESolution",
    "dormand_prince",
    "euler",
    "integral_curve",
    "linear_system",
    "midpoint",
    "rk4",
    "solve_ode",
    "solve_stiff",
]
