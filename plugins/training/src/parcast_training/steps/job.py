"""The kind ``training``: a language model, its batch, and how it is laid out over accelerators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args, get_origin

import attrs

from parcast.errors import InvalidPointError, UnknownNameError, did_you_mean
from parcast.files import structure
from parcast.model import Query, Workload
from parcast.quantities import Whole

Recompute = Literal["none", "selective", "full"]
Schedule = Literal["1f1b", "interleaved", "zero-bubble"]
Count = Annotated[int, Whole(1)]
Flag = Annotated[int, Whole(0)]

#: Bytes of a number that kernels compute with.
BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 2, "fp4": 2}

#: Numbers of a job that may be 0.
_MAY_BE_NONE = {
    "sp", "zero", "offload", "checkpoint_every", "lora", "q_rank", "kv_rank", "rope_dim",
    "shared_ffn", "dense_layers", "window", "full_every", "mtp", "first_layers", "last_layers",
}  # fmt: skip


@attrs.frozen(kw_only=True)
class Job:
    """A step of training a language model (a decoder) on p accelerators."""

    layers: Count  #: transformer layers
    hidden: Count  #: width of a token
    heads: Count  #: of attention
    kv_heads: Count | None = None  #: of keys and values; as many as ``heads`` where not stated
    head_dim: Count | None = None  #: hidden / heads where not stated
    value_dim: Count | None = None  #: of a head's values; as ``head_dim`` where not stated
    q_rank: Flag = 0  #: width that queries are compressed to; 0: they are not
    kv_rank: Flag = 0  #: keys and values are compressed to it (multi-head latent attention); 0: not
    rope_dim: Flag = 0  #: of latent attention: a head's part with positions, beside ``head_dim``
    window: Flag = 0  #: tokens that a token sees, itself among them; 0: all before it
    full_every: Flag = 0  #: each so many-th layer sees all; 0: none does
    ffn: Count | None = None  #: width within the feed-forward part; 4 hidden where not stated
    gated: bool = False  #: two matrices up (SwiGLU), not one
    vocabulary: Count = 51200  #: rows of the embedding, as padded
    tied: bool = True  #: the embedding's weights are those of the output layer
    experts: Count = 1  #: feed-forward parts of a layer
    active: Count = 1  #: experts that a token goes to
    shared_ffn: Flag = 0  #: width of the expert that all tokens go to; 0: there is none
    dense_layers: Flag = 0  #: first layers, which have no experts
    dense_ffn: Count | None = None  #: their feed-forward width; as ``ffn`` where not stated
    mtp: Flag = 0  #: layers behind the last that predict further tokens, each with the output layer
    lora: Flag = 0  #: rank of adapters, which alone are trained; 0: all weights are
    #: what has adapters: the matrices of attention, or those of the feed-forward part too
    lora_on: Literal["attention", "all"] = "attention"
    sequence: Count  #: tokens of a sample
    #: of matrix products; norms and activations are in 16 bits
    precision: Literal["bf16", "fp16", "fp8", "fp4", "tf32", "fp32"] = "bf16"
    #: flash: scores stay within a kernel, masked ones are skipped; unfused: they go by memory
    attention: Literal["flash", "unfused"] = "flash"
    dropout: bool = False  #: after the scores and both parts of a layer
    gradients: Literal["fp32", "16-bit"] = "fp32"  #: as they are added up and reduced
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
    left_out: tuple[str, ...] = ()  #: what its configuration states and a step has not
    assumed: tuple[str, ...] = ()  #: keys that its configuration leaves open, and a step needs

    def uses(self, query: Query) -> dict[str, bool]:  # noqa: ARG002  (as kinds have it)
        """Return what a step needs of a machine."""
        return {"messages": True}

    def work(self, query: Query) -> dict[str, float]:
        """Return the samples of a step, so that layouts of one batch are ranked together."""
        return {"samples": float(job_at(query).global_batch)}

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

    @property
    def plain_dim(self) -> int:
        """Width of a head's queries and keys, without latent attention's part with positions."""
        return self.head_dim or max(1, self.hidden // self.heads)

    @property
    def query_width(self) -> int:
        """Width of all heads' queries."""
        return self.heads * (self.plain_dim + self.rope_dim)

    @property
    def key_width(self) -> int:
        """Width of all keys, as scores need them."""
        return (self.kv_heads or self.heads) * (self.plain_dim + self.rope_dim)

    @property
    def value_width(self) -> int:
        """Width of all values."""
        return (self.kv_heads or self.heads) * (self.value_dim or self.plain_dim)

    @property
    def output_width(self) -> int:
        """Width of all heads' results."""
        return self.heads * (self.value_dim or self.plain_dim)

    @property
    def expanded_width(self) -> int:
        """Width of what latent attention expands to keys and values: all but keys' positions."""
        return self.heads * self.plain_dim + self.output_width

    @property
    def span(self) -> float:
        """Tokens that a token sees, twice their mean over a sample; without a window all."""
        seen = min(self.window or self.sequence, self.sequence)
        return 2 * seen - seen * seen / self.sequence

    @property
    def ffn_width(self) -> int:
        """Width within a feed-forward part."""
        return self.ffn or 4 * self.hidden

    @property
    def ups(self) -> int:
        """Matrices up in a feed-forward part."""
        return 2 if self.gated else 1

    @property
    def attention_weights(self) -> int:
        """Weights of a layer's attention, norms and biases left out."""
        if not self.kv_rank:
            widths = self.query_width + self.key_width + self.value_width + self.output_width
            return self.hidden * widths
        queries = (self.q_rank or self.hidden) * self.query_width
        expansion = self.kv_rank * self.expanded_width
        return self.latent_weights + queries + expansion + self.hidden * self.output_width

    @property
    def latent_weights(self) -> int:
        """Of these, the compressions of latent attention, which a tensor-parallel group repeats."""
        return self.hidden * (self.q_rank + self.kv_rank + self.rope_dim) if self.kv_rank else 0

    @property
    def shared_weights(self) -> int:
        """Weights of the expert that all tokens go to."""
        return (self.ups + 1) * self.hidden * self.shared_ffn

    @property
    def ffn_weights(self) -> int:
        """Weights of one feed-forward part."""
        return (self.ups + 1) * self.hidden * self.ffn_width

    @property
    def adapted(self) -> tuple[tuple[int, int], ...]:
        """Widths into and out of the matrices of a layer that have adapters."""
        if not self.lora:
            return ()
        projections = self.query_width + self.key_width + self.value_width
        attention = ((self.hidden, projections), (self.output_width, self.hidden))
        if self.lora_on == "attention":
            return attention
        ffn = self.ffn_width
        return (*attention, (self.hidden, self.ups * ffn), (ffn, self.hidden))

    @property
    def adapter_weights(self) -> int:
        """Weights of a layer's adapters: two matrices beside each that has them."""
        return sum(self.lora * (before + after) for before, after in self.adapted)

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
    def merging_weights(self) -> int:
        """Weights that join hidden states with next tokens, where further ones are predicted."""
        return 2 * self.mtp * self.hidden**2

    @property
    def ends(self) -> int:
        """Weights of embedding and output layer, and of what joins tokens behind the last layer."""
        return (1 if self.tied else 2) * self.vocabulary * self.hidden + self.merging_weights

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
    def used_weights(self) -> int:
        """Of a job of one sort of layers, the weights of a layer that compute with a token."""
        return self.attention_weights + self.active * self.ffn_weights + self.shared_weights

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


