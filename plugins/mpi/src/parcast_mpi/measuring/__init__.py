"""Measuring this host: sampling under MPI, estimates from the samples, and the machine file."""
