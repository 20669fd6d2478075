"""From a model to its formulas."""
