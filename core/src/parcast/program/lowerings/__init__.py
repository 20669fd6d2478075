"""Lowerings: phases as a program, and a program as phases."""
