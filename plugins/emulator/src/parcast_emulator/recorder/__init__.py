"""Traces of Recorder: the calls of jobs at files, as accesses on another storage."""
