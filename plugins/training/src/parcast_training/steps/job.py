"""The kind ``training``: a language model, its batch, and how it is laid out over accelerators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin

import attrs

from parcast_training.steps.decoder import Count, Decoder, Flag

Recompute = Literal["none", "selective", "full"]
Schedule = Literal["1f1b", "interleaved", "zero-bubble", "dualpipe"]


@attrs.frozen(kw_only=True, cache_hash=True)
class Job(Decoder):
    """A step of training a language model (a decoder) on p accelerators."""

    global_batch: Count  #: samples of a step
    micro_batch: Count = 1  #: samples that go through a stage at once
    tp: Count = 1  #: tensor parallel
    sp: Flag = 0  #: 1: norms and dropout are split over the tensor-parallel group as well
    pp: Count = 1  #: pipeline stages
    first_layers: Flag = 0  #: of the first stage; 0: as many as the others
    last_layers: Flag = 0  #: of the last stage; 0: as many as the others
    interleave: Count = 1  #: pieces of the model that each stage has
    schedule: Schedule = "1f1b"  #: interleaved where ``interleave`` is above 1
    cp: Count = 1  #: context parallel: the sequence is split
    ep: Count = 1  #: expert parallel: within the data-parallel group
    dp: Count | None = None  #: data parallel; what is left of p where not stated
    zero: Flag = 0  #: split over the data-parallel group: 1 optimizer, 2 gradients, 3 weights too
    offload: Flag = 0  #: 1: the optimizer's states lie in the memory of the node
    checkpoint_every: Flag = 0  #: steps from one checkpoint to the next; 0: none is written
    recompute: Recompute = "none"  #: of activations, in the backward pass
    overlap_gradients: bool = True  #: their reduction runs beside the backward pass
    overlap_parameters: bool = False  #: their gathering runs beside the forward pass
    overlap_tensor: bool = (
        True  #: in the backward pass, tensor-parallel communication beside products
    )
    #: experts' exchanges of a pass run beside kernels of another; interleaved, or with pp = 1
    overlap_experts: bool = False
    left_out: tuple[str, ...] = ()  #: what its configuration states and a step has not
    assumed: tuple[str, ...] = ()  #: keys that its configuration leaves open, and a step needs

    def settable(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return what ``--set`` takes: whole numbers, and words for the rest with their values."""
        values = attrs.asdict(self)
        numbers = {
            name: v for name, v in values.items() if isinstance(v, int) and not isinstance(v, bool)
        }
        choices: dict[str, dict[str, Any]] = {}
        for field in attrs.fields(attrs.resolve_types(Job)):
            if field.type is bool:
                choices[field.name] = {"true": True, "false": False}
            elif get_origin(field.type) is Literal:
                choices[field.name] = {word: word for word in get_args(field.type)}
        return numbers, choices

    def layer(self, number: int) -> Job:
        """Return a job whose layers are all like the one of a number, the first being 0.

        Layers behind the last, which predict further tokens, are like it.
        """
        number = min(number, self.layers - 1)
        whole = bool(self.full_every) and (number + 1) % self.full_every == 0
        return _of_one_sort(self, number < self.dense_layers, whole)

    @property
    def is_uniform(self) -> bool:
        """Whether all layers are alike."""
        return not self.dense_layers and not (self.window and self.full_every)

    @property
    def sorts(self) -> tuple[tuple[Job, int], ...]:
        """Layers that are alike, as jobs of these alone, and how many of each the model has."""
        return counted(self, range(self.layers + self.mtp))

    def total(self, of_layer: Callable[[Job], int]) -> int:
        """Return what all layers have together of what a layer of each sort has."""
        return sum(count * of_layer(sort) for sort, count in self.sorts)

    @property
    def weights(self) -> int:
        """Weights of the model with its adapters; norms, biases and routers left out."""
        return (
            self.total(
                lambda sort: (
                    sort.used_weights
                    + (sort.experts - sort.active) * sort.ffn_weights
                    + sort.adapter_weights
                )
            )
            + self.ends
        )

    @property
    def active_weights(self) -> int:
        """Weights that a token goes through, those of embedding and output layer among them."""
        return self.total(lambda sort: sort.used_weights + sort.adapter_weights) + self.ends

    @property
    def trained(self) -> int:
        """Weights that a step changes: all, or those of adapters."""
        return self.total(lambda sort: sort.adapter_weights) if self.lora else self.weights

    @property
    def model_flops(self) -> float:
        """Floating-point operations of a step's model, nothing recomputed, attention in full.

        Three times those of the forward pass (arXiv 2205.05198, appendix A); of weights that are
        not trained twice, as they have no gradients.
        """
        tokens = self.global_batch * self.sequence
        table = self.hidden * self.vocabulary
        products = 2 * (self.total(lambda sort: sort.used_weights) + self.merging_weights)
        products += 2 * (1 + self.mtp) * table
        trained = sum(
            count * 2 * (sort.adapter_weights + sort.span * (sort.query_width + sort.output_width))
            for sort, count in self.sorts
        )
        return tokens * ((2.0 if self.lora else 3.0) * products + 3.0 * trained)


@lru_cache(1024)
def _of_one_sort(job: Job, dense: bool, whole: bool) -> Job:
    """Return a job whose layers are all dense or not, and see all tokens or not."""
    if job.is_uniform:
        return job
    changes: dict[str, Any] = {"dense_layers": 0, "full_every": 0}
    if whole:
        changes["window"] = 0
    if dense:
        width = job.dense_ffn or job.ffn
        changes |= {"experts": 1, "active": 1, "ep": 1, "shared_ffn": 0, "ffn": width}
    return attrs.evolve(job, **changes)


def counted(job: Job, numbers: range) -> tuple[tuple[Job, int], ...]:
    """Return the layers of these numbers by sort, in the order of the first of each."""
    if job.is_uniform:
        return ((job, len(numbers)),)
    counts: Counter[Job] = Counter()
    decoders = range(numbers.start, min(numbers.stop, job.layers))
    for part in (
        range(decoders.start, min(decoders.stop, job.dense_layers)),
        range(max(decoders.start, job.dense_layers), decoders.stop),
    ):
        period = job.full_every
        whole = part.stop // period - part.start // period if part and period else 0
        first_whole = bool(period) and (part.start + 1) % period == 0
        for is_whole, count in sorted({True: whole, False: len(part) - whole}.items(),
                                      reverse=first_whole):  # fmt: skip
            if count:
                counts[_of_one_sort(job, part.start < job.dense_layers, is_whole)] += count
    if behind := len(numbers) - len(decoders):
        counts[job.layer(job.layers - 1)] += behind
    return tuple(counts.items())
