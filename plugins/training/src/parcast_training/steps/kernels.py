"""Kernels of a layer on one rank: their operations, the bytes they move, and their times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import ceil
from typing import Protocol

from parcast_training.steps.decoder import BYTES
from parcast_training.steps.job import Job
from parcast_training.steps.layout import Layout
from parcast_training.steps.memory import (
    adapted,
    gradient_bytes,
    total_weights,
    trained_ends,
    trained_weights,
)
from parcast_training.steps.sorts import stage_sorts

#: Bytes of an activation.
_HALF = 2

#: Rows and columns of a result that one multiprocessor computes at a time.
_TILE = (256, 128)


class Rates(Protocol):
    """What times kernels: the accelerator of a machine."""

    @property
    def units(self) -> int | None:
        """Multiprocessors, if they are stated."""

    @property
    def host_bandwidth(self) -> float | None:
        """Bytes per second between it and its node's memory, each direction, if stated."""

    def seconds(self, flops: float, bytes: float, *, precision: str, kind: str) -> float:  # noqa: A002
        """Return the seconds of a kernel, by its roofline."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch, or several alike."""

    name: str
    flops: float  #: of one
    moved: float  #: bytes of one
    kind: str = "gemm"  #: gemm, attention, or pointwise, which computes next to nothing
    count: float = 1
    rows: float = 0  #: of a matrix product's result
    columns: float = 0


@dataclass(frozen=True, slots=True)
class LayerKernels:
    """A layer's kernels for a microbatch, by pass."""

    forward: tuple[Kernel, ...]
    scores: tuple[Kernel, ...]  #: those of ``forward`` that selective recomputation repeats
    inputs: tuple[Kernel, ...]  #: backward, gradients of inputs
    weights: tuple[Kernel, ...]  #: backward, gradients of weights


def seconds(kernels: Iterable[Kernel], rates: Rates, precision: str) -> float:
    """Return how long kernels take, one after another.

    Attention is computed in 16 bits where products are in fewer.
    """
    total = 0.0
    narrow = precision in {"fp8", "fp4"}
    for kernel in kernels:
        used = "bf16" if narrow and kernel.kind == "attention" else precision
        flops = kernel.flops * rounding(kernel, rates.units)
        launch = rates.seconds(flops, kernel.moved, precision=used, kind=kernel.kind)
        total += kernel.count * float(launch)
    return total


def rounding(kernel: Kernel, units: int | None) -> float:
    """Return how much more a matrix product computes than it has to, 1 or more.

    Its result is computed in tiles of 256 by 128, one on each multiprocessor, in waves; the last
    tiles and the last wave are done in full (NVIDIA, Matrix Multiplication Background User's
    Guide: tile quantization and wave quantization).
    """
    if units is None or not kernel.rows:
        return 1.0
    tiles = ceil(kernel.rows / _TILE[0]) * ceil(kernel.columns / _TILE[1])
    computed = ceil(tiles / units) * units * _TILE[0] * _TILE[1]
    return computed / (kernel.rows * kernel.columns)


def layer_kernels(job: Job, layout: Layout) -> LayerKernels:
    """Return the kernels of a layer on one rank, for one microbatch.

    Frozen products have no gradients of weights; those of their adapters alone have some.
    """
    tokens = job.micro_batch * job.sequence / layout.cp
    attention = _attention(job, layout, tokens)
    adapters = _adapters(job, layout, tokens)
    products = _products(job, layout, tokens)
    streams = _memory_bound(job, layout, tokens)
    return LayerKernels(
        forward=(*products, *adapters, *attention, *streams, *_sums(job, layout, tokens, 1)),
        scores=attention,
        inputs=(
            *(_turned(kernel, "inputs") for kernel in (*products, *adapters)),
            *(_gradient(kernel) for kernel in attention),
            *streams,
            *streams,
            *_sums(job, layout, tokens, 0),
        ),
        weights=tuple(_turned(kernel, "weights") for kernel in adapters or products),
    )


