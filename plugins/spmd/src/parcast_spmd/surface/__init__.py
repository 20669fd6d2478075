"""Speedup surfaces: every p and d at once, what binds where, and what to buy."""
