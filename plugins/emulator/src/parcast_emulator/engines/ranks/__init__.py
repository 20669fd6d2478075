"""Compiled simulation of programs: what the processes do, without a generator for each."""
