"""The conformance kit: what every plugin promises, checked in the plugin's own tests.

::

    def test_logp():
        registry = check_plugin(parcast_logp)
        check_solver(registry, "logp")

A broken promise raises `AssertionError` with one sentence: who broke it and what was expected.
"""

from __future__ import annotations

from parcast.testing.plugin import HEAVY, check_plugin
from parcast.testing.queries import STANDARD_PHASES, UNIT_MACHINE, standard_queries
from parcast.testing.shipped import check_machine, check_workload
from parcast.testing.solver import check_family, check_solver

__all__ = [
    "HEAVY",
    "STANDARD_PHASES",
    "UNIT_MACHINE",
    "check_family",
    "check_machine",
    "check_plugin",
    "check_solver",
    "check_workload",
    "standard_queries",
]
