"""Kernels of a layer on one rank: their operations, the bytes they move, and their times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from parcast_training.steps.job import BYTES, Job
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import embedding_weights, gradient_bytes, layer_weights

#: Bytes of an activation.
_HALF = 2


class Rates(Protocol):
    """What times kernels: the accelerator of a machine."""

    def seconds(self, flops: float, bytes: float, *, precision: str, kind: str) -> float:  # noqa: A002
        """Return the seconds of a kernel, by its roofline."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch, or several alike."""

    name: str
    flops: float  #: of one
    moved: float  #: bytes of one
    kind: str = "gemm"  #: gemm, attention, or memory, which computes next to nothing
    count: float = 1


@dataclass(frozen=True, slots=True)
class LayerKernels:
    """A layer's kernels for a microbatch, by pass."""

    forward: tuple[Kernel, ...]
    scores: tuple[Kernel, ...]  #: those of ``forward`` that selective recomputation repeats
    inputs: tuple[Kernel, ...]  #: backward, gradients of inputs
    weights: tuple[Kernel, ...]  #: backward, gradients of weights


def seconds(kernels: Iterable[Kernel], rates: Rates, precision: str) -> float:
    """Return how long kernels take, one after another."""
    total = 0.0
    for kernel in kernels:
        one = float(
            rates.seconds(kernel.flops, kernel.moved, precision=precision, kind=_kind(kernel))
        )
        total += kernel.count * one
    return total


def _kind(kernel: Kernel) -> str:
    return "gemm" if kernel.kind == "memory" else kernel.kind


def layer_kernels(job: Job, layout: Layout) -> LayerKernels:
    """Return the kernels of a layer on one rank, for one microbatch."""
    tokens = job.micro_batch * job.sequence / layout.cp
    attention = _attention(job, layout, tokens)
    products = _products(job, layout, tokens)
    rest = _memory_bound(job, layout, tokens)
    return LayerKernels(
        forward=(*products, *attention, *rest),
        scores=attention,
        inputs=(*products, *(_twice(kernel) for kernel in attention), *rest, *rest),
        weights=products,
    )


def _twice(kernel: Kernel) -> Kernel:
    """Return the backward pass of an attention kernel.

    Flash attention computes the scores once more: five products for two (arXiv 2205.14135).
    """
    factor = 2.5 if kernel.name == "flash" else 2
    return Kernel(f"{kernel.name} backward", factor * kernel.flops, 2 * kernel.moved, kernel.kind)


def _product(name: str, m: float, k: float, n: float, width: int, count: float = 1) -> Kernel:
    return Kernel(name, 2 * m * k * n, width * (m * k + k * n + m * n), count=count)


def _products(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    width, t, h = BYTES[job.precision], layout.tp, job.hidden
    out = (job.query_width + 2 * job.kv_width) / t
    sent = tokens * job.active * job.ep / job.experts  # to each expert
    own = job.experts / job.ep
    return (
        _product("qkv", tokens, h, out, width),
        _product("projection", tokens, job.query_width / t, h, width),
        _product("up", sent, h, job.ups * job.ffn_width / t, width, own),
        _product("down", sent, job.ffn_width / t, h, width, own),
    )


def _attention(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    width = tokens * job.query_width / layout.tp
    kv = tokens * job.kv_width / layout.tp
    flops = 2 * job.sequence * width
    if job.attention == "flash":  # causal: half of the scores
        return (Kernel("flash", flops, _HALF * 2 * (width + kv), "attention"),)
    scores = tokens * job.sequence * job.heads / layout.tp
    mask = 1 if job.dropout else 0
    softmax = Kernel("softmax", 0, 2 * _HALF * scores, "memory")
    dropout = (Kernel("scores' dropout", 0, (2 * _HALF + mask) * scores, "memory"),) if mask else ()
    return (
        Kernel("scores", flops, _HALF * (width + kv + scores), "attention"),
        softmax,
        *dropout,
        Kernel("values", flops, _HALF * (width + kv + scores), "attention"),
    )


def _memory_bound(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    split = layout.tp if job.sp else 1
    row, mask = tokens * job.hidden / split, 1 if job.dropout else 0
    inner = tokens * job.active * job.ffn_width / layout.tp
    return (
        Kernel("norm", 0, 2 * _HALF * row, "memory", 2),
        Kernel("residual", 0, (3 * _HALF + mask) * row, "memory", 2),
        Kernel("activation", 0, _HALF * (job.ups + 1) * inner, "memory"),
    )


def embedding_kernels(job: Job, layout: Layout) -> tuple[Kernel, ...]:
    """Return what the first stage does before its layers, forward or backward."""
    tokens = job.micro_batch * job.sequence / layout.cp
    return (Kernel("embedding", 0, 2 * _HALF * tokens * job.hidden, "memory"),)


def head_kernels(job: Job, layout: Layout) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]]:
    """Return what the last stage does after its layers: forward, and one product backward."""
    tokens = job.micro_batch * job.sequence / layout.cp
    words = job.vocabulary / layout.tp
    product = _product("logits", tokens, job.hidden, words, _HALF)
    loss = Kernel("loss", 0, (_HALF + 4 + 4) * tokens * words, "memory")
    return (product, loss), (product,)


def optimizer_kernel(job: Job, layout: Layout, stage: int) -> Kernel:
    """Return Adam's update: each weight's gradient, master and moments by memory.

    Gradients are read twice, for their norm and for the update, and set to 0 once.
    """
    dense, expert = layer_weights(job, layout)
    layers, group = layout.chunks * layout.chunk_layers, layout.dp * layout.cp
    shared = layers * dense + embedding_weights(job, layout, stage)
    held = shared + layers * expert
    updated = shared / group + layers * expert / (group / job.ep) if job.zero else held
    width = gradient_bytes(job)
    moved = updated * (2 * width + 24 + _HALF) + held * width
    return Kernel("optimizer", 0, moved, "memory")
