"""A core that others use too, for real: background jobs."""
