"""Forward and backward passes of a piece of the model on one rank, as segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from parcast.errors import UnsupportedError
from parcast_training.steps.exchanges import (
    Members,
    dealt,
    for_parameters,
    members_of,
    scattered,
    summed,
)
from parcast_training.steps.job import BYTES, Job
from parcast_training.steps.kernels import (
    Kernel,
    LayerKernels,
    Rates,
    embedding_kernels,
    head_kernels,
    layer_kernels,
    optimizer_kernel,
    seconds,
    updated_weights,
)
from parcast_training.steps.layering import is_hidden, layered, repeated
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import (
    gradient_bytes,
    layer_weights,
    state_bytes,
    trained_ends,
    trained_weights,
    weight_bytes,
)
from parcast_training.steps.segments import Hop, Hops, Repeat, Ring, Segment, Work, beside

#: Whose gradients are reduced beside a backward pass: of no piece, its own, or the one before it.
Reduces = Literal["", "own", "previous"]


@dataclass(frozen=True)
class Passes:
    """What a job's ranks do, by pass; equal arguments give equal segments."""

    job: Job
    layout: Layout
    rates: Rates
    hops: Hops
    per_node: int  #: ranks of a node

    def messages(self, stride: int, size: float) -> Hop:
        """Return what a message costs to a rank so far away."""
        return self.hops(0, stride, size)

    @cached_property
    def _members(self) -> Mapping[str, Members]:
        return members_of(self.job, self.layout, self.per_node)

    @property
    def tensor(self) -> Members:
        """The tensor-parallel group."""
        return self._members["tensor"]

    @property
    def context(self) -> Members:
        """The context-parallel group."""
        return self._members["context"]

    @property
    def expert(self) -> Members:
        """The expert-parallel group."""
        return self._members["expert"]

    @property
    def data(self) -> Members:
        """Ranks with the same weights: data and context parallel together."""
        return self._members["data"]

    @property
    def replicas(self) -> Members:
        """Ranks with the same experts."""
        return self._members["replicas"]

    @cached_property
    def kernels(self) -> LayerKernels:
        """The kernels of a layer."""
        return layer_kernels(self.job, self.layout)

    def time(self, kernels: tuple[Kernel, ...], precision: str = "") -> float:
        """Return how long kernels take."""
        return seconds(kernels, self.rates, precision or self.job.precision)

    def forward(self, *, first: bool, last: bool, gathers: bool) -> tuple[Segment, ...]:
        """Return a microbatch's forward pass through a piece.

        Parameters
        ----------
        first, last
            Whether the piece begins with the embedding, ends in the output layer.
        gathers
            Whether weights are gathered beside it, after the optimizer of the step before.
        """
        job = self.job
        gather = self._gathering() if gathers or job.zero == 3 else ()
        overlap = job.overlap_parameters
        work = self.time(self.kernels.forward)
        body = (*self._context(), *self._tensor_forward(), *self._experts())
        count = self.layout.chunk_layers
        head = () if not last or self._is_one_table else self._table()
        layers = layered(count, work, body, gather=gather, after=head, overlap=overlap)
        before = (*self._table(), *self._embedding()) if first else ()
        if not last:
            return (*before, *layers)
        logits = self.time(head_kernels(job, self.layout)[0], self._head_precision())
        return (*before, *layers, Work("head", logits))

    def backward(
        self, *, first: bool, last: bool, reduces: Reduces = "", weights: bool = True
    ) -> tuple[Segment, ...]:
        """Return a microbatch's backward pass through a piece.

        Parameters
        ----------
        first, last
            Whether the piece begins with the embedding, ends in the output layer.
        reduces
            Whose gradients are reduced beside it, as with a step's last microbatch.
        weights
            Whether those of weights are computed as well, not only those of inputs.
        """
        job = self.job
        body: tuple[Segment, ...] = (*self._context(2), *self._experts())
        if job.recompute == "full":
            body += (*self._context(), *self._tensor_forward(), *self._experts())
        parts = self.layout.pp - 1 if reduces == "previous" else 1
        reduce = self._reducing(parts) if reduces or job.zero >= 2 else ()
        gather = self._gathering() if job.zero == 3 else ()
        tensor, hidden = self._tensor_backward()
        work, body = self._backward_work(weights=weights) - hidden, (*tensor, *body)
        count, overlap = self.layout.chunk_layers, job.overlap_gradients
        if reduces == "previous":
            layers = repeated(count, work, body, reduce)
        else:
            head = () if not last or self._is_one_table else self._table_gradients()
            layers = layered(
                count, work, body, gather=gather, reduce=reduce, before=head, overlap=overlap
            )
        before: tuple[Segment, ...] = ()
        if last:
            before = (Work("head", self._head_backward(weights=weights)),)
        if not first or job.lora:
            return (*before, *layers)
        return (*before, *layers, *self._embedding(), *self._table_gradients())

    def _backward_work(self, *, weights: bool) -> float:
        """Return the seconds of a layer's kernels in a backward pass."""
        job, kernels = self.job, self.kernels
        work = self.time(kernels.inputs) + (self.time(kernels.weights) if weights else 0.0)
        if job.recompute == "full":
            work += self.time(kernels.forward)
        elif job.recompute == "selective" and job.attention == "unfused":
            work += self.time(kernels.scores)
        return work

    @cached_property
    def hides(self) -> bool:
        """Whether no part of a layer's reduction of gradients is longer than kernels of another."""
        work = self._backward_work(weights=True) - self._tensor_backward()[1]
        return is_hidden(self._reducing(self.layout.pp - 1), work)

    def weight_gradients(self, *, last: bool) -> tuple[Segment, ...]:
        """Return what a zero-bubble schedule puts off: gradients of a piece's weights."""
        layers = Repeat(
            self.layout.chunk_layers, (Work("kernels", self.time(self.kernels.weights)),)
        )
        trained = last and not self.job.lora
        return (layers, Work("head", self._head_product())) if trained else (layers,)

    def gradients_after(self, pieces: int) -> tuple[Segment, ...]:
        """Return the reduction of the gradients of so many pieces of a stage, after all passes."""
        rings = self._reducing() if self.job.zero < 2 and pieces else ()
        return (Repeat(pieces * self.layout.chunk_layers, rings),) if rings else ()

    def ending(self, stage: int) -> tuple[Segment, ...]:
        """Return what ends a step on a stage: its embedding's gradients, and the optimizer."""
        job, layout = self.job, self.layout
        words = trained_ends(job, layout, stage)
        update = self._update(stage)
        ends: tuple[Segment, ...] = ()
        if words and job.zero < 2:
            size = words * gradient_bytes(job)
            reduce = scattered if job.zero else summed
            ends = reduce(self.data, size, self.messages)
        if job.zero in {1, 2}:
            gathered = () if job.overlap_parameters else self._gathering()
            layers = layout.chunks * layout.chunk_layers
            after: tuple[Segment, ...] = (Repeat(layers, gathered),) if gathered else ()
            if words:
                after += scattered(self._gathered, words * weight_bytes(job), self.messages)
            return (*ends, *update, *after)
        return (*ends, *update)

    def _update(self, stage: int) -> tuple[Segment, ...]:
        """Return the optimizer, and how much longer its states take from the host and back.

        They come and go in pieces, both directions at once, beside the update of other pieces.

        Raises
        ------
        UnsupportedError
            If the accelerator states no bandwidth to its host.
        """
        job, layout = self.job, self.layout
        update = self.time((optimizer_kernel(job, layout, stage),), "")
        if not job.offload:
            return (Work("optimizer", update),)
        if self.rates.host_bandwidth is None:
            raise UnsupportedError(
                "offload = 1 moves the optimizer's states between accelerator and host, and the "
                "machine states no accelerator.host_bandwidth; set it, or offload = 0"
            )
        _, updated = updated_weights(job, layout, stage)
        moving = updated * state_bytes(job) / self.rates.host_bandwidth
        longer = Work("offload", moving - update, waiting=True)
        work = Work("optimizer", update)
        return (work, longer) if moving > update else (work,)

    def between(self) -> float:
        """Return the bytes that go from a stage to the next."""
        job, layout = self.job, self.layout
        split = layout.tp if job.sp else 1
        return 2 * job.micro_batch * job.sequence / layout.cp * job.hidden / split

    @property
    def _gathered(self) -> Members:
        return for_parameters(self.data)

    def _tensor_bytes(self) -> float:
        tokens = self.job.micro_batch * self.job.sequence / self.layout.cp
        return 2 * tokens * self.job.hidden

    def _tensor_forward(self) -> tuple[Segment, ...]:
        """Return an all-reduce after attention and one after the feed-forward part.

        With ``sp`` an all-gather before and a reduce-scatter after each, as many bytes.
        """
        if self.layout.tp == 1:
            return ()
        return (Repeat(2, summed(self.tensor, self._tensor_bytes(), self.messages)),)

    def _tensor_backward(self) -> tuple[tuple[Segment, ...], float]:
        """Return the backward pass's, and the work that is beside them.

        Those of gradients of inputs are beside the products for those of weights; with ``sp``
        inputs are gathered again, beside products for gradients of inputs (arXiv 2205.05198,
        section 4.2.2).
        """
        if self.layout.tp == 1:
            return (), 0.0
        rings = summed(self.tensor, self._tensor_bytes(), self.messages)
        again = scattered(self.tensor, self._tensor_bytes(), self.messages) if self.job.sp else ()
        if not self.job.overlap_tensor or self.job.schedule == "zero-bubble":
            return (Repeat(2, (*rings, *again)),), 0.0
        half = self.time(self.kernels.weights) / 2
        if not self.job.sp:
            return (Repeat(2, beside("tensor parallel", half, rings, overlap=True)),), 2 * half
        cut = len(rings) // 2
        hidden = beside("tensor parallel", half, (*rings[:cut], *again), overlap=True)
        return (Repeat(2, (*rings[cut:], *hidden)),), 2 * half

    def _context(self, times: int = 1) -> tuple[Segment, ...]:
        """Return the gathering of keys and values."""
        if self.layout.cp == 1:
            return ()
        tokens = self.job.micro_batch * self.job.sequence
        size = times * 2 * 2 * tokens * self.job.kv_width / self.layout.tp
        return scattered(self.context, size, self.messages)

    def _experts(self) -> tuple[Segment, ...]:
        """Return the dealing of tokens to experts, and back."""
        if self.job.ep == 1:
            return ()
        tokens = self.job.micro_batch * self.job.sequence / self.layout.cp * self.job.active
        size = BYTES[self.job.precision] * tokens * self.job.hidden
        size /= self.layout.tp if self.job.sp else 1
        return (Repeat(2, dealt(self.expert, size, self.messages)),)

    def _reducing(self, parts: int = 1) -> tuple[Ring, ...]:
        """Return the reduction of a part of a layer's gradients."""
        job = self.job
        dense, expert = trained_weights(job, self.layout)
        reduce = scattered if job.zero else summed
        rings = reduce(self.data, dense * gradient_bytes(job) / parts, self.messages)
        if expert:
            rings += reduce(self.replicas, expert * gradient_bytes(job) / parts, self.messages)
        return rings

    def _gathering(self) -> tuple[Ring, ...]:
        """Return the gathering of a layer's weights, or of those that were updated."""
        held = layer_weights if self.job.zero == 3 else trained_weights
        dense, expert = held(self.job, self.layout)
        width = weight_bytes(self.job)
        rings = scattered(self._gathered, dense * width, self.messages)
        if expert:
            rings += scattered(for_parameters(self.replicas), expert * width, self.messages)
        return rings

    def _table(self) -> tuple[Ring, ...]:
        """Return the gathering of the embedding's weights, or of the output layer's."""
        if self.job.zero < 3:
            return ()
        return scattered(
            self._gathered, self._table_weights * weight_bytes(self.job), self.messages
        )

    def _table_gradients(self) -> tuple[Ring, ...]:
        """Return the reduction of the embedding's gradients, or of the output layer's."""
        if self.job.zero < 2 or self.job.lora:
            return ()
        size = self._table_weights * gradient_bytes(self.job)
        return scattered(self.data, size, self.messages)

    @property
    def _table_weights(self) -> float:
        return self.job.vocabulary * self.job.hidden / self.layout.tp

    @property
    def _is_one_table(self) -> bool:
        """Whether the output layer's weights are those that the stage's embedding has gathered."""
        return self.job.tied and self.layout.pp == 1

    def _embedding(self) -> tuple[Segment, ...]:
        work = Work("embedding", self.time(embedding_kernels(self.job, self.layout), ""))
        if self.layout.tp == 1:
            return (work,)
        return (work, *summed(self.tensor, self._tensor_bytes(), self.messages))

    def _head_precision(self) -> str:
        return "bf16" if self.job.precision in {"fp8", "fp4"} else self.job.precision

    def _head_product(self) -> float:
        return self.time(head_kernels(self.job, self.layout)[1], self._head_precision())

    def _head_backward(self, *, weights: bool) -> float:
        return (2 if weights and not self.job.lora else 1) * self._head_product()
