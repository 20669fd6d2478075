"""Small questions that compile the kernels, which ``parcast warm`` asks."""

from __future__ import annotations

import numpy as np

from parcast import Registry
from parcast_spmd.models.ctmc import absorption
from parcast_spmd.models.fork_join import fork_join_sums
from parcast_spmd.mva.exact_lattice import solve_lattice
from parcast_spmd.mva.mva_kernels import closed_mva, delay_two_queues, node_sweep
from parcast_spmd.mva.structure import Component, Group


def queues() -> None:
    """Ask each kernel of mean values, and simulate a cycle."""
    fork_join_sums([(2, 1.0, 1.0)])
    delay_two_queues(2, 1.0, 1.0, 1.0)
    closed_mva(2, 1.0, [1.0, 2.0])
    node_sweep(2, np.ones(2), np.ones(1))
    absorption(2, 1.0, 1.0, 2.0)
    alike = Group(members=(0,), population=2, delay=1.0, shared=(1.0,), private=(), stations=((),))
    solve_lattice(Component(groups=(alike,), shared=(0,)))
    Registry().predict("btio-paper", "ibm-sp2-paper", "spmd.sim", p=4)
