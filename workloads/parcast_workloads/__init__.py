"""Workloads that parcast ships, one file each."""
