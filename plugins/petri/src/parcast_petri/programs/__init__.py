"""Programs as timed nets: one transition for each thing that takes time."""
