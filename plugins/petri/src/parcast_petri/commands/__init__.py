"""The commands of ``parcast petri``, and what they take."""
