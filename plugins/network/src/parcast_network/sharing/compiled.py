"""Fair shares in floats, compiled: only flows whose rate may change are looked at."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import UnsupportedError
from parcast.plugins import Kernel, cached_kernels, call_once, compile_kernel
from parcast.program.reference import SAME_INSTANT
from parcast_network.sharing.steps import ends, filling, running, settling
from parcast_network.sharing.steps.layout import NONE, SHIFT, Flows, Links, State

#: The files that `end`, `settle`, `start` and the others are made of: a kernel that calls them
#: names these as its sources (`parcast.plugins.cached_kernels`).
SOURCES = (Path(__file__), *sorted((Path(__file__).parent / "steps").glob("*.py")))


#: Steps make no arrays, so that nothing counts references; and a call would copy all arrays.
_STEP = {"nogil": True, "_nrt": False, "forceinline": True}

#: What several kernels call, of which each would take seconds to compile: kept between runs.
_KEPT = (settling.settle, settling.start, settling.end)


@call_once
def register() -> None:
    """Let kernels of numba call `start`, `end`, `settle`, `next_end` and `ended` as they are."""
    from numba.extending import register_jitable

    for module in (ends, filling, settling):
        for step in vars(module).values():
            if isinstance(step, FunctionType) and step.__module__ == module.__name__:
                _keep(step) if step in _KEPT else register_jitable(**_STEP)(step)


def _keep(step: FunctionType) -> None:
    """Let kernels call a step that is compiled once, whichever of them is the first."""
    from numba.extending import overload

    how = sorted(_STEP.items())
    with cached_kernels(step, "parcast-network", SOURCES, how) as (placed, cached):
        options: Any = {**_STEP, "cache": cached}
    overload(step, jit_options=options, strict=False)(lambda *_: placed)


def new_state(
    capacity: ArrayLike, shared: ArrayLike | None = None, *, flows: int, hops: int
) -> State:
    """Return the state of an allocation in which no flow runs.

    Parameters
    ----------
    capacity
        Of each link, bytes a second.
    shared
        Of each link, whether its flows share the capacity; otherwise each may have all of it.
    flows
        How many run at one time at most; their numbers are below that.
    hops
        Links of the longest route.
    """
    bytes_a_second = np.array(capacity, float)
    links, shift = len(bytes_a_second), max(hops - 1, 0).bit_length()
    limits = np.isfinite(bytes_a_second)
    if shared is not None:
        limits &= np.asarray(shared, np.bool_)

    def real(count: int) -> NDArray[np.float64]:
        return np.zeros(count)

    def whole(count: int, value: int = 0) -> NDArray[np.int64]:
        return np.full(count, value, np.int64)

    def number(count: int) -> NDArray[np.int32]:
        return np.full(count, NONE, np.int32)

    def flag(count: int) -> NDArray[np.bool_]:
        return np.zeros(count, np.bool_)

    places, counters = flows << shift, whole(7)
    counters[SHIFT] = shift
    if places >= 2**31:
        raise UnsupportedError(f"{flows:,} flows at one time over {hops} links are too many")
    return State(
        link=Links(
            capacity=bytes_a_second, limits=limits, caps=real(links), count=whole(links),
            first=number(links), tight=flag(links), touched=flag(links), left=real(links),
            growing=whole(links), weight=real(links), fixed=whole(links), least=real(links),
            fastest=real(links), level=real(links), mark=whole(links),
        ),
        flow=Flows(
            hops=whole(flows), cap=real(flows), remaining=real(flows), since=real(flows),
            rate=real(flows), end=real(flows), bound=whole(flows), place=whole(flows, NONE),
            fair=real(flows), mark=whole(flows), fresh=whole(flows),
        ),
        route=number(places), weight=real(places), after=number(places), before=number(places),
        ends=whole(flows), touched=whole(links), started=whole(flows), region=whole(flows),
        frontier=whole(links), keys=real(links), heap=whole(links), counters=counters,
    )  # fmt: skip


def _compiled() -> Any:
    register()
    return compile_kernel(running.run, "parcast-network", SOURCES, nogil=True, error_model="numpy")


#: A step of the plain form takes some 20 us: one flow on one link that starts or ends.
_RUN = Kernel(running.run, _compiled, plain_steps=20_000, loaded_steps=50)


def finish_times(
    capacity: ArrayLike,
    routes: ArrayLike,
    caps: ArrayLike,
    sizes: ArrayLike,
    starts: ArrayLike,
    *,
    weights: ArrayLike = 1.0,
    shares: ArrayLike = 1.0,
    shared: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Return when each flow ends.

    Parameters
    ----------
    capacity
        Of each link, bytes a second.
    routes : (n, hops)
        The links of each flow, filled up with -1.
    caps, sizes, starts : (n,)
        What each flow takes at most in bytes a second, its bytes, and when it starts in seconds.
    weights : (hops,)
        The bytes on the first, second, ... link of a route for each byte of a flow.
    shares : (n,)
        What each flow has of a full link, relative to others.
    shared
        Of each link, whether its flows share the capacity; otherwise each may have all of it.
    """
    # copies, since the kernel is compiled anew for what is read only
    links, size, since = np.array(routes, np.int64), np.array(sizes, float), np.array(starts, float)
    cap = np.broadcast_to(np.asarray(caps, float), size.shape).copy()
    state = new_state(capacity, shared, flows=len(size), hops=max(links.shape[1], 1))
    times = np.empty(len(size))
    order = np.argsort(since, kind="stable")
    run = _RUN.form(links.size)
    taken = np.broadcast_to(np.asarray(weights, float), links.shape[1:]).copy()
    has = np.broadcast_to(np.asarray(shares, float), size.shape).copy()
    run(state, SAME_INSTANT, order, links, taken, has, cap, size, since, times)
    return times
