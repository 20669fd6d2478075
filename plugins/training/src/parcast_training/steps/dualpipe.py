"""The order of passes of a bidirectional pipeline: DualPipe.

Microbatches enter at both ends, half of them at each, so that a stage has two pieces of the model.
Once it is full, each forward pass is beside a backward pass of a microbatch that goes the other way
(DeepSeek-V3, arXiv 2412.19437, section 3.2.1 and figure 5; github.com/deepseek-ai/DualPipe states
how it begins and ends). Piece 0 of a stage is that of the microbatches from the nearer end.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from parcast_training.steps.pipeline import Pass


class _Microbatches:
    """The next microbatch of each sort of pass."""

    def __init__(self) -> None:
        self._next: Counter[tuple[str, int]] = Counter()
        self._put_off: deque[tuple[int, int]] = deque()

    def _following(self, way: str, chunk: int) -> int:
        self._next[way, chunk] += 1
        return self._next[way, chunk] - 1

    def forward(self, chunk: int) -> Pass:
        return Pass("F", chunk, self._following("forward", chunk))

    def backward(self, chunk: int) -> Pass:
        return Pass("B", chunk, self._following("backward", chunk))

    def pair(self, forward: int, backward: int) -> Pass:
        there, back = self.forward(forward), self.backward(backward)
        return Pass(there.kind, there.chunk, there.microbatch, beside=back)

    def inputs(self, chunk: int) -> Pass:
        """Gradients of inputs alone; those of weights are put off."""
        microbatch = self._following("backward", chunk)
        self._put_off.append((chunk, microbatch))
        return Pass("I", chunk, microbatch)

    def weights(self) -> Pass:
        return Pass("W", *self._put_off.popleft())


def dualpipe(pp: int, near: int, microbatches: int) -> Iterator[Pass]:
    """Yield the passes of a stage.

    Parameters
    ----------
    pp
        Stages.
    near
        Of these, how many are between the stage and the nearer end.
    microbatches
        Of each way, ``pp`` or more.
    """
    of, inner = _Microbatches(), pp // 2 - near - 1
    for _ in range(2 * inner):
        yield of.forward(0)
    for _ in range(near + 1):
        yield of.forward(0)
        yield of.forward(1)
    for _ in range(inner):
        yield of.inputs(1)
        yield of.weights()
        yield of.forward(1)
    for k in range(microbatches - pp + near + 1):
        if k == 0 and inner == 0:  # in the middle one after the other: the next stage waits less
            yield of.forward(0)
            yield of.backward(1)
        else:
            yield of.pair(0, 1)
        yield of.pair(1, 0)
    for _ in range(inner):
        yield of.backward(1)
        yield of.pair(1, 0)
    for k in range(2 * (near + 1)):
        yield of.backward(1 - k % 2) if k <= near else of.inputs(1 - k % 2)
    for _ in range(inner):
        yield of.weights()
        yield of.inputs(0)
    for _ in range(near + 1):
        yield of.weights()


@lru_cache(4096)
def fewest_passes(pp: int, near: int) -> tuple[Pass, ...]:
    """Return the passes of a stage of as few microbatches of each way as there are stages."""
    return tuple(dualpipe(pp, near, pp))


@lru_cache(4096)
def pass_counts(pp: int, near: int, microbatches: int) -> tuple[tuple[Pass, int], ...]:
    """Return the passes of a stage that differ, each of microbatch 0, and how often it does each.

    More microbatches are more pairs.
    """
    counts = Counter(_of_first(run) for run in fewest_passes(pp, near))
    for forward in (0, 1):
        pair = Pass("F", forward, 0, beside=Pass("B", 1 - forward, 0))
        counts[pair] += microbatches - pp
    return tuple((run, times) for run, times in counts.items() if times)


def _of_first(run: Pass) -> Pass:
    beside = None if run.beside is None else _of_first(run.beside)
    return replace(run, microbatch=0, beside=beside)
