"""Comparison: inputs, the grid of points, settings, solving, rows and measurements."""
