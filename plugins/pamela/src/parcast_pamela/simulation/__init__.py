"""The meaning of a model as it runs: processes, queues and a clock."""
