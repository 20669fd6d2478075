"""One process on one loaded node, in closed form."""
