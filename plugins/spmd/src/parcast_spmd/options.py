"""What users may set: options of the family's solvers."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from parcast import Unit, Whole
from parcast.quantities import Distribution

SioMethod = Literal["auto", "eq16", "ctmc", "fixed-cycles"]
AioMethod = Literal["exact", "bard-schweitzer", "aql", "linearizer"]


@attrs.frozen(kw_only=True)
class Options:
    """Options of every spmd solver."""

    #: Passages of the network for a synchronized group and burst: one, as the paper's figure 6
    #: draws it, or one for each process of the group, as its messages are.
    passages: Literal["one", "each"] = "one"


@attrs.frozen(kw_only=True)
class SampledOptions(Options):
    """How random runs are sampled."""

    #: Half width of the 95 % interval over the mean
    tolerance: Annotated[float, Unit("1", positive=True)] = 0.01
    #: Bursts simulated at the most, of all processes and runs together
    most: Annotated[int, Whole(1)] = 20_000_000
    #: Law of one passage of the network, and of one access to a disk that is queued for, of
    #: which only the shape counts; where not given exponential, and constant where bursts are
    service: Annotated[Distribution, Unit("1", positive=True)] | None = None


@attrs.frozen(kw_only=True)
class SioOptions(SampledOptions):
    """Options of ``spmd.sio``."""

    #: ``eq16`` (the paper), ``ctmc`` (exact for the paper's model) or ``fixed-cycles`` (exactly
    #: n_io bursts of the workload's law); ``auto`` is eq. 16 for equal processes with
    #: exponential bursts, and else ``fixed-cycles``.
    method: SioMethod = "auto"


@attrs.frozen(kw_only=True)
class AioOptions(Options):
    """Options of ``spmd.bus`` and ``spmd.clu``."""

    #: Exact, or an approximation by its name
    method: AioMethod = "exact"


@attrs.frozen(kw_only=True)
class MixedOptions(SampledOptions):
    """Options of ``spmd.mixed``: the methods of its two kinds of phases."""

    sio: SioMethod = "auto"
    aio: AioMethod = "exact"

    def of_model(self, model: Literal["sio", "bus", "clu"]) -> SioOptions | AioOptions:
        """Return the options of the solver that has phases of this model alone."""
        if model != "sio":
            return AioOptions(passages=self.passages, method=self.aio)
        return SioOptions(
            passages=self.passages,
            tolerance=self.tolerance,
            most=self.most,
            service=self.service,
            method=self.sio,
        )


@attrs.frozen(kw_only=True)
class SimOptions(SampledOptions):
    """Options of ``spmd.sim``."""

    #: ``geometric``: as the paper's models have it, a random number of bursts before each I/O,
    #: the delay drawn as a whole. ``fixed``: exactly n_io bursts, each process's computation
    #: drawn by itself, startup and transfer constant. ``auto`` is geometric where the
    #: workload's bursts are exponential and its processes equal.
    bursts: Literal["auto", "geometric", "fixed"] = "auto"
    #: Asynchronous phases in steady state, as the paper has them, or simulated as a whole with the
    #: wait for the last process; ``auto`` is steady where processes are equal.
    span: Literal["auto", "steady", "whole"] = "auto"


@attrs.frozen(kw_only=True)
class BoundsOptions(Options):
    """Options of ``spmd.bounds``."""

    kind: Literal["asymptotic", "balanced-job"] = "asymptotic"
