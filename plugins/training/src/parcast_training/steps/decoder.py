"""A language model (a decoder): its sizes, and the weights of a layer."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from parcast.quantities import Whole

Count = Annotated[int, Whole(1)]
Flag = Annotated[int, Whole(0)]

#: Bytes of a number that kernels compute with.
BYTES = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 2, "fp4": 2}


@attrs.frozen(kw_only=True)
class Decoder:
    """A model of one or several sorts of layers; what is of a layer is of those with experts."""

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
    positions: Flag = 0  #: rows of a table of positions that is learned; 0: there is none
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

    @property
    def used_weights(self) -> int:
        """Of a job of one sort of layers, the weights of a layer that compute with a token."""
        return self.attention_weights + self.active * self.ffn_weights + self.shared_weights

    @property
    def merging_weights(self) -> int:
        """Weights that join hidden states with next tokens, where further ones are predicted."""
        return 2 * self.mtp * self.hidden**2

    @property
    def ends(self) -> int:
        """Weights of embeddings and output layer, and of what joins tokens behind all layers."""
        tables = (1 if self.tied else 2) * self.vocabulary + self.positions
        return tables * self.hidden + self.merging_weights
