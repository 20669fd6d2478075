"""Layers that differ: counts are the published ones, and files say them back and forth."""

from __future__ import annotations

import json

import attrs
import pytest

from parcast import InvalidPointError, Query, Registry
from parcast.files import workload_from_data
from parcast.testing import seeds
from parcast_training.steps.asking import accelerator_of, hops_of
from parcast_training.steps.files import KIND
from parcast_training.steps.layout import layout_of, uneven
from parcast_training.steps.megatron import arguments, read_arguments
from parcast_training.steps.memory import total_weights, trained_weights
from parcast_training.steps.nearest import layout_or_nearest
from parcast_training.steps.plan import planned
from parcast_training.steps.sorts import stage_sorts

from .random_jobs import PUTS_OFF, random_query

DEEPSEEK = {
    "hidden_act": "silu", "tie_word_embeddings": False, "moe_layer_freq": 1, "kv_lora_rank": 512,
    "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "ep_size": 1,
    "aux_loss_alpha": 0.001, "scoring_func": "sigmoid", "max_position_embeddings": 163840,
}  # fmt: skip


def deepseek(kind, vocabulary, hidden, ffn, width, layers, heads, experts, **more):
    """Return a configuration as its paper has it, table 2 of arXiv 2412.19437 or its like."""
    return {
        **DEEPSEEK, "model_type": kind, "vocab_size": vocabulary, "hidden_size": hidden,
        "intermediate_size": ffn, "moe_intermediate_size": width, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": heads, "n_routed_experts": experts,
        "architectures": [f"DeepseekV{kind[-1]}ForCausalLM"], **more,
    }  # fmt: skip


V3 = deepseek(
    "deepseek_v3", 129280, 7168, 18432, 2048, 61, 128, 256, n_shared_experts=1, q_lora_rank=1536,
    n_group=8, topk_group=4, num_experts_per_tok=8, first_k_dense_replace=3,
)  # fmt: skip
V2 = deepseek(
    "deepseek_v2", 102400, 5120, 12288, 1536, 60, 128, 160, n_shared_experts=2, q_lora_rank=1536,
    num_experts_per_tok=6, first_k_dense_replace=1,
)  # fmt: skip
V2_LITE = deepseek(
    "deepseek_v2", 102400, 2048, 10944, 1408, 27, 16, 64, n_shared_experts=2, q_lora_rank=None,
    num_experts_per_tok=6, first_k_dense_replace=1,
)  # fmt: skip
KIMI = deepseek(
    "kimi_k2", 163840, 7168, 18432, 2048, 61, 64, 384, n_shared_experts=1, q_lora_rank=1536,
    num_experts_per_tok=8, first_k_dense_replace=1, architectures=["DeepseekV3ForCausalLM"],
)  # fmt: skip
QWEN2 = {
    "architectures": ["Qwen2MoeForCausalLM"], "model_type": "qwen2_moe", "hidden_act": "silu",
    "vocab_size": 151936, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480, "num_experts": 64,
    "num_attention_heads": 28, "num_key_value_heads": 4, "num_experts_per_tok": 8,
    "decoder_sparse_step": 1, "max_position_embeddings": 32768, "sliding_window": 65536,
    "use_sliding_window": False,
}  # fmt: skip
MIXTRAL = {
    "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "hidden_act": "silu",
    "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_local_experts": 8,
    "num_experts_per_tok": 2, "max_position_embeddings": 32768, "sliding_window": None,
}  # fmt: skip


def read(folder, config):
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return Registry().workload(path).content


