"""Estimates: the numbers of a machine that follow from what was measured."""
