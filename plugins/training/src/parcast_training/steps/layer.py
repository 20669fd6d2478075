"""What a layer is in forward and backward passes on one rank, as kernels' seconds and exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from parcast_training.steps.decoder import BYTES
from parcast_training.steps.exchanges import (
    Members,
    dealt,
    followed,
    for_parameters,
    scattered,
    summed,
)
from parcast_training.steps.job import Job
from parcast_training.steps.kernels import LayerKernels, Rates, layer_kernels, seconds
from parcast_training.steps.layering import Layers
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import (
    gradient_bytes,
    layer_weights,
    trained_weights,
    weight_bytes,
)
from parcast_training.steps.segments import Messages, Repeat, Ring, Segment, beside


@dataclass(frozen=True)
class Layer:
    """A layer of one sort on a rank, for a microbatch."""

    job: Job  #: whose layers are all of this sort
    layout: Layout
    rates: Rates
    members: Mapping[str, Members]
    messages: Messages

    @cached_property
    def kernels(self) -> LayerKernels:
        """Its kernels."""
        return layer_kernels(self.job, self.layout)

    @cached_property
    def forward_work(self) -> float:
        """Seconds of its kernels in a forward pass."""
        return seconds(self.kernels.forward, self.rates, self.job.precision)

    @cached_property
    def weights_work(self) -> float:
        """Seconds of the products for gradients of its weights."""
        return seconds(self.kernels.weights, self.rates, self.job.precision)

    @cached_property
    def forward_body(self) -> tuple[Segment, ...]:
        """Its exchanges in a forward pass, but for those of experts."""
        return (*self._context(), *self._tensor_forward())

    def forward(self, count: int, *, gathers: bool) -> Layers:
        """Return so many of them in a forward pass, with weights gathered or not."""
        gather = self.gathering() if gathers else ()
        return Layers(count, self.forward_work, self.forward_body, self.deal, gather=gather)

    def backward(self, count: int, *, weights: bool, parts: int) -> Layers:
        """Return so many of them in a backward pass.

        Parameters
        ----------
        count
            How many.
        weights
            Whether gradients of weights are computed as well, not only those of inputs.
        parts
            In how many parts gradients are reduced, one of them in this pass; 0: none.
        """
        body, deals = self._context(2), 2
        if self.job.recompute == "full":
            body, deals = (*body, *self.forward_body), 4
        tensor, hidden = self._tensor_backward(weights=weights)
        return Layers(
            count,
            self.backward_work(weights=weights) - hidden,
            (*tensor, *body),
            self.deal,
            deals,
            gather=self.gathering() if self.job.zero == 3 else (),
            reduce=self.reducing(parts) if parts else (),
        )

    def backward_work(self, *, weights: bool) -> float:
        """Return the seconds of its kernels in a backward pass."""
        job, precision = self.job, self.job.precision
        work = seconds(self.kernels.inputs, self.rates, precision)
        work += self.weights_work if weights else 0.0
        if job.recompute == "full":
            work += self.forward_work
        elif job.recompute == "selective" and job.attention == "unfused":
            work += seconds(self.kernels.scores, self.rates, precision)
        return work

    def reducing(self, parts: int = 1, mirror: Members | None = None) -> tuple[Ring, ...]:
        """Return the reduction of a part of its gradients, last of all with a ``mirror``."""
        job = self.job
        dense, expert = trained_weights(job, self.layout)
        reduce = scattered if job.zero else summed
        width = gradient_bytes(job) / parts
        rings = reduce(followed(self.members["data"], mirror), dense * width, self.messages)
        if expert:
            replicas = followed(self.members["replicas"], mirror)
            rings += reduce(replicas, expert * width, self.messages)
        return rings

    def gathering(self, mirror: Members | None = None) -> tuple[Ring, ...]:
        """Return the gathering of its weights, or of those that were updated."""
        weights_of = layer_weights if self.job.zero == 3 else trained_weights
        dense, expert = weights_of(self.job, self.layout)
        width = weight_bytes(self.job)
        data = for_parameters(followed(self.members["data"], mirror))
        rings = scattered(data, dense * width, self.messages)
        if expert:
            replicas = for_parameters(followed(self.members["replicas"], mirror))
            rings += scattered(replicas, expert * width, self.messages)
        return rings

    @property
    def _row(self) -> float:
        """Bytes of a number of each token."""
        return 2 * self.job.micro_batch * self.job.sequence / self.layout.cp

    @property
    def _into(self) -> tuple[int, int]:
        """Widths of what products see that are split: those of attention, and of the other part.

        Latent attention compresses before its products are split, and with ``sp`` before tokens
        are gathered.
        """
        job = self.job
        if not job.kv_rank:
            return job.hidden, job.hidden
        return (job.q_rank or job.hidden) + job.kv_rank + job.rope_dim, job.hidden

    def _tensor_forward(self) -> tuple[Segment, ...]:
        """Return an all-reduce after attention and one after the feed-forward part.

        With ``sp`` an all-gather before and a reduce-scatter after each.
        """
        if self.layout.tp == 1:
            return ()
        group, size = self.members["tensor"], self._row * self.job.hidden
        whole = summed(group, size, self.messages)
        if not self.job.sp:
            return (Repeat(2, whole),)
        half = scattered(group, size, self.messages)
        rings = [(*self._gathered(width), *reversed(half)) for width in self._into]
        return _both(rings)

    def _gathered(self, width: int) -> tuple[Ring, ...]:
        """Return the gathering of so wide a token."""
        return scattered(self.members["tensor"], self._row * width, self.messages)

    def _tensor_backward(self, *, weights: bool) -> tuple[tuple[Segment, ...], float]:
        """Return the backward pass's, and the work that is beside them.

        Those of gradients of inputs are beside the products for those of weights; with ``sp``
        inputs are gathered again, beside products for gradients of inputs (arXiv 2205.05198,
        section 4.2.2).
        """
        if self.layout.tp == 1:
            return (), 0.0
        job = self.job
        half = self.weights_work / 2
        overlap = job.overlap_tensor and weights
        parts = [self._part_backward(width, half, overlap=overlap) for width in self._into]
        return _both(parts), 2 * half if overlap else 0.0

    def _part_backward(self, width: int, work: float, *, overlap: bool) -> tuple[Segment, ...]:
        """Return what the backward pass of a part exchanges that sees so wide a token."""
        job = self.job
        if not job.sp:
            sums = summed(self.members["tensor"], self._row * width, self.messages)
            return beside("tensor parallel", work, sums, overlap=True) if overlap else sums
        gathered, again = self._gathered(job.hidden), self._gathered(width)
        scatters = tuple(reversed(again))  # gradients of what went in
        if not overlap:
            return (*gathered, *scatters, *again)
        hidden = beside("tensor parallel", work, (*gathered, *again), overlap=True)
        return (*scatters, *hidden)

    def _context(self, times: int = 1) -> tuple[Segment, ...]:
        """Return the gathering of keys and values."""
        if self.layout.cp == 1:
            return ()
        job = self.job
        widths = (job.key_width + job.value_width) / self.layout.tp
        size = times * 2 * job.micro_batch * job.sequence * widths
        return scattered(self.members["context"], size, self.messages)

    @cached_property
    def deal(self) -> tuple[Ring, ...]:
        """The dealing of tokens to experts, or back."""
        if self.job.ep == 1:
            return ()
        job = self.job
        tokens = job.micro_batch * job.sequence / self.layout.cp * job.active
        size = BYTES[job.precision] * tokens * job.hidden
        size /= self.layout.tp if job.sp else 1
        return dealt(self.members["expert"], size, self.messages)


def _both(parts: Sequence[tuple[Segment, ...]]) -> tuple[Segment, ...]:
    """Return what attention and the feed-forward part exchange."""
    attention, other = parts
    return (Repeat(2, attention),) if attention == other else (*attention, *other)
