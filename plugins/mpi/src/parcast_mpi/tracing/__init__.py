"""Tracing MPI programs: a library that records their calls, and readers of what it wrote."""
