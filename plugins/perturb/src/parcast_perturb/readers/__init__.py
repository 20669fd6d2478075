"""Readers: traces from the formats that tools write."""
