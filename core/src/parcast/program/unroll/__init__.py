"""Unrolling: a tree at one point as the operations of every process."""
