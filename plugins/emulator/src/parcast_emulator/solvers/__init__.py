"""The solvers lc and tc."""
