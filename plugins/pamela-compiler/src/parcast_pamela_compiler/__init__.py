"""Models of data-parallel programs in Python, which are read and never run."""
