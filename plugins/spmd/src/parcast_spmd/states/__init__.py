"""Small queuing networks without a product form, Petri parts among them: exact, state by state."""
