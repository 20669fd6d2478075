"""References: plain evaluations of a program that solvers are held against."""
