"""Which form of the kernels runs: plain Python for small questions, or compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parcast.plugins import Kernel, is_cached
from parcast_perturb.playing import flows, heap, layout, queues, ranks
from parcast_perturb.propagation import drawing, sampling, state
from parcast_perturb.propagation.forms import as_views
from parcast_traces.compilation import compiled, files_of

_DRAWING = (sampling, drawing)
_QUEUES = (heap, ranks, queues)
_FLOWS = (heap, ranks, flows)

#: Calls that plain Python plays as soon as a compiled kernel is loaded, and as one is compiled.
_CALLS = {"plain_steps": 50_000, "uncached_steps": 1_000_000}


def _plain_draw(*tables: Any) -> None:
    drawing.draw(*map(as_views, tables))


def _plain_queues(network: int, *tables: Any) -> None:
    queues.play(network, *map(as_views, tables))


def _plain_flows(calls: Any, messages: Any, *tables: Any) -> bool:
    rows = as_views(messages)._replace(routes=messages.routes.tolist())
    return bool(flows.play(as_views(calls), rows, *map(as_views, tables)))


def _compiled_draw() -> Callable[..., Any]:
    return compiled(_DRAWING, "draw", "parcast-perturb", (state,))  # type: ignore[no-any-return]


def _compiled_queues() -> Callable[..., Any]:
    return compiled(_QUEUES, "play", "parcast-perturb", (layout,))  # type: ignore[no-any-return]


def _compiled_flows() -> Callable[..., Any]:
    from parcast_network.sharing.compiled import register

    register()
    return compiled(_FLOWS, "play", "parcast-perturb", _of_flows())  # type: ignore[no-any-return]


def _of_flows() -> tuple[Any, ...]:
    from parcast_network.sharing import steps
    from parcast_network.sharing.steps import ends, filling, settling
    from parcast_network.sharing.steps import layout as of_network

    return layout, steps, ends, filling, settling, of_network


DRAW = Kernel(
    _plain_draw, _compiled_draw, **_CALLS,
    is_cached=lambda: is_cached("drawing.draw", "parcast-perturb", files_of(_DRAWING, (state,))),
)  # fmt: skip

QUEUES = Kernel(
    _plain_queues, _compiled_queues, **_CALLS,
    is_cached=lambda: is_cached("queues.play", "parcast-perturb", files_of(_QUEUES, (layout,))),
)  # fmt: skip

FLOWS = Kernel(
    _plain_flows, _compiled_flows, **_CALLS,
    is_cached=lambda: is_cached("flows.play", "parcast-perturb", files_of(_FLOWS, _of_flows())),
)  # fmt: skip
