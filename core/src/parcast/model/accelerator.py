"""Accelerators of a node: how fast one computes in a precision, and what work reaches of that."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

import attrs

from parcast.errors import FileError, UnsupportedError
from parcast.quantities.formulas import Unit, Whole

Rate = Annotated[float, Unit("FLOP/s", positive=True)]

#: The work of a kernel, for how much of the peak it reaches.
Work = Literal["gemm", "attention", "pointwise"]

#: What an efficiency is of: the rate of some work, or the memory's bandwidth, which kernels that
#: compute each number by itself (activations, dropout, norms) reach less of.
Kind = Literal["gemm", "attention", "memory", "pointwise"]

#: What counts where a machine does not state a kind.
_INSTEAD = {"attention": "gemm", "pointwise": "memory"}

Precision = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8"]

PRECISIONS: tuple[str, ...] = get_args(Precision)
WORKS: tuple[str, ...] = get_args(Work)


@attrs.frozen(kw_only=True)
class Rates(Mapping[str, float]):
    """The peaks of one accelerator by precision; a mapping of those that it has."""

    fp64: Rate | None = None  #: of 64-bit floats
    fp32: Rate | None = None  #: of 32-bit floats
    tf32: Rate | None = None  #: of 32-bit floats, multiplied with 10 bits of fraction
    bf16: Rate | None = None  #: of 16-bit floats with 8 bits of exponent
    fp16: Rate | None = None  #: of 16-bit floats with 5 bits of exponent
    fp8: Rate | None = None  #: of 8-bit floats
    fp4: Rate | None = None  #: of 4-bit floats
    int8: Rate | None = None  #: of 8-bit integers

    def __getitem__(self, precision: str) -> float:
        rate: float | None = getattr(self, precision) if precision in PRECISIONS else None
        if rate is None:
            raise KeyError(precision)
        return rate

    def __iter__(self) -> Iterator[str]:
        return (name for name in PRECISIONS if getattr(self, name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@attrs.frozen(kw_only=True)
class Efficiency:
    """The share of a peak that work reaches from a size on."""

    #: flops of a kernel; bytes where kind is memory or pointwise
    least: Annotated[float, Unit("1")] = 0.0
    kind: Kind = "gemm"  #: of memory and pointwise: the share of the bandwidth
    precision: Precision | None = None  #: that it holds for; every one without its own
    share: Annotated[float, Unit("1", positive=True, most=1.0)]  #: of the peak


@attrs.frozen(kw_only=True)
class AcceleratorLinks:
    """The links between the accelerators of a node, or of a rack where they reach further."""

    bandwidth: Annotated[float, Unit("B/s", positive=True)]  #: of one accelerator, each direction
    startup: Annotated[float, Unit("s")] = 0.0  #: latency of a message
    #: accelerators that reach each other so; those of a node where not stated
    domain: Annotated[int, Whole(1)] | None = None


@attrs.frozen(kw_only=True)
class Accelerator:
    """The accelerators of a node, all alike; the numbers are of one.

    Where a node has more processes than accelerators, the i-th of them uses accelerator
    i mod ``per_node``, and those of one accelerator share its rate and its memory equally.
    """

    name: str = ""  #: as its vendor calls it
    per_node: Annotated[int, Whole(1)] = 1  #: accelerators of a node
    memory: Annotated[float, Unit("B", positive=True)]  #: of one
    memory_bandwidth: Annotated[float, Unit("B/s", positive=True)]  #: of one: a peak
    rates: Rates  #: peaks, by precision
    #: multiprocessors: each does whole tiles of a matrix product; not counted where not stated
    units: Annotated[int, Whole(1)] | None = None
    efficiency: tuple[Efficiency, ...] = ()  #: of a kind and precision from 0 on, ascending
    links: AcceleratorLinks | None = None  #: between accelerators
    #: between one and the memory of its node, each direction
    host_bandwidth: Annotated[float, Unit("B/s", positive=True)] | None = None

    def __attrs_post_init__(self) -> None:
        if not self.rates:
            raise FileError(
                f"accelerator.rates: states no rate; give those it has, of {', '.join(PRECISIONS)}"
            )
        for step in self.efficiency:
            if step.precision not in {None, *self.rates}:
                raise FileError(f"efficiency: {self._lacks(str(step.precision))}")
            _check_steps(self._steps(step.kind, step.precision), step.kind)

    def seconds(
        self,
        flops: Any,
        bytes: Any,  # noqa: A002  (as programs say it)
        *,
        precision: str = "fp64",
        kind: str = "gemm",
    ) -> Any:
        """Return how long one accelerator takes for ``flops`` that move ``bytes``.

        The slower one counts: the operations at the share of the peak that such work reaches,
        or its memory traffic at the share of the bandwidth.

        Parameters
        ----------
        flops, bytes
            Of one kernel; numbers or arrays.
        precision
            One of `rates`.
        kind
            ``gemm``; ``attention``, which counts as ``gemm`` where the file has no share of it; or
            ``pointwise``, whose bytes count as others do where the file has no share of it.

        Returns
        -------
        seconds
            As numbers or arrays.

        Raises
        ------
        UnsupportedError
            If there are operations in a precision that it does not have.
        """
        computing, traffic = shares_of(kind)
        moving = bytes / (self.memory_bandwidth * self._share(traffic, None, bytes))
        if not (flops if isinstance(flops, int | float) else flops.any()):
            return moving
        reached = self.rate(precision) * self._share(computing, precision, flops)
        return _larger(flops / reached, moving)

    def rate(self, precision: str) -> float:
        """Return the peak in a precision, in operations per second.

        Raises
        ------
        UnsupportedError
            If it has none, naming those that it has.
        """
        if precision not in self.rates:
            raise UnsupportedError(self._lacks(precision))
        return self.rates[precision]

    def steps(self, kind: str, precision: str | None = None) -> tuple[Efficiency, ...]:
        """Return the shares of work that count for a kind and a precision, ascending."""
        return (
            self._steps(kind, precision)
            or self._steps(kind, None)
            or (self.steps(_INSTEAD[kind], precision) if kind in _INSTEAD else ())
        )

    def _steps(self, kind: str, precision: str | None) -> tuple[Efficiency, ...]:
        return tuple(s for s in self.efficiency if (s.kind, s.precision) == (kind, precision))

    def _share(self, kind: str, precision: str | None, size: Any) -> Any:
        steps = self.steps(kind, precision)
        if not steps:
            return 1.0
        if isinstance(size, int | float):
            return steps[bisect_right(steps, size, key=_least) - 1].share
        import numpy as np

        at = np.searchsorted([step.least for step in steps], size, side="right") - 1
        return np.array([step.share for step in steps])[at]

    def _lacks(self, precision: str) -> str:
        name = f"accelerator {self.name}" if self.name else "the accelerator"
        return f"{name} states no rate in {precision}; it has {', '.join(self.rates)}"


def _larger(first: Any, second: Any) -> Any:
    if isinstance(first, int | float) and isinstance(second, int | float):
        return max(first, second)  # many times as fast as that of arrays
    import numpy as np

    return np.maximum(first, second)


def _least(step: Efficiency) -> float:
    return step.least


def shares_of(kind: str) -> tuple[str, str]:
    """Return the kinds of efficiency that some work's operations and its bytes have."""
    return ("gemm", "pointwise") if kind == "pointwise" else (kind, "memory")


def _check_steps(steps: tuple[Efficiency, ...], kind: str) -> None:
    leasts = [step.least for step in steps]
    if leasts and leasts[0] != 0:
        raise FileError(
            f"efficiency: the first share of kind {kind!r} holds from least = {leasts[0]:g}; "
            "say what holds from least = 0"
        )
    for before, after in pairwise(leasts):
        if after <= before:
            raise FileError(
                f"efficiency: least = {after:g} of kind {kind!r} follows {before:g}; write them "
                "in ascending order, each once"
            )
