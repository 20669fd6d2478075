"""Machines that parcast ships, one file each."""

from __future__ import annotations

from parcast.plugins import resources

parcast_machines = resources(__name__, ".toml")
