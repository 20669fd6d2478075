"""Symbolic expressions: a kernel, and the rules that simplify sums, maxima and demands."""
