"""Simulation of phases, event by event."""
