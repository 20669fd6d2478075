"""Files: tables of machines and workloads, and series of measured times."""
