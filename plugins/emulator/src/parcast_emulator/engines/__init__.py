"""Engines: two exact simulations of the same discipline, and when each applies."""
