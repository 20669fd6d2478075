"""Readers of profiles, one for each tool."""
