"""PAMELA for parcast."""
