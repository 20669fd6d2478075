"""Formulas as functions of other programs: Python, NumPy, numba and C."""
