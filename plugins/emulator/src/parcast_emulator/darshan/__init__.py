"""Logs of Darshan: what jobs read and wrote, as accesses on another storage."""
