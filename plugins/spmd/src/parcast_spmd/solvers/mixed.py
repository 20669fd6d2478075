"""``spmd.mixed``: each phase by the model that its I/O asks for."""

from __future__ import annotations

from parcast_spmd.models.demands import Model
from parcast_spmd.options import MixedOptions
from parcast_spmd.solvers import aio, sio
from parcast_spmd.solvers.phases import PhaseModel, PhaseSolver


def mixed() -> PhaseSolver:
    """Return the solver of phases of any kind: it assumes and costs what their solvers do."""
    models: dict[Model, PhaseModel] = {"sio": sio.MODEL, "bus": aio.BUS, "clu": aio.CLU}
    return PhaseSolver(
        models, MixedOptions, range_of=sio.range_of, options_of=MixedOptions.of_model
    )