def _adapters(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    """Return the two products of each adapter: to its rank, and from it."""
    width = BYTES[job.precision]
    return tuple(
        kernel
        for before, after in adapted(job, layout)
        for kernel in (
            _product("adapter down", tokens, before, job.lora, width),
            _product("adapter up", tokens, job.lora, after, width),
        )
    )


def _sums(job: Job, layout: Layout, tokens: float, side: int) -> tuple[Kernel, ...]:
    """Return what adds an adapter's result, or its gradient of inputs, to the frozen product's."""
    return tuple(
        Kernel("adapter sum", 0, 3 * _HALF * tokens * widths[side], "pointwise")
        for widths in adapted(job, layout)
    )


def _turned(kernel: Kernel, of: str) -> Kernel:
    """Return the product for the gradient of a product's inputs or weights: as many operations."""
    inner = kernel.flops / 2 / kernel.rows / kernel.columns
    rows = kernel.rows if of == "inputs" else inner
    columns = inner if of == "inputs" else kernel.columns
    return replace(kernel, name=f"{kernel.name} {of}", rows=rows, columns=columns)


#: The backward pass of an attention kernel, for one forward: its operations and its bytes. Flash
#: attention computes the scores once more, five products for two (arXiv 2205.14135); a dropout
#: reads gradient and mask, and a softmax gradient and result.
_BACKWARD = {"flash": (2.5, 2.0), "softmax": (1.0, 1.5), "scores' dropout": (1.0, 1.0)}


def _gradient(kernel: Kernel) -> Kernel:
    """Return the backward pass of an attention kernel."""
    flops, moved = _BACKWARD.get(kernel.name, (2.0, 2.0))
    name = f"{kernel.name} backward"
    return Kernel(name, flops * kernel.flops, moved * kernel.moved, kernel.kind)


def _product(name: str, m: float, k: float, n: float, width: int, count: float = 1) -> Kernel:
    moved = width * (m * k + k * n + m * n)
    return Kernel(name, 2 * m * k * n, moved, count=count, rows=m, columns=n)


def _products(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    width, t, h = BYTES[job.precision], layout.tp, job.hidden
    sent = tokens * job.active * job.ep / job.experts  # to each expert
    experts = job.experts / job.ep
    shared = (
        _product("shared up", tokens, h, job.ups * job.shared_ffn / t, width),
        _product("shared down", tokens, job.shared_ffn / t, h, width),
    )
    return (
        *_projections(job, layout, tokens),
        _product("projection", tokens, job.output_width / t, h, width),
        _product("up", sent, h, job.ups * job.ffn_width / t, width, experts),
        _product("down", sent, job.ffn_width / t, h, width, experts),
        *(shared if job.shared_ffn else ()),
    )


def _projections(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    """Return the products that give queries, keys and values.

    Compressions of latent attention are repeated within a tensor-parallel group, or each rank of it
    does those of its part of the tokens.
    """
    width, t, h = BYTES[job.precision], layout.tp, job.hidden
    if not job.kv_rank:
        out = job.query_width + job.key_width + job.value_width
        return (_product("qkv", tokens, h, out / t, width),)
    part = tokens / (t if job.sp else 1)
    compression = (_product("queries down", part, h, job.q_rank, width),) if job.q_rank else ()
    return (
        *compression,
        _product("queries up", tokens, job.q_rank or h, job.query_width / t, width),
        _product("keys down", part, h, job.kv_rank + job.rope_dim, width),
        _product("keys up", tokens, job.kv_rank, job.expanded_width / t, width),
    )


def _attention(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    query, output = (tokens * w / layout.tp for w in (job.query_width, job.output_width))
    key, value = (tokens * w / layout.tp for w in (job.key_width, job.value_width))
    if job.attention == "flash":  # causal: half of the scores
        flops, moved = job.span * (query + output), _HALF * (query + output + key + value)
        return (Kernel("flash", flops, moved, "attention"),)
    scores = tokens * job.sequence * job.heads / layout.tp
    mask = 1 if job.dropout else 0
    softmax = Kernel("softmax", 0, 2 * _HALF * scores, "pointwise")
    dropout = (
        (Kernel("scores' dropout", 0, (2 * _HALF + mask) * scores, "pointwise"),) if mask else ()
    )
    return (
        Kernel("scores", 2 * job.sequence * query, _HALF * (query + key + scores), "attention"),
        softmax,
        *dropout,
        Kernel("values", 2 * job.sequence * output, _HALF * (output + value + scores), "attention"),
    )


def _memory_bound(job: Job, layout: Layout, tokens: float) -> tuple[Kernel, ...]:
    split = layout.tp if job.sp else 1
    row, mask = tokens * job.hidden / split, 1 if job.dropout else 0
    inner = tokens * (job.active * job.ffn_width + job.shared_ffn) / layout.tp
    latent = tokens * (job.q_rank + job.kv_rank) / split
    return (
        *((Kernel("latent norm", 0, 2 * _HALF * latent, "pointwise"),) if latent else ()),
        Kernel("norm", 0, 2 * _HALF * row, "pointwise", 2),
        Kernel("residual", 0, (3 * _HALF + mask) * row, "pointwise", 2),
        Kernel("activation", 0, _HALF * (job.ups + 1) * inner, "pointwise"),
    )


def embedding_kernels(job: Job, layout: Layout) -> tuple[Kernel, ...]:
    """Return what the first stage does before its layers, forward or backward."""
    tokens = job.micro_batch * job.sequence / layout.cp
    rows = 3 if job.positions else 2  # of the word, and of its place, are read; one is written
    return (Kernel("embedding", 0, rows * _HALF * tokens * job.hidden, "pointwise"),)


def head_kernels(job: Job, layout: Layout) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]]:
    """Return what the last stage does after its layers: forward, and one product backward."""
    tokens = job.micro_batch * job.sequence / layout.cp
    words = job.vocabulary / layout.tp
    times = 1 + job.mtp
    products = [_product("logits", tokens, job.hidden, words, _HALF, times)]
    if job.mtp:
        h = job.hidden
        products.append(_product("joining", tokens, 2 * h, h / layout.tp, _HALF, job.mtp))
    loss = Kernel("loss", 0, (_HALF + 4 + 4) * tokens * words, "pointwise", times)
    return (*products, loss), tuple(products)


def updated_weights(job: Job, layout: Layout, stage: int) -> tuple[float, float]:
    """Return the trained weights of a rank of a stage, and how many of them it updates."""
    dense, expert = total_weights(stage_sorts(job, layout, stage), layout, trained_weights)
    group = layout.dp * layout.cp * layout.copies
    shared = dense + trained_ends(job, layout, stage)
    weights = shared + expert
    updated = shared / group + expert / (group / job.ep) if job.zero else weights
    return weights, updated


def optimizer_kernel(job: Job, layout: Layout, stage: int) -> Kernel:
    """Return Adam's update: each weight's gradient, master and moments by memory.

    Gradients are read twice, for their norm and for the update, and set to 0 once.
    """
    weights, updated = updated_weights(job, layout, stage)
    width = gradient_bytes(job)
    moved = updated * (2 * width + 24 + _HALF) + weights * width
    return Kernel("optimizer", 0, moved, "pointwise")
