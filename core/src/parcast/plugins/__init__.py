"""Plugins: what they register, the hooks, the catalogue of all of them, executors and kernels."""
