"""The solvers bound, path and sim, and what reports their formulas."""
