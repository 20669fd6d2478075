"""Quantities: units, formulas, distributions, ranges of numbers and what repeated runs estimate."""
