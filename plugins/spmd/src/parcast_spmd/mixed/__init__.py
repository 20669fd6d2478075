"""Open, closed and mixed queuing networks with several servers: exact means, or proven bounds."""
