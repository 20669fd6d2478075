"""What Megatron-LM, and its fork for DeepSpeed, take where arguments say nothing."""

from __future__ import annotations

from collections.abc import Mapping

#: Arguments of experts that the fork for DeepSpeed alone has.
_OF_DEEPSPEED = {"moe-expert-parallel-size", "moe-loss-coeff", "moe-train-capacity-factor", "topk"}


def completed(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings with what counts by default, and without what counts only beside others.

    Groups of queries count with ``--group-query-attention`` alone, and are one there. A gated
    feed-forward part is narrower, so that it has as many weights. A token goes to two experts; in
    the fork for DeepSpeed to one, and each second layer has experts.
    """
    full = dict(settings)
    if "group-query-attention" in full:
        full.setdefault("num-query-groups", "1")
    else:
        full.pop("num-query-groups", None)
    hidden = full.get("hidden-size", "")
    if "swiglu" in full and hidden.isdecimal():
        full.setdefault("ffn-hidden-size", str(int(4 * int(hidden) * 2 / 3 / 64) * 64))
    if full.get("num-experts", "1") == "1":
        full.pop("moe-expert-parallel-size", None)
    else:
        full |= _of_experts(full)
    return full


def _of_experts(settings: Mapping[str, str]) -> dict[str, str]:
    """Return how many experts a token goes to, and in the fork which layers have some."""
    if not _OF_DEEPSPEED & settings.keys():
        return {"moe-router-topk": settings.get("moe-router-topk", "2")}
    return {
        "moe-router-topk": settings.get("topk", "1"),
        "expert-interval": settings.get("expert-interval", "2"),
    }
