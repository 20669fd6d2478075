"""Links that flows share max-min fairly: plain, in any exact numbers, and compiled."""
