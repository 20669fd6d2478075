"""SPMD queuing networks for parcast (Cremonesi & Gennaro 2002)."""
