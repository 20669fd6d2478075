"""Bytes that a rank holds: weights, gradients, optimizer and activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from parcast_training.steps.dualpipe import fewest_passes
from parcast_training.steps.job import Job
from parcast_training.steps.layout import Layout
from parcast_training.steps.schedule import order
from parcast_training.steps.sorts import Sorts, merged, piece_sorts

#: Master weights and both moments of Adam in 32 bits (arXiv 1910.02054, section 3.1).
_OPTIMIZER = 12


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of the fullest rank."""

    weights: float
    gradients: float
    optimizer: float
    activations: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.weights + self.gradients + self.optimizer + self.activations


def memory_of(job: Job, layout: Layout) -> Memory:
    """Return what the fullest rank of a step holds.

    Activations are those of arXiv 2205.05198, sections 4.1 to 5 (equations 1 to 6), for other
    widths than 4 hidden as well, and what a layer needs while it is computed again; buffers of
    communication and fragmentation are left out.
    """
    alike = job.is_uniform and layout.is_even and not layout.bidirectional
    stages = {0, layout.pp - 1} if alike else range(layout.pp // layout.copies)
    return max((_of_stage(job, layout, stage) for stage in stages), key=lambda m: m.total)


def layer_weights(job: Job, layout: Layout) -> tuple[float, float]:
    """Return the weights of a layer on a rank: those of all, and those of its experts.

    A model without experts has none of the second sort. Layers of the job are alike.
    """
    split = job.attention_weights - job.latent_weights + job.shared_weights
    dense = split / layout.tp + job.latent_weights + adapter_weights(job, layout)
    parts = job.ffn_weights / layout.tp
    return (dense + parts, 0.0) if job.experts == 1 else (dense, job.experts / job.ep * parts)


def total_weights(
    sorts: Sorts, layout: Layout, of_layer: Callable[[Job, Layout], tuple[float, float]]
) -> tuple[float, float]:
    """Return what layers have together of what one of each sort has."""
    parts = [(count, of_layer(sort, layout)) for sort, count in sorts]
    return sum(n * dense for n, (dense, _) in parts), sum(n * own for n, (_, own) in parts)


def adapted(job: Job, layout: Layout) -> tuple[tuple[float, float], ...]:
    """Return the widths into and out of a rank's part of the matrices that have adapters.

    The tensor-parallel group splits what comes out of the first of each part of a layer, and what
    goes into the second; so it does with the adapters beside them.
    """
    return tuple(
        (before, after / layout.tp) if number % 2 == 0 else (before / layout.tp, after)
        for number, (before, after) in enumerate(job.adapted)
    )


def adapter_weights(job: Job, layout: Layout) -> float:
    """Return the weights of a layer's adapters on a rank."""
    return sum(job.lora * (before + after) for before, after in adapted(job, layout))


def trained_weights(job: Job, layout: Layout) -> tuple[float, float]:
    """Return which of a layer's weights on a rank have gradients: of all, and of its experts."""
    return (adapter_weights(job, layout), 0.0) if job.lora else layer_weights(job, layout)


def trained_ends(job: Job, layout: Layout, stage: int) -> float:
    """Return which weights of embedding and output layer have gradients on a rank of a stage."""
    return 0.0 if job.lora else embedding_weights(job, layout, stage)


def embedding_weights(job: Job, layout: Layout, stage: int) -> float:
    """Return the weights of embedding and output layer on a rank of a stage.

    One with the first piece has the table of positions, all of it on each rank. One with the last
    piece has those that join tokens for further ones as well, and an embedding for them.
    """
    table = table_weights(job, layout)
    tables = layout.has_first(stage) + layout.has_last(stage)
    if job.tied:
        tables = min(tables, 1)
    joining = further_weights(job, layout) if layout.has_last(stage) else 0.0
    positions = job.positions * job.hidden if layout.has_first(stage) else 0
    return table * tables + joining + positions


def table_weights(job: Job, layout: Layout) -> float:
    """Return the weights of the embedding of words on a rank, or of the output layer."""
    return job.vocabulary * job.hidden / layout.tp


def further_weights(job: Job, layout: Layout) -> float:
    """Return the weights behind the last layer that predict further tokens but for their layers."""
    if not job.mtp:
        return 0.0
    has_first = layout.has_first(layout.pp - 1)
    embedding = 0 if job.tied or has_first else job.vocabulary * job.hidden
    return (job.merging_weights + embedding) / layout.tp


def gradient_bytes(job: Job) -> int:
    """Return the bytes of a gradient."""
    return 4 if job.gradients == "fp32" or job.precision in {"fp32", "tf32"} else 2


def state_bytes(job: Job) -> int:
    """Return the bytes of the optimizer's states of a weight."""
    return _OPTIMIZER - (4 if weight_bytes(job) == 4 else 0)


def weight_bytes(job: Job) -> int:
    """Return the bytes of a weight that kernels read."""
    return 4 if job.precision in {"fp32", "tf32"} else 2


def _of_stage(job: Job, layout: Layout, stage: int) -> Memory:
    ranks = layout.dp * layout.cp * layout.copies
    splits = ranks, ranks / job.ep

    def bytes_of(width: int, least: int, layers: tuple[float, float], ends: float) -> float:
        shared, experts = layers[0] + ends, layers[1]
        if job.zero < least:
            return width * (shared + experts)
        return width * (shared / splits[0] + experts / splits[1])

    pieces = [piece_sorts(job, layout, stage, chunk) for chunk in range(layout.chunks)]
    sorts = merged(pieces)
    weights = total_weights(sorts, layout, layer_weights), embedding_weights(job, layout, stage)
    trained = total_weights(sorts, layout, trained_weights), trained_ends(job, layout, stage)
    return Memory(
        weights=bytes_of(weight_bytes(job), 3, *weights),
        gradients=bytes_of(gradient_bytes(job), 2, *trained),
        optimizer=0.0 if job.offload else bytes_of(state_bytes(job), 1, *trained),
        activations=_activations(job, layout, stage, pieces, sorts),
    )


def _activations(
    job: Job, layout: Layout, stage: int, pieces: Sequence[Sorts], sorts: Sorts
) -> float:
    tokens = job.micro_batch * job.sequence / layout.cp
    again = [_without_recomputation(s, layout) - layer_activations(s, layout) for s, _ in sorts]
    # a layer is computed again as a whole
    total = tokens * (_held(job, layout, stage, pieces) + max(again))
    if layout.has_last(stage):  # logits in 32 bits
        total += 4 * (1 + job.mtp) * tokens * job.vocabulary / layout.tp
    return total


def _held(job: Job, layout: Layout, stage: int, pieces: Sequence[Sorts]) -> float:
    """Return the most bytes for each token that layers keep for passes that are still to come."""
    of_pieces = [_of_piece(sorts, layout, layer_activations) for sorts in pieces]
    if layout.bidirectional:
        waiting = [_of_piece(sorts, layout, _for_weights) for sorts in pieces]
        return _most_put_off(layout, stage, of_pieces, waiting)
    flight = _in_flight(layout, stage)
    if len(set(of_pieces)) > 1:
        return _most_held(layout, stage, of_pieces)
    held = of_pieces[0] * flight
    if job.schedule == "zero-bubble":
        put_off = _of_piece(pieces[0], layout, _for_weights)
        late = min(layout.pp, layout.microbatches) - flight
        # the last is of a microbatch that has just gone back
        held += put_off * late + max(0.0, put_off - of_pieces[0])
    return held


def _of_piece(sorts: Sorts, layout: Layout, of_layer: Callable[[Job, Layout], float]) -> float:
    return sum(count * of_layer(sort, layout) for sort, count in sorts)


def _most_put_off(
    layout: Layout, stage: int, of_pieces: list[float], waiting: list[float]
) -> float:
    """Return the most that a stage of DualPipe holds, by playing its passes.

    Where pieces are alike and gradients that are put off need no more than their pass kept, that
    is what pp + 1 passes keep (arXiv 2412.19437, table 2). More microbatches are more pairs, which
    go back as often as forth.
    """
    in_use = peak = 0.0
    for step in fewest_passes(layout.pp, layout.near(stage)):
        for part in step.parts:
            in_use += of_pieces[part.chunk] if part.kind == "F" else 0.0
            in_use -= of_pieces[part.chunk] if part.kind in "BI" else 0.0
            in_use += {"I": 1, "W": -1}.get(part.kind, 0) * waiting[part.chunk]
            peak = max(peak, in_use)
    return peak


def _most_held(layout: Layout, stage: int, of_pieces: list[float]) -> float:
    """Return the most that a stage holds whose pieces differ, by playing its passes.

    What it holds repeats with each ``pp`` microbatches once it goes back as often as forth.
    """
    few = replace(layout, microbatches=min(layout.microbatches, 4 * layout.pp))
    in_use = peak = 0.0
    for step in (part for run in order(few, stage) for part in run.parts):
        in_use += of_pieces[step.chunk] if step.kind == "F" else -of_pieces[step.chunk]
        peak = max(peak, in_use)
    return peak


def layer_activations(job: Job, layout: Layout) -> float:
    """Return the bytes for each token that a layer keeps for its backward pass."""
    if job.recompute == "full":
        return 2 * job.hidden / (layout.tp if job.sp else 1)
    scores = job.recompute == "none"
    return _for_weights(job, layout) + _masks(job, layout) + (_scores(job, layout) if scores else 0)


def _without_recomputation(job: Job, layout: Layout) -> float:
    return _for_weights(job, layout) + _masks(job, layout) + _scores(job, layout)


def _for_weights(job: Job, layout: Layout) -> float:
    """Return the bytes for each token that gradients of a layer's weights need.

    They are inputs of products; as long as these gradients are put off, the gradients of results
    take the place of what gradients of inputs needed (arXiv 2401.10241, table 1). Each expert
    that a token goes to has a copy of it.
    """
    h = job.hidden
    # inputs of frozen products are not kept, since their weights have no gradients
    frozen = 1 if job.lora and job.lora_on == "attention" else 0
    split = layout.tp if job.sp else 1
    whole = (8 - 2 * frozen) * h / split  # of two norms and of two parts
    copies = 2 * h * job.active if job.experts > 1 and not frozen else 0
    ffn = 2 * (job.ups + 1 - frozen) * (job.ffn_width * job.active + job.shared_ffn)
    heads = job.query_width + job.output_width + job.key_width + job.value_width
    parts = (2 * heads + ffn) / layout.tp
    compressed = (
        4 * (job.q_rank + job.kv_rank) / (layout.tp if job.sp else 1)
    )  # before norms, after
    adapters = 2 * job.lora * len(job.adapted)  # between the two of each
    return whole + copies + parts + compressed + adapters


def _masks(job: Job, layout: Layout) -> float:
    return 2 * job.hidden / (layout.tp if job.sp else 1) if job.dropout else 0.0


def _scores(job: Job, layout: Layout) -> float:
    if job.attention == "flash":
        return 0.0
    return (2 + 3 * job.dropout) * job.heads * job.sequence / layout.tp


def _in_flight(layout: Layout, stage: int) -> float:
    """Return how many pieces of how many microbatches a stage holds at most at once."""
    pp, v, m = layout.pp, layout.chunks, layout.microbatches
    if v == 1:
        return min(pp - stage + layout.pairs, m)
    return min(2 * (pp - stage - 1) + (v - 1) * pp + 1 + layout.pairs, m * v)
