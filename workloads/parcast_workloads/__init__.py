"""Workloads that parcast ships, one file each: ``phases`` here, programs in their own folder."""

from __future__ import annotations

from parcast.plugins import resources

parcast_workloads = (*resources(__name__, ".toml"), *resources(__name__, ".py", "programs"))
