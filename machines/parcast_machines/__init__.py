"""Machines that parcast ships, one file each."""
