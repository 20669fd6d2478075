"""What a step of a job holds, computes and sends, from the papers alone: a plain reference.

Weights and activations are those of arXiv 2205.05198 (sections 4.1 to 5) and 2401.10241 (table 1),
latent attention and shared experts those of arXiv 2405.04434 (section 2 and appendix C), optimizer
and shards of arXiv 1910.02054, bytes of collectives those of rings. A rank is of the first stage.
Layers are gone through one after another, by their numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Counts:
    """Counts of a job's data on p processes, without adapters."""

    def __init__(self, data: Mapping[str, Any], p: int) -> None:
        self.__dict__.update(data)
        d: Any = self
        self.dp = p // (d.tp * d.pp * d.cp)
        self.microbatches = d.global_batch // (d.micro_batch * self.dp)
        d.dim = d.head_dim if "head_dim" in data else d.hidden // d.heads
        d.out_dim = data.get("value_dim", d.dim)
        d.latent = data.get("kv_rank", 0)
        d.qk_dim = d.dim + data.get("rope_dim", 0)
        d.table = d.vocabulary * d.hidden
        d.tokens = d.micro_batch * d.sequence / d.cp
        d.split = d.tp if d.sp else 1
        for name in ("first_layers", "last_layers", "window", "full_every", "dense_layers"):
            setattr(d, name, data.get(name, 0))
        for name in ("q_rank", "rope_dim", "shared_ffn", "mtp", "positions"):
            setattr(d, name, data.get(name, 0))
        d.copies = 2 if d.schedule == "dualpipe" else 1
        d.chunks = d.interleave * d.copies

    def attention_parts(self) -> tuple[float, float]:
        """Weights of a layer's attention: those that are split, and those that are repeated."""
        d: Any = self
        out = d.heads * d.out_dim * d.hidden
        if not d.latent:
            queries, keys = d.heads * d.qk_dim, d.kv_heads * (d.qk_dim + d.out_dim)
            return d.hidden * (queries + keys) + out, 0
        repeated = d.hidden * (d.q_rank + d.latent + d.rope_dim)
        queries = (d.q_rank or d.hidden) * d.heads * d.qk_dim
        return queries + d.latent * d.heads * (d.dim + d.out_dim) + out, repeated

    def ffn(self, layer: int) -> tuple[int, int, int, int]:
        """Of a layer: experts, those of a token, their width, that of the shared one."""
        d: Any = self
        wide = 4 * d.hidden
        if layer < d.dense_layers:
            return 1, 1, self.__dict__.get("dense_ffn", wide), 0
        return d.experts, d.active, wide, d.shared_ffn

    def layers_of(self, stage: int, chunk: int | None = None) -> list[int]:
        """The layers of a stage, or of one of its pieces, further tokens' ones behind the last."""
        d: Any = self
        ends = d.first_layers, d.last_layers
        even = d.pp - sum(1 for n in ends if n)
        each = (d.layers - sum(ends)) // even if even else 0
        sizes = [each // d.interleave] * (d.pp * d.interleave)
        sizes[0], sizes[-1] = ends[0] or sizes[0], ends[1] or sizes[-1]
        sizes[-1] += d.mtp
        numbers = iter(range(d.layers + d.mtp))
        pieces = [[next(numbers) for _ in range(size)] for size in sizes]
        chunks = range(d.chunks) if chunk is None else [chunk]
        if d.copies == 2:  # that of its pipeline from the nearer end, and that of the other
            ends = sorted((stage, d.pp - 1 - stage))
            return [n for c in chunks for n in pieces[ends[c]]]
        return [n for c in chunks for n in pieces[c * d.pp + stage]]

    def has(self, stage: int, piece: int) -> bool:
        """Whether a stage has the first piece (0) or the last one (-1)."""
        d: Any = self
        end = piece % d.pp
        return stage == end or (d.copies == 2 and stage == d.pp - 1 - end)

    def matrix(self, width: int) -> int:
        """Weights of a feed-forward part."""
        d: Any = self
        return int((3 if d.gated else 2) * d.hidden * width)

    def weights(self) -> float:
        """All of the model."""
        d: Any = self
        total = (1 if d.tied else 2) * d.table + d.mtp * 2 * d.hidden**2 + d.positions * d.hidden
        for layer in range(d.layers + d.mtp):
            experts, _, width, shared = self.ffn(layer)
            total += (
                sum(self.attention_parts()) + experts * self.matrix(width) + self.matrix(shared)
            )
        return float(total)

    def seen(self, layer: int) -> float:
        """Twice the mean number of tokens that a token of a sample sees."""
        d: Any = self
        if not d.window or (d.full_every and (min(layer, d.layers - 1) + 1) % d.full_every == 0):
            return float(d.sequence)
        w = min(d.window, d.sequence)
        seen = w * (w / 2) + (d.sequence - w) * w  # half of a square, and full rows
        return 2 * seen / d.sequence

    def flops(self) -> float:
        """Of a step, nothing recomputed."""
        d: Any = self
        each = 2 * (1 + d.mtp) * d.table + d.mtp * 2 * 2 * d.hidden**2
        for layer in range(d.layers + d.mtp):
            _, active, width, shared = self.ffn(layer)
            each += 2 * (
                sum(self.attention_parts()) + active * self.matrix(width) + self.matrix(shared)
            )
            each += 2 * self.seen(layer) * d.heads * (d.qk_dim + d.out_dim)
        return float(3 * d.global_batch * d.sequence * each)

    def states(self, stage: int) -> tuple[float, float, float]:
        """Bytes of weights, gradients and optimizer on a rank of a stage."""
        d: Any = self
        first, last = self.has(stage, 0), self.has(stage, -1)
        tables = 1 if d.tied and (first or last) else first + last
        if d.mtp and last and not first and not d.tied:
            tables += 1  # the embedding of the next token
        dense = tables * d.table / d.tp + last * d.mtp * 2 * d.hidden**2 / d.tp
        dense += first * d.positions * d.hidden  # whole on each rank
        experts = 0.0
        for layer in self.layers_of(stage):
            shares = self.layer_shares(layer)
            dense, experts = dense + shares[0], experts + shares[1]
        ranks = self.dp * d.cp * d.copies

        def held(width: int, sharded: bool) -> float:
            return width * (dense / ranks + experts * d.ep / ranks if sharded else dense + experts)

        optimizer = 0.0 if d.offload else held(12, d.zero >= 1)
        return held(2, d.zero >= 3), held(4, d.zero >= 2), optimizer

    def layer_shares(self, layer: int) -> tuple[float, float]:
        """A layer's weights on a rank: of all, and of its experts."""
        d: Any = self
        split, repeated = self.attention_parts()
        experts, _, width, shared = self.ffn(layer)
        dense = (split + self.matrix(shared)) / d.tp + repeated
        if experts == 1:
            return dense + self.matrix(width) / d.tp, 0.0
        return dense, experts / d.ep * self.matrix(width) / d.tp

    def layer_keeps(self, layer: int) -> tuple[float, float, float]:
        """Bytes a token that a layer keeps: all, what is not recomputed, inputs of products."""
        d: Any = self
        experts, active, width, shared = self.ffn(layer)
        mask = 2 * d.hidden / self.split if d.dropout else 0
        inputs = 8 * d.hidden / self.split + 4 * (d.q_rank + d.latent) / self.split
        inputs += 2 * d.heads * (d.qk_dim + d.out_dim) / d.tp  # queries, and results
        inputs += 2 * d.kv_heads * (d.qk_dim + d.out_dim) / d.tp
        inputs += 2 * (3 if d.gated else 2) * (width * active + shared) / d.tp
        inputs += 2 * d.hidden * active if experts > 1 else 0
        scores = (5 if d.dropout else 2) * d.heads * d.sequence / d.tp
        scores *= d.attention == "unfused"
        whole = inputs + mask + scores
        kept = {"none": whole, "selective": inputs + mask, "full": 2 * d.hidden / self.split}
        return whole, kept[d.recompute], inputs

    def activations(self, stage: int, passes: Iterable[Any]) -> float:
        """Most bytes at once, as the passes of a stage come one after another."""
        d: Any = self
        pieces = [[*map(self.layer_keeps, self.layers_of(stage, c))] for c in range(d.chunks)]
        held: dict[tuple[int, int], float] = {}
        most = 0.0
        for step in (part for run in passes for part in run.parts):
            key = (step.chunk, step.microbatch)
            if step.kind == "F":
                held[key] = sum(kept for _, kept, _ in pieces[step.chunk])
            elif step.kind == "I":
                held[key] = sum(
                    inputs for *_, inputs in pieces[step.chunk]
                )  # until the gradients of weights
            else:
                del held[key]
            most = max(most, sum(held.values()))
        most += max(whole - kept for piece in pieces for whole, kept, _ in piece)
        logits = 4 * (1 + d.mtp) * d.vocabulary / d.tp if self.has(stage, -1) else 0
        return float(d.tokens * (most + logits))

    def sent(self) -> dict[str, float]:
        """Bytes that a rank of the first stage sends in the passes of a step, by what for.

        Of gradients and parameters those of its layers and tables with each microbatch.
        """
        d: Any = self
        m, again = self.microbatches // d.copies, d.recompute == "full"
        row = 2 * d.tokens
        into = (d.q_rank or d.hidden) + d.latent + d.rope_dim if d.latent else d.hidden
        keys = 2 * d.micro_batch * d.sequence * d.kv_heads * (d.qk_dim + d.out_dim) / d.tp
        ranks = self.dp * d.cp
        tensor = context = each = 0.0
        for layer in self.layers_of(0):
            part, out = _part(d.tp) * row, d.hidden
            if d.sp:  # gathered before products, scattered after
                tensor += part * ((into + 3 * out) * (1 + again) + 2 * into + out + 3 * out)
            else:
                tensor += part * (2 * (2 * out) * (1 + again) + 2 * (into + out))
            context += _part(d.cp) * keys * (3 + again)
            dense, experts = self.layer_shares(layer)
            each += dense * _part(ranks) + experts * _part(ranks // d.ep)
        tensor += _part(d.tp) * row * d.hidden * 4  # the embedding, forward and backward
        tables = 2 if d.pp == 1 and not d.tied else 1
        table = (tables * d.table / d.tp + d.positions * d.hidden) * _part(ranks)
        if d.pp == 1:
            table += d.mtp * 2 * d.hidden**2 / d.tp * _part(ranks)
        return {
            "tensor parallel": m * tensor,
            "context parallel": m * context,
            "gradients": m * 4 * (each + table) if d.zero >= 2 else 0.0,
            "parameters": m * 2 * (2 * each + table) if d.zero == 3 else 0.0,
        }


def _part(ranks: int) -> float:
    return (ranks - 1) / ranks
