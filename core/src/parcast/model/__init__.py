"""The model: machines, workloads, the query that joins them, placement and costs."""
