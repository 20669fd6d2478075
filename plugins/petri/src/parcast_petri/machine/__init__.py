"""What petri knows of machines: loads, laws, background jobs and links."""
