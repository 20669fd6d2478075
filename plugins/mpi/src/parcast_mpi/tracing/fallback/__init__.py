"""The tracer without a compiler: what a Python program itself calls of mpi4py."""
