"""Readers of outputs, each by what the output says of itself."""
