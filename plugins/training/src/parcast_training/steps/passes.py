"""Forward and backward passes of a piece of the model on one rank, as segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from parcast.errors import UnsupportedError
from parcast_training.steps.exchanges import (
    Members,
    followed,
    for_parameters,
    members_of,
    mirror_of,
    scattered,
    summed,
)
from parcast_training.steps.job import Job
from parcast_training.steps.kernels import (
    Kernel,
    Rates,
    embedding_kernels,
    head_kernels,
    optimizer_kernel,
    seconds,
    updated_weights,
)
from parcast_training.steps.layer import Layer
from parcast_training.steps.layering import Layers, is_hidden, layered, paired, repeated
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import (
    further_weights,
    gradient_bytes,
    state_bytes,
    table_weights,
    trained_ends,
    weight_bytes,
)
from parcast_training.steps.segments import Group, Hop, Hops, Repeat, Ring, Segment, Work
from parcast_training.steps.sorts import Piece, merged, piece_sorts, stage_sorts

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

    def messages(self, group: Group, size: float) -> Hop:
        """Return what a message costs between neighbors of a group."""
        return self.hops(group.start, group.start + group.stride, size)

    @cached_property
    def _members(self) -> Mapping[str, Members]:
        return members_of(self.job, self.layout, self.per_node)

    @property
    def tensor(self) -> Members:
        """The tensor-parallel group."""
        return self._members["tensor"]

    @property
    def data(self) -> Members:
        """Ranks with the same weights: data and context parallel together."""
        return self._members["data"]

    @cached_property
    def _layers(self) -> dict[Job, Layer]:
        return {}

    def layer(self, sort: Job) -> Layer:
        """Return a layer of a sort."""
        if sort not in self._layers:
            self._layers[sort] = Layer(sort, self.layout, self.rates, self._members, self.messages)
        return self._layers[sort]

    def time(self, kernels: tuple[Kernel, ...], precision: str = "") -> float:
        """Return how long kernels take."""
        return seconds(kernels, self.rates, precision or self.job.precision)

    def forward(self, piece: Piece, *, gathers: bool) -> tuple[Segment, ...]:
        """Return a microbatch's forward pass through a piece.

        Parameters
        ----------
        piece
            Its layers and ends.
        gathers
            Whether weights are gathered beside it, after the optimizer of the step before.
        """
        layers = layered(
            self._forward_layers(piece, gathers=gathers or self.job.zero == 3),
            after=self._head_table() if piece.last else (),
            overlap=self.job.overlap_parameters,
        )
        before, after = self._forward_ends(piece)
        return (*before, *layers, *after)

    def backward(
        self, piece: Piece, *, reduces: Reduces = "", weights: bool = True
    ) -> tuple[Segment, ...]:
        """Return a microbatch's backward pass through a piece.

        Parameters
        ----------
        piece
            Its layers and ends.
        reduces
            Whose gradients are reduced beside it, as with a step's last microbatch.
        weights
            Whether those of weights are computed as well, not only those of inputs.
        """
        job = self.job
        parts = self.layout.pp - 1 if reduces == "previous" else 1
        parts = parts if reduces or job.zero >= 2 else 0
        backward = self._backward_layers(piece, weights=weights, parts=parts)
        if reduces == "previous":
            layers = repeated(backward)
        else:
            head = self._head_gradients() if piece.last else ()
            layers = layered(backward, before=head, overlap=job.overlap_gradients)
        before, after = self._backward_ends(piece, weights=weights)
        return (*before, *layers, *after)

    def pair(self, forward: Piece, backward: Piece) -> tuple[Segment, ...]:
        """Return a forward and a backward pass at once, of other microbatches and pieces.

        Experts' exchanges of each are beside kernels of both.
        """
        forward_before, forward_after = self._forward_ends(forward)
        backward_before, backward_after = self._backward_ends(backward, weights=True)
        layers = paired(
            self._forward_layers(forward, gathers=False),
            self._backward_layers(backward, weights=True, parts=0),
        )
        before = (*forward_before, *backward_before)
        return (*before, *layers, *forward_after, *backward_after)

    def _forward_layers(self, piece: Piece, *, gathers: bool) -> list[Layers]:
        return [self.layer(sort).forward(count, gathers=gathers) for sort, count in piece.sorts]

    def _backward_layers(self, piece: Piece, *, weights: bool, parts: int) -> list[Layers]:
        return [
            self.layer(sort).backward(count, weights=weights, parts=parts)
            for sort, count in reversed(piece.sorts)
        ]

    def _forward_ends(self, piece: Piece) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """Return what a forward pass does before its layers and after them."""
        before = (*self._gathering(self._first_weights), *self._embedding()) if piece.first else ()
        if not piece.last:
            return before, ()
        logits = self.time(head_kernels(self.job, self.layout)[0], self._head_precision())
        return before, (Work("head", logits),)

    def _backward_ends(
        self, piece: Piece, *, weights: bool
    ) -> tuple[tuple[Segment, ...], tuple[Segment, ...]]:
        """Return what a backward pass does before its layers and after them."""
        before: tuple[Segment, ...] = ()
        if piece.last:
            before = (Work("head", self._head_backward(weights=weights)),)
        if not piece.first or self.job.lora:
            return before, ()
        return before, (*self._embedding(), *self._reducing(self._first_weights))

    @cached_property
    def hides(self) -> bool:
        """Whether no part of a layer's reduction of gradients is longer than kernels of another."""
        if not (self.job.is_uniform and self.layout.is_even and not self.job.mtp):
            return False
        layer = self.layer(self.job).backward(1, weights=True, parts=self.layout.pp - 1)
        return is_hidden(layer.reduce, layer.work)

    def weight_gradients(self, piece: Piece) -> tuple[Segment, ...]:
        """Return what some schedules put off: gradients of a piece's weights."""
        layers = tuple(
            Repeat(count, (Work("kernels", self.layer(sort).weights_work),))
            for sort, count in piece.sorts
        )
        trained = piece.last and not self.job.lora
        return (*layers, Work("head", self._head_product())) if trained else layers

    def gradients_after(self, stage: int, chunks: range) -> tuple[Segment, ...]:
        """Return the reduction of the gradients of pieces of a stage, after all passes."""
        if self.job.zero >= 2:
            return ()
        mirror = mirror_of(self.layout, stage)
        sorts = merged(piece_sorts(self.job, self.layout, stage, chunk) for chunk in chunks)
        rings = [(count, self.layer(sort).reducing(mirror=mirror)) for sort, count in sorts]
        return tuple(Repeat(count, ring) for count, ring in rings if ring)

    def ending(self, stage: int) -> tuple[Segment, ...]:
        """Return what ends a step on a stage: its embedding's gradients, and the optimizer."""
        job, layout = self.job, self.layout
        mirror = mirror_of(layout, stage)
        data = followed(self.data, mirror)
        words = trained_ends(job, layout, stage)
        update = self._update(stage)
        ends: tuple[Segment, ...] = ()
        if words and job.zero < 2:
            size = words * gradient_bytes(job)
            reduce = scattered if job.zero else summed
            ends = reduce(data, size, self.messages)
        if job.zero in {1, 2}:
            after: tuple[Segment, ...] = ()
            if layout.bidirectional or not job.overlap_parameters:
                layers = stage_sorts(job, layout, stage)
                rings = [(count, self.layer(sort).gathering(mirror)) for sort, count in layers]
                after = tuple(Repeat(count, ring) for count, ring in rings if ring)
            if words:
                after += scattered(for_parameters(data), words * weight_bytes(job), self.messages)
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

    def _head_table(self) -> tuple[Ring, ...]:
        """Return the gathering of the output layer's weights, and of what is beside it.

        Where one table is both, the stage's embedding has gathered it.
        """
        table = 0.0 if self.job.tied and self.layout.pp == 1 else self._table_weights
        return self._gathering(table + further_weights(self.job, self.layout))

    def _gathering(self, weights: float) -> tuple[Ring, ...]:
        if self.job.zero < 3 or not weights:
            return ()
        data = for_parameters(self.data)
        return scattered(data, weights * weight_bytes(self.job), self.messages)

    def _head_gradients(self) -> tuple[Ring, ...]:
        """Return the reduction of the output layer's, and of those of what is beside it."""
        table = 0.0 if self.job.tied and self.layout.pp == 1 else self._table_weights
        return self._reducing(table + further_weights(self.job, self.layout))

    def _reducing(self, weights: float) -> tuple[Ring, ...]:
        if self.job.zero < 2 or self.job.lora or not weights:
            return ()
        return scattered(self.data, weights * gradient_bytes(self.job), self.messages)

    @property
    def _table_weights(self) -> float:
        return table_weights(self.job, self.layout)

    @property
    def _first_weights(self) -> float:
        return self._table_weights + self.job.positions * self.job.hidden

    def _embedding(self) -> tuple[Segment, ...]:
        work = Work("embedding", self.time(embedding_kernels(self.job, self.layout), ""))
        if self.layout.tp == 1:
            return (work,)
        size = 2 * self.job.micro_batch * self.job.sequence / self.layout.cp * self.job.hidden
        return (work, *summed(self.tensor, size, self.messages))

    def _head_precision(self) -> str:
        return "bf16" if self.job.precision in {"fp8", "fp4"} else self.job.precision

    def _head_product(self) -> float:
        return self.time(head_kernels(self.job, self.layout)[1], self._head_precision())

    def _head_backward(self, *, weights: bool) -> float:
        return (2 if weights and not self.job.lora else 1) * self._head_product()
