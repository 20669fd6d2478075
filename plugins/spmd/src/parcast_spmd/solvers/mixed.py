"""``spmd.mixed``: each phase by the model that its I/O asks for."""

from __future__ import annotations

from parcast_spmd.models.demands import Model
from parcast_spmd.options import MixedOptions
from parcast_spmd.solvers import aio, sio
from parcast_spmd.solvers.phases import Method, PhaseSolver


def mixed() -> PhaseSolver:
    """Return the solver of phases of any kind: it assumes and costs what their solvers do."""
    methods: dict[Model, Method] = {"sio": sio.METHOD, "bus": aio.BUS, "clu": aio.CLU}
    return PhaseSolver(methods, MixedOptions, remark=sio.pessimism)
