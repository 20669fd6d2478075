"""A core that others use too, for real: background jobs, and processes that wait asleep."""
