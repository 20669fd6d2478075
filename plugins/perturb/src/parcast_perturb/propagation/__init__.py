"""Propagation: how far each delay gets."""
