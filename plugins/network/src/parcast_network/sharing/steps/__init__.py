"""The allocation's steps: plain Python on arrays, which numba compiles as it stands."""
