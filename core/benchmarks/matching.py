"""Times and peak memory of the check for matching and deadlock, each program in its process.

Run it with ``python core/benchmarks/matching.py``.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time

import numpy as np

from parcast.program import Block, Request, Site, Unrolled
from parcast.program.matching.collectives import algorithms
from parcast.program.matching.columns import operation_columns
from parcast.program.matching.prepare import match_unrolled

SITES = tuple(Site("benchmark", line) for line in range(20))


def stencil(side: int = 100, steps: int = 100) -> Unrolled:
    """Return a 2-D stencil with an allreduce in each step; steps share blocks."""
    ranks = np.arange(side * side)
    row, col = np.divmod(ranks, side)
    inner = [col > 0, col < side - 1, row > 0, row < side - 1]
    lanes = [ranks[mask] for mask in inner]
    peers = [lane + shift for lane, shift in zip(lanes, (-1, 1, -side, side), strict=True)]
    sides = list(enumerate(zip(lanes, peers, strict=True)))
    step = [Block(k, "isend", r, {"dst": d, "bytes": 8192, "tag": 0}) for k, (r, d) in sides]
    step += [Block(4 + k, "irecv", r, {"src": s, "tag": 0}) for k, (r, s) in sides]
    requests = tuple(Request(8 - k, lanes[k % 4]) for k in range(8))
    step.append(Block(8, "waitall", None, {}, requests))
    step.append(Block(9, "compute", None, {"flops": 1e6, "bytes": 0}))
    step.append(Block(10, "allreduce", None, {"bytes": 8, "color": None}))
    return Unrolled(side * side, step * steps, SITES, "stencil.py")


def pipeline(size: int = 10_000, items: int = 100) -> Unrolled:
    """Return a pipeline: receive from the left, compute, send to the right."""
    ranks = np.arange(size)
    step = [
        Block(0, "recv", ranks[1:], {"src": ranks[:-1], "tag": 0}),
        Block(1, "compute", None, {"flops": 1e6, "bytes": 0}),
        Block(2, "send", ranks[:-1], {"dst": ranks[1:], "bytes": 8192, "tag": 0}),
    ]
    return Unrolled(size, step * items, SITES, "pipeline.py")


def master_worker(size: int = 10_000) -> Unrolled:
    """Return a master that deals a task to each worker and takes the results in order."""
    workers, zero = np.arange(1, size), np.array([0])
    deal = [Block(0, "send", zero, {"dst": w, "bytes": 64, "tag": 0}) for w in range(1, size)]
    take = [Block(1, "recv", zero, {"src": w, "tag": 1}) for w in range(1, size)]
    work = [
        Block(2, "recv", workers, {"src": 0, "tag": 0}),
        Block(3, "compute", workers, {"flops": 1e6, "bytes": 0}),
        Block(4, "send", workers, {"dst": 0, "bytes": 64, "tag": 1}),
    ]
    return Unrolled(size, [*deal, *take, *work], SITES, "master_worker.py")


def ping_pong(rounds: int = 200_000) -> Unrolled:
    """Return two processes that send a message to and fro, written as two loops of a rank each."""
    zero, one = np.array([0]), np.array([1])
    first = [
        Block(0, "send", zero, {"dst": 1, "bytes": 8, "tag": 0}),
        Block(1, "recv", zero, {"src": 1, "tag": 0}),
    ]
    second = [
        Block(2, "recv", one, {"src": 0, "tag": 0}),
        Block(3, "send", one, {"dst": 0, "bytes": 8, "tag": 0}),
    ]
    return Unrolled(2, first * rounds + second * rounds, SITES, "ping_pong.py")


def expanded_stencil() -> Unrolled:
    """Return a smaller stencil whose collectives are expanded: 4 million operations."""
    return match_unrolled(stencil(side=50), algorithms(), math.inf).unrolled


PROGRAMS = {f.__name__: f for f in (stencil, pipeline, master_worker, ping_pong, expanded_stencil)}


def run(name: str) -> None:
    """Print the figures of one program."""
    unrolled = PROGRAMS[name]()
    seconds = [_seconds(operation_columns, unrolled)]
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds += [_seconds(match_unrolled, unrolled, algorithms(), limit) for limit in (math.inf, 0)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:17} {unrolled.count():>10,} operations: columns {seconds[0]:5.2f} s "
        f"({mebibytes:,.0f} MiB), check {seconds[1]:5.2f} s, rendezvous {seconds[2]:5.2f} s "
        f"({peak:,.0f} MiB)"
    )


def _seconds(function, *arguments) -> float:
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1])
    else:
        for program in PROGRAMS:
            subprocess.run([sys.executable, __file__, program], check=True)
