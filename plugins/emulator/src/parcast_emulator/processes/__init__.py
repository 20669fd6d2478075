"""Tightly coupled simulation: every process issues its calls one by one."""
