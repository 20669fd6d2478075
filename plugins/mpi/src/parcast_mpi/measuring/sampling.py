"""What is sampled: sizes, times and counts."""

from __future__ import annotations

import attrs

#: Sizes of the ping-pong, of windows of messages, of the search for the eager limit, and of files;
#: bytes.
SIZES = (0, *(1 << k for k in range(3, 23)))
WINDOW_SIZES = tuple(1 << k for k in range(3, 21))
EAGER_SIZES = tuple(1 << k for k in range(8, 23))
FILE_SIZES = (4096, 65536, 1 << 20, 1 << 22, 1 << 24, 1 << 26)

#: Sizes of what is added up and copied in collectives; bytes.
HANDLED_SIZES = tuple(1 << k for k in range(13, 21))

#: Bytes that kernels of memory pass over on each core: beyond its part of caches.
MEMORY = 1 << 28

#: Messages that are on their way at once.
WINDOW = 64

#: Sizes of the benchmarks that check a file.
BENCHMARK_SIZES = tuple(8 << k for k in range(0, 18, 2))

#: Seconds by which a receiver is late, and of a quantum of noise.
LATE, QUANTUM = 5e-3, 1e-3


@attrs.frozen(kw_only=True)
class Effort:
    """How often to sample; a round goes over all stages, so that slow drifts touch all alike."""

    rounds: int = 7
    repeats: int = 3  #: of a stage, or of all of its sizes, in a round
    calls: int = 200  #: of one size in a repeat
    quanta: int = 600  #: in a round
    seconds: float = 0.05  #: of a computation
    passes_between: int = 10_000  #: of POLY1 between two accesses of a file
    memory: int = MEMORY  #: bytes that kernels of memory pass over on each core


@attrs.frozen(kw_only=True)
class BenchmarkEffort:
    """How often to run each benchmark."""

    rounds: int = 11
    seconds: float = 2e-3  #: of a benchmark and size in a round
    trials: int = 3  #: whose shortest tells how many repetitions take these seconds
    memory: int = MEMORY  #: bytes that the triad passes over on each core
    file: int = 1 << 26  #: bytes that each rank writes
