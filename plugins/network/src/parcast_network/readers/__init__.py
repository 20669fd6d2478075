"""Files of other tools that describe networks."""
