"""Models from programs of messages, their loops and number of processes kept symbolic."""
