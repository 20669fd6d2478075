"""The conformance kit: what every plugin promises, checked in the plugin's own tests.

::

    def test_logp():
        registry = check_plugin(parcast_logp)
        check_solver(registry, "logp")

A broken promise raises `AssertionError` with one sentence: who broke it and what was expected.

`by_sweep` and `by_events` execute the cost table of ``docs/program.md`` plainly, and
`random_program` gives programs and machines on which a solver's ideal mode must equal them;
`seeds` gives other ones every day, and `cases` more of them at night.
"""

from __future__ import annotations

from parcast.program.reference.outcome import Reference
from parcast.program.reference.process_sweep import by_sweep
from parcast.testing.events import by_events
from parcast.testing.imports import deep_imports
from parcast.testing.plugin import HEAVY, check_plugin
from parcast.testing.programs import FEATURES, RandomProgram, random_program
from parcast.testing.queries import STANDARD_PHASES, UNIT_MACHINE, standard_queries
from parcast.testing.seeding import cases, first_seed, seeds, turn
from parcast.testing.shipped import check_dataset, check_machine, check_workload
from parcast.testing.solver import check_family, check_solver
from parcast.testing.threads import check_threads

__all__ = [
    "FEATURES",
    "HEAVY",
    "STANDARD_PHASES",
    "UNIT_MACHINE",
    "RandomProgram",
    "Reference",
    "by_events",
    "by_sweep",
    "cases",
    "check_dataset",
    "check_family",
    "check_machine",
    "check_plugin",
    "check_solver",
    "check_threads",
    "check_workload",
    "deep_imports",
    "first_seed",
    "random_program",
    "seeds",
    "standard_queries",
    "turn",
]
