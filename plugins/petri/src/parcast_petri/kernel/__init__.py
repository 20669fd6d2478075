"""The token game in plain functions, which numba compiles as they stand."""