@pytest.mark.parametrize(
    ("config", "total", "active"),
    [  # billions, as published; active ones with embedding and output layer, or without
        (V3, 671.0, (36.5, 37.5)),
        (V2, 236.0, (20.5, 21.5)),
        (V2_LITE, 15.7, (2.35, 2.7)),
        (KIMI, 1026.0, (31.5, 33.0)),
        (QWEN2, 57.41, (13.5, 14.5)),
        (MIXTRAL, 46.7, (12.85, 12.95)),
    ],
)
def test_weights_are_the_published_ones(tmp_path, config, total, active):
    job = read(tmp_path, config)
    assert job.weights / 1e9 == pytest.approx(total, rel=0.002)
    assert active[0] < job.active_weights / 1e9 < active[1]
    # six operations a weight that a token goes through, and the scores (arXiv 2205.05198)
    sequence = 4096
    each = attrs.evolve(job, sequence=sequence)
    table = job.vocabulary * job.hidden
    scores = 6 * job.layers * sequence * (job.query_width + job.output_width)
    expected = 6 * (job.active_weights - table) + scores
    assert each.model_flops / sequence == pytest.approx(expected)


def test_a_layer_for_further_tokens_has_what_the_model_card_says(tmp_path):
    plain = read(tmp_path, V3)
    further = read(tmp_path, {**V3, "num_nextn_predict_layers": 1})
    assert (further.weights - plain.weights) / 1e9 == pytest.approx(11.5, rel=0.02)
    assert further.left_out == ("n_group = 8", "topk_group = 4")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, (4096, 0)),
        ({"model_type": "gemma2", "sliding_window": 4096}, (4096, 2)),
        ({"sliding_window": 512, "sliding_window_pattern": 6}, (512, 6)),
        ({"sliding_window": 512, "sliding_window_pattern": "LLLG"}, (512, 4)),
        ({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 14},
         (128, 2)),
        ({"sliding_window": 32768}, (0, 0)),
    ],
)  # fmt: skip
def test_windows_are_those_of_the_model(tmp_path, changes, expected):
    dense = {key: value for key, value in QWEN2.items() if "expert" not in key and "moe" not in key}
    del dense["use_sliding_window"]
    job = read(tmp_path, {**dense, **changes})
    assert (job.window, job.full_every) == expected


def test_a_token_of_a_window_sees_what_is_counted_one_by_one():
    for sequence, window in ((16, 4), (16, 16), (16, 40), (100, 1)):
        job = workload_from_data(
            {"kind": "training", "name": "w", "layers": 1, "hidden": 8, "heads": 1,
             "sequence": sequence, "global_batch": 1, "window": window},
            "job", {"training": KIND},
        ).content  # fmt: skip
        seen = sum(min(at + 1, window) for at in range(sequence))
        itself = min(window, sequence) / 2  # its own score counts half where rows still grow
        assert job.span * sequence / 2 == pytest.approx(seen - itself)


@pytest.mark.parametrize("seed", seeds(20))
def test_layers_of_megatron_are_read_back(tmp_path, seed):
    job = attrs.evolve(random_query(Registry(), seed).workload.content, lora=0)
    if job.schedule in PUTS_OFF or (job.value_dim and not job.kv_rank):
        job = attrs.evolve(job, schedule="1f1b", value_dim=None)
    if job.kv_rank == 0:
        job = attrs.evolve(job, head_dim=None)
    job = attrs.evolve(job, lora_on="attention", checkpoint_every=0, dp=None)
    path = tmp_path / "job.sh"
    path.write_text("torchrun pretrain_gpt.py \\\n  " + " \\\n  ".join(arguments(job)) + "\n")
    again = read_arguments(path).content
    names = (
        "layers", "hidden", "heads", "q_rank", "kv_rank", "rope_dim", "window", "experts", "active",
        "shared_ffn", "dense_layers", "mtp", "first_layers", "last_layers", "query_width",
        "key_width", "value_width", "output_width", "weights", "active_weights", "model_flops",
    )  # fmt: skip
    for name in names:
        assert getattr(again, name) == getattr(job, name), name
    assert again.full_every == (job.full_every if job.window else 0)


@pytest.mark.parametrize(
    ("layers", "pp", "ends"),
    [(61, 16, (3, 2)), (61, 8, (7, 6)), (10, 3, (3, 3)), (7, 2, None), (9, 8, None)],
)
def test_uneven_stages_share_what_others_leave(layers, pp, ends):
    assert uneven(layers, pp) == ends


