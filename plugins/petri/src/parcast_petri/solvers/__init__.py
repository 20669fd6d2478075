"""The solvers mean, sampled and explicit."""
