"""Claims on differential equations: solvers, kinds of equations, and networks that solve them."""
