"""A check of a machine: benchmarks predicted on it, beside what was measured."""
