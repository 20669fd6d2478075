"""Nets: what they are, their files, pictures, invariants and the token game."""
