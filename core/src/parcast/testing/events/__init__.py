"""The cost table of ``docs/program.md``, evaluated event by event in the order of time.

Written apart from `parcast.program.reference.process_sweep`, so that the two check each other:
processes are generators that yield when they go on, or None to sleep until something wakes them.
"""

from __future__ import annotations

from parcast.testing.events.processes import by_events

__all__ = ["by_events"]
