"""Traces: what every rank called and when, as columns."""
