"""What a step of a job holds, computes and sends, from the papers alone: a plain reference.

Weights and activations are those of arXiv 2205.05198 (sections 4.1 to 5) and 2401.10241 (table 1),
optimizer and shards of arXiv 1910.02054, bytes of collectives those of rings. A rank is of the
first stage.
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
        self.kv_width = d.kv_heads * (d.hidden // d.heads)
        self.ffn = 4 * d.hidden
        self.attention_weights = 2 * d.hidden * (d.hidden + self.kv_width)
        self.ffn_weights = (3 if d.gated else 2) * d.hidden * self.ffn
        self.table = d.vocabulary * d.hidden
        self.tokens = d.micro_batch * d.sequence / d.cp
        self.split = d.tp if d.sp else 1
        self.stage_layers = d.layers // d.pp
        self.gradient_width = 4

    def weights(self) -> float:
        """All of the model."""
        d: Any = self
        layer = self.attention_weights + d.experts * self.ffn_weights
        return d.layers * layer + (1 if d.tied else 2) * self.table

    def flops(self) -> float:
        """Of a step, nothing recomputed."""
        d: Any = self
        layer = 2 * (self.attention_weights + d.active * self.ffn_weights)
        scores = 4 * d.sequence * d.hidden
        return 3 * d.global_batch * d.sequence * (d.layers * (layer + scores) + 2 * self.table)

    def states(self, stage: int) -> tuple[float, float, float]:
        """Bytes of weights, gradients and optimizer on a rank of a stage."""
        d: Any = self
        ends = (stage == 0) + (stage == d.pp - 1)
        tables = min(ends, 1) if d.tied else ends
        dense, experts = self.layer_shares()
        ranks = self.dp * d.cp

        def held(width: int, sharded: bool) -> float:
            shared, own = self.stage_layers * dense + tables * self.table / d.tp, experts
            own *= self.stage_layers
            return width * (shared / ranks + own * d.ep / ranks if sharded else shared + own)

        optimizer = 0.0 if d.offload else held(12, d.zero >= 1)
        return held(2, d.zero >= 3), held(4, d.zero >= 2), optimizer

    def layer_shares(self) -> tuple[float, float]:
        """A layer's weights on a rank: of all, and of its experts."""
        d: Any = self
        if d.experts == 1:
            return (self.attention_weights + self.ffn_weights) / d.tp, 0.0
        return self.attention_weights / d.tp, d.experts / d.ep * self.ffn_weights / d.tp

    def activations(self, stage: int, passes: Iterable[Any]) -> float:
        """Most bytes at once, as the passes of a stage come one after another."""
        d: Any = self
        mask = 2 * d.hidden / self.split if d.dropout else 0
        inputs = 8 * d.hidden / self.split + (4 * d.hidden + 4 * self.kv_width) / d.tp
        inputs += 2 * (3 if d.gated else 2) * self.ffn * d.active / d.tp
        inputs += 2 * d.hidden * d.active if d.experts > 1 else 0
        scores = (5 if d.dropout else 2) * d.heads * d.sequence / d.tp
        scores *= d.attention == "unfused"
        whole = inputs + mask + scores
        kept = {"none": whole, "selective": inputs + mask, "full": 2 * d.hidden / self.split}
        late = d.schedule == "zero-bubble"
        held: dict[tuple[int, int], float] = {}
        most = 0.0
        for step in passes:
            key = (step.chunk, step.microbatch)
            if step.kind == "F":
                held[key] = kept[d.recompute]
            elif step.kind == "B" and late:
                held[key] = inputs  # until the gradients of weights
            if (step.kind == "B" and not late) or step.kind == "W":
                del held[key]
            most = max(most, sum(held.values()))
        layers = self.stage_layers // d.interleave * most + whole - kept[d.recompute]
        return self.tokens * (layers + (4 * d.vocabulary / d.tp if stage == d.pp - 1 else 0))

    def sent(self) -> dict[str, float]:
        """Bytes that a rank of the first stage sends in the passes of a step, by what for.

        Of gradients and parameters those of its layers and tables with each microbatch.
        """
        d: Any = self
        m, layers, again = self.microbatches, self.stage_layers, d.recompute == "full"
        row = 2 * self.tokens * d.hidden
        tensor = _part(d.tp) * row * (4 * (2 + again) + 2 * bool(d.sp)) * layers
        tensor += _part(d.tp) * row * 4  # the embedding, forward and backward
        keys = 4 * d.micro_batch * d.sequence * self.kv_width / d.tp
        context = _part(d.cp) * keys * (3 + again) * layers
        dense, experts = self.layer_shares()
        ranks = self.dp * d.cp
        each = layers * (dense * _part(ranks) + experts * _part(ranks // d.ep))
        tables = 2 if d.pp == 1 and not d.tied else 1
        table = tables * self.table / d.tp * _part(ranks)
        return {
            "tensor parallel": m * tensor,
            "context parallel": m * context,
            "gradients": m * 4 * (each + table) if d.zero >= 2 else 0.0,
            "parameters": m * 2 * (2 * each + table) if d.zero == 3 else 0.0,
        }


def _part(ranks: int) -> float:
    return (ranks - 1) / ranks