def job_at(query: Query) -> Job:
    """Return the job with what is set.

    Raises
    ------
    InvalidPointError
        If a value is no whole number, or too small.
    """
    job: Job = query.workload.content
    fields = attrs.fields_dict(attrs.resolve_types(Job))
    changed: dict[str, Any] = {}
    for name, value in query.parameters.items():
        if name not in fields:
            continue
        least = 0 if name in _MAY_BE_NONE else 1
        if value != int(value) or value < least:
            raise InvalidPointError(
                f"workload {query.workload.name!r}, {name}={value:g}: must be a whole number, "
                f"{least} or more"
            )
        changed[name] = int(value)
    return attrs.evolve(job, **changed) if changed else job


def fixed_values(workload: Workload, settings: Mapping[str, str]) -> tuple[Job, dict[str, Any]]:
    """Return the job with what is set, and what is set by name.

    Raises
    ------
    UnknownNameError
        If a job has no such key.
    FileError
        If a value is not of its kind.
    """
    job: Job = workload.content
    names = list(attrs.fields_dict(Job))
    values: dict[str, Any] = {}
    for name, text in settings.items():
        if name not in names:
            hint = did_you_mean(name, names) or f" Known: {', '.join(names)}."
            raise UnknownNameError(f"a training job has no {name!r}.{hint}")
        spelt: Any = {"true": True, "false": False}.get(text, text)
        values[name] = int(text) if text.removeprefix("-").isdecimal() else spelt
    stated = {name: value for name, value in attrs.asdict(job).items() if value is not None}
    changed = structure({**stated, **values}, Job, "--set", "")
    return changed, values
