"""Training jobs recorded as tables of operations: what a run without stragglers would take."""
