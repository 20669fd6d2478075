"""Matching: messages, collectives and deadlock, found without a clock."""
