"""Programs run for real: a plan for each rank, ranks that follow it, and the answer."""
