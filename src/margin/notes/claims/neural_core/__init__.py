"""Claims on networks in general: what a perceptron computes, and how its gradients are found."""
