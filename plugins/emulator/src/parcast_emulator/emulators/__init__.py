"""Emulators: each makes the blocks that an application would read, send and compute on."""