def test_layers_that_no_stages_divide_name_those_of_first_and_last(tmp_path):
    job = attrs.evolve(read(tmp_path, V3), pp=16, sequence=4096, global_batch=256)
    with pytest.raises(InvalidPointError, match="nearest: first_layers = 3 and last_layers = 2"):
        layout_or_nearest(job, 256, 8)
    fits = attrs.evolve(job, first_layers=3, last_layers=2)
    layout = layout_or_nearest(fits, 256, 8)
    numbers = [number for stage in range(16) for number in layout.numbers(stage, 0)]
    assert numbers == list(range(61))
    shares = [
        sum(total_weights(stage_sorts(fits, layout, stage), layout, trained_weights))
        for stage in range(16)
    ]
    assert sum(shares) == fits.weights - fits.ends


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q_rank": 64}, "q_rank = 64 needs kv_rank"),
        ({"full_every": 2}, "full_every = 2 needs window"),
        ({"shared_ffn": 64}, "shared_ffn = 64 needs experts = 2 or more"),
        ({"experts": 4, "dense_layers": 4}, "dense_layers = 4 of layers = 4 leave none with"),
        ({"kv_rank": 64, "lora": 8}, "adapters beside latent attention"),
        ({"kv_rank": 64, "kv_heads": 2}, "has keys for each head; state kv_heads = 8"),
        ({"heads": 3}, "hidden = 64 is not divisible by heads = 3; state head_dim"),
        ({"layers": 10**12}, "are more than 100000"),
        ({"first_layers": 1}, "first_layers = 1 needs pp of 2 or more"),
        ({"first_layers": 4, "pp": 2}, "leave 0 for 1 others"),
        ({"first_layers": 1, "last_layers": 2, "pp": 2}, "leave 1 for 0 others"),
    ],
)
def test_layers_that_cannot_be_are_refused(changes, sentence):
    data = {"kind": "training", "name": "x", "layers": 4, "hidden": 64, "heads": 8,
            "sequence": 64, "global_batch": 8, **changes}  # fmt: skip
    job = workload_from_data(data, "job", {"training": KIND}).content
    with pytest.raises(InvalidPointError, match=sentence):
        layout_of(job, 2)


def test_a_plan_has_uneven_stages_and_the_fastest_of_all(tmp_path):
    registry = Registry()
    small = {**V2_LITE, "hidden_size": 256, "num_hidden_layers": 7, "vocab_size": 1024}
    job = attrs.evolve(read(tmp_path, small), sequence=256, global_batch=16)
    workload = attrs.evolve(registry.workload(tmp_path / "config.json"), content=job, parameters={})
    query = Query(workload=workload, machine=registry.machine("h100-ndr"), p=8)
    plan = planned(job, 8, accelerator_of(query), hops_of(query), count=3)
    staged = [choice for choice in plan.fitting if choice.layout.pp == 4]
    assert {choice.job.first_layers for choice in staged} == {2}
    seconds = sorted(choice.step.seconds for choice in plan.fitting)
    assert [choice.step.seconds for choice in plan.best] == seconds[:3]


def test_a_plan_keeps_the_stages_that_a_job_states_and_makes_others_even(tmp_path):
    registry = Registry()
    data = {"kind": "training", "name": "own", "layers": 8, "hidden": 512, "heads": 8,
            "sequence": 128, "global_batch": 8, "pp": 2, "first_layers": 3}  # fmt: skip
    job = workload_from_data(data, "job", {"training": KIND}).content
    workload = attrs.evolve(registry.workload("gpt-22b"), content=job, parameters={})
    query = Query(workload=workload, machine=registry.machine("a100-hdr"), p=8)
    plan = planned(job, 8, accelerator_of(query), hops_of(query), count=1)
    ends = {(c.layout.pp, c.layout.chunks == 1, c.job.first_layers) for c in plan.fitting}
    assert {(1, True, 0), (2, True, 3), (2, False, 0), (4, True, 0), (8, True, 0)} <= ends
    assert all(first in {0, 3} for _, _, first in ends)
