"""Configurations of other programs are read as jobs, or refused with a sentence."""

from __future__ import annotations

import json
import random

import attrs
import pytest

from parcast import InvalidPointError, Registry
from parcast.cli import main
from parcast.errors import FileError
from parcast.files import workload_from_data
from parcast.testing import seeds
from parcast_training.steps.files import KIND
from parcast_training.steps.megatron import arguments
from parcast_training.steps.nearest import layout_or_nearest

from .random_jobs import PUTS_OFF, random_job

TITAN = """
[model]
name = "llama3"
flavor = "8B"
converters = ["float8"]
[training]
local_batch_size = 3
seq_len = 8192
[parallelism]
data_parallel_replicate_degree = 2
data_parallel_shard_degree = 8
tensor_parallel_degree = 4
[activation_checkpoint]
mode = "selective"
"""

NEMO = """
trainer:
  precision: bf16
model:
  micro_batch_size: 2
  global_batch_size: 32
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  virtual_pipeline_model_parallel_size: null
  encoder_seq_length: 4096
  max_position_embeddings: ${.encoder_seq_length}
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 11008
  num_attention_heads: 32
  num_query_groups: 8
  kv_channels: null
  hidden_dropout: 0.0
  attention_dropout: 0.1
  activation: fast-swiglu
  share_embeddings_and_output_weights: False
  sequence_parallel: True
  activations_checkpoint_granularity: selective
  fp8: False
  tokenizer:
    library: sentencepiece
  optim:
    name: distributed_fused_adam
"""

SCRIPT = """#!/bin/bash
NUM_LAYERS=${LAYERS:-24}
export HIDDEN="2048"   # wide
if [ $1 = large ]; then BATCH=512; fi
MODEL_ARGS=(
    --num-layers $NUM_LAYERS
    --hidden-size ${HIDDEN}
    --num-attention-heads ${HEADS:-16}
    --seq-length 2048
    "--vocab-size 128256"
    --grad-reduce-in-bf16
)
torchrun pretrain_gpt.py ${MODEL_ARGS[@]} --global-batch-size 64 --zero-stage=3
"""


def read(folder, name, text):
    path = folder / name
    path.write_text(text)
    return Registry().workload(path).content


def test_a_configuration_of_torchtitan_is_read(tmp_path):
    job = read(tmp_path, "llama.toml", TITAN)
    assert job.weights == 8_030_261_248 - (2 * 32 + 1) * 4096  # as its config.json has it
    assert (job.global_batch, job.micro_batch, job.tp, job.sp, job.zero) == (48, 3, 4, 1, 3)
    assert (job.precision, job.recompute, job.sequence) == ("fp8", "selective", 8192)
    assert job.left_out == ("parallelism.data_parallel_replicate_degree = 2",)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"llama3"', '"deepseek_v3"', "model deepseek_v3 of flavor 8B has its numbers in"),
        ("tensor_parallel_degree = 4", "tensor_parallel_degree = 0", "write a whole number"),
        (
            "tensor_parallel_degree = 4",
            'pipeline_parallel_degree = 2\npipeline_parallel_schedule = "ZBVZeroBubble"',
            "1F1B and Interleaved1F1B are read",
        ),
        ("local_batch_size = 3", 'local_batch_size = "x"', "local_batch_size = 'x': write a whole"),
        ("seq_len = 8192", "seq_len = -1", "sequence: -1 must be 1 or more"),
        ('"selective"', '"memory_budget"', "activation_checkpoint.mode = 'memory_budget'"),
    ],
)
def test_what_a_configuration_of_torchtitan_leaves_open_is_refused(tmp_path, old, new, sentence):
    with pytest.raises(FileError, match=sentence):
        read(tmp_path, "llama.toml", TITAN.replace(old, new))


def test_tables_of_torchtitan_of_2024_have_degrees_elsewhere(tmp_path):
    old = """
[model]
name = "llama3"
flavor = "70B"
[training]
batch_size = 8
seq_len = 8192
data_parallel_shard_degree = 4
tensor_parallel_degree = 8
[experimental]
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_microbatches = 4
[float8]
enable_float8_linear = true
"""
    job = read(tmp_path, "old.toml", old)
    assert (job.tp, job.pp, job.schedule, job.interleave) == (8, 2, "interleaved", 2)
    assert (job.global_batch, job.micro_batch, job.precision) == (32, 2, "fp8")


def test_an_open_degree_is_one_and_a_layout_of_more_names_the_batch(tmp_path):
    job = read(tmp_path, "llama.toml", TITAN.replace("shard_degree = 8", "shard_degree = -1"))
    assert job.global_batch == 3 * 2
    with pytest.raises(InvalidPointError, match="nearest: global_batch = 48"):
        layout_or_nearest(job, 64)


def test_a_configuration_of_nemo_is_read(tmp_path):
    job = read(tmp_path, "llama.yaml", NEMO)
    assert (job.layers, job.hidden, job.heads, job.kv_heads, job.ffn) == (32, 4096, 32, 8, 11008)
    assert (job.global_batch, job.micro_batch, job.tp, job.sp, job.pp) == (32, 2, 4, 1, 2)
    assert (job.sequence, job.precision, job.recompute, job.zero) == (4096, "bf16", "selective", 1)
    assert (job.gated, job.tied, job.dropout, job.head_dim) == (True, False, True, None)
    assert (job.overlap_gradients, job.overlap_parameters, job.gradients) == (True, False, "fp32")
    assert job.assumed == ("vocabulary",)
    assert (
        read(tmp_path, "slow.yaml", NEMO.replace("precision: bf16", "precision: 32")).precision
        == "fp32"
    )


def test_what_nemo_names_otherwise_is_read(tmp_path):
    text = NEMO.replace("11008", "${multiply:4, ${.hidden_size}}").replace(
        "name: distributed_fused_adam",
        "name: mcore_distributed_optim\n    overlap_param_sync: true\n    grad_sync_dtype: bf16",
    )
    job = read(tmp_path, "llama.yaml", text)
    assert (job.ffn, job.zero, job.gradients) == (4 * 4096, 1, "16-bit")
    assert (job.overlap_gradients, job.overlap_parameters) == (False, True)
    wide = NEMO.replace("fp8: False", "fp8: False\n  override_vocab_size: 65024\n  fsdp: True")
    job = read(tmp_path, "wide.yaml", wide)
    assert (job.vocabulary, job.zero, job.assumed) == (65024, 3, ())


def test_what_a_configuration_states_beyond_a_step_is_named_in_the_row(tmp_path, capsys):
    text = NEMO.replace("fp8: False", "fp8: False\n  ub_tp_comm_overlap: true")
    path = tmp_path / "llama.yaml"
    path.write_text(text.replace("granularity: selective", "granularity: selective\n"
                                 "  activations_checkpoint_num_layers: 2"))  # fmt: skip
    registry = Registry()
    (row,) = registry.compare(path, "a100-hdr", p=8, solvers="training.step").rows
    notes = " ".join(row.notes)
    assert "not modelled: ub-tp-comm-overlap" in notes  # and no number of layers without "full"
    assert "vocabulary = 51200 is assumed" in notes
    (row,) = registry.compare(
        path, "a100-hdr", p=8, solvers="training.step", settings={"vocabulary": 32000}
    ).rows
    assert "is assumed" not in " ".join(row.notes)
    plan = ["training", "plan", str(path), "a100-hdr", "--gpus", "64", "--best", "1"]
    assert main([*plan, "--set", "tp=8", "--set", "pp=1"]) == 0
    assert "not modelled: ub-tp-comm-overlap" in " ".join(capsys.readouterr().out.split())


def test_a_job_from_python_is_set_as_that_of_a_file_is():
    job = {"kind": "training", "layers": 4, "hidden": 64, "heads": 4, "sequence": 128,
           "global_batch": 8}  # fmt: skip
    settings = {"tp": 2, "pp": 2, "schedule": "zero-bubble"}
    asked = {"p": 8, "solvers": "training.step"}
    (row,) = Registry().compare(job, "a100-hdr", settings=settings, **asked).rows
    (stated,) = Registry().compare({**job, **settings}, "a100-hdr", **asked).rows
    assert row.time == stated.time is not None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("  fp8:", "  bert_binary_head: False\n  fp8:", "a step is of a decoder"),
        ("  num_layers: 32", "  encoder_arch: transformer", "model.encoder_arch: a step is of a"),
        ("  fp8:", "  activations_checkpoint_recurrent: False\n  fp8:", "a step is of a decoder"),
        ("  num_layers: 32\n", "", "no --num-layers, which a training step needs"),
        ("num_layers: 32", "num_layers: ???", r"--num-layers \?\?\? is no whole number"),
        ("model:", "model: [", "not valid YAML"),
    ],
)
def test_what_is_no_decoder_of_nemo_is_refused(tmp_path, old, new, sentence):
    with pytest.raises(FileError, match=sentence):
        read(tmp_path, "llama.yaml", NEMO.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("pretrain_gpt.py", "tools/pretrain_bert.py", "pretrain_bert.py trains no decoder"),
        ("pretrain_gpt.py", "pretrain_qwen2_vl.py", "pretrain_qwen2_vl.py trains no decoder"),
        ("--grad-reduce", "--window-size $WINDOW --grad-reduce", "for its shell to work out"),
        ("--grad-reduce", "--moe-layer-freq 2 --grad-reduce", "layers between others have no"),
        ("--grad-reduce", "--window-attn-skip-freq [1,0] --window-size 64,0 -", "have no window"),
        ("--grad-reduce", "--retro-project-dir x --grad-reduce", "neighbors of its text"),
        ("--grad-reduce", "--spec own.layers get --grad-reduce", "what a program says"),
        ("--grad-reduce", "--moe-layer-freq $FREQ --grad-reduce", "for its shell to work out"),
    ],
)
def test_scripts_of_other_models_are_refused(tmp_path, old, new, sentence):
    with pytest.raises(FileError, match=sentence):
        read(tmp_path, "pretrain.sh", SCRIPT.replace(old, new))


@pytest.mark.parametrize(
    ("words", "precision"),
    [
        ("", "fp32"),
        ("--bf16", "bf16"),
        ("--fp16", "fp16"),
        ("--fp8-format hybrid --bf16", "fp8"),
        ("--bf16 --fp8-format hybrid", "fp8"),
        ("--bf16 --fp4-format e2m1", "fp4"),
    ],
)
def test_products_are_in_32_bits_unless_a_script_says_otherwise(tmp_path, words, precision):
    script = SCRIPT.replace("--grad-reduce", f"{words} --grad-reduce")
    assert read(tmp_path, "pretrain.sh", script).precision == precision


def test_flags_and_numbers_that_are_not_modelled_are_named(tmp_path):
    words = "--grad-reduce-in-bf16 --exp-avg-dtype bf16 --recompute-num-layers 3 --tp-comm-overlap"
    script = SCRIPT.replace("--grad-reduce-in-bf16", words).replace(")\ntorchrun", "fi )\ntorchrun")
    assert read(tmp_path, "a.sh", script).left_out == ("tp-comm-overlap", "exp-avg-dtype = bf16")
    full = script.replace("--tp-comm", "--recompute-granularity full --tp-comm")
    assert "recompute-num-layers = 3" in read(tmp_path, "b.sh", full).left_out


def test_gradients_of_fp16_are_added_up_in_16_bits_unless_a_script_says_otherwise(tmp_path):
    script = SCRIPT.replace("--grad-reduce-in-bf16", "--fp16 --moe-layer-freq \"'([1]*24)'\"")
    assert read(tmp_path, "pretrain.sh", script).gradients == "16-bit"
    wide = script.replace("--fp16", "--fp16 --accumulate-allreduce-grads-in-fp32")
    assert read(tmp_path, "wide.sh", wide).gradients == "fp32"


@pytest.mark.parametrize("seed", seeds(6))
def test_a_job_comes_back_from_its_arguments_of_megatron(tmp_path, seed):
    draw = random.Random(seed)
    data, _ = random_job(draw)
    changes = {"schedule": "1f1b"} if data["schedule"] in PUTS_OFF else {}
    data = {**data, **changes, "lora": 0, "gradients": draw.choice(["fp32", "16-bit"])}
    job = workload_from_data(data, "job", {"training": KIND}).content
    script = tmp_path / "job.sh"
    script.write_text(" ".join(arguments(job)))
    again = Registry().workload(script).content
    unsaid = {  # by Megatron-LM or by what it does by itself
        "name", "dp", "ffn", "checkpoint_every", "overlap_tensor", "lora_on", "left_out", "assumed",
        *(("overlap_parameters",) if job.zero == 0 else ()),
        *(("active",) if job.experts == 1 else ()),
        *(() if job.dense_layers else ("dense_ffn",)),
    }  # fmt: skip

    def said(content):
        return {key: v for key, v in attrs.asdict(content).items() if key not in unsaid}

    assert said(again) == {**said(job), "kv_heads": None if job.kv_heads == 8 else job.kv_heads}
    assert again.ffn_width == job.ffn_width


def test_experts_have_a_width_of_their_own(tmp_path):
    wide = "--num-experts 8 --moe-ffn-hidden-size 768 --ffn-hidden-size 6144 --grad-reduce"
    assert read(tmp_path, "pretrain.sh", SCRIPT.replace("--grad-reduce", wide)).ffn == 768


def test_variables_of_a_script_count_as_what_it_assigns(tmp_path):
    job = read(tmp_path, "pretrain.sh", SCRIPT)
    assert (job.layers, job.hidden, job.heads, job.vocabulary) == (24, 2048, 16, 128256)
    assert (job.zero, job.gradients) == (3, "16-bit")
    twice = SCRIPT.replace("if [", "NUM_LAYERS=48\nif [")
    with pytest.raises(FileError, match=r"--num-layers \$NUM_LAYERS is no whole number; write it"):
        read(tmp_path, "pretrain.sh", twice)


MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "intermediate_size": 256,
    "vocab_size": 1000,
    "max_position_embeddings": 128,
    "hidden_act": "silu",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"tied": False, "gated": True, "ffn": 256, "kv_heads": None}),
        ({"tie_word_embeddings": True}, {"tied": True}),
        ({"sliding_window": 64, "use_sliding_window": False}, {"sequence": 128}),
        ({"model_type": "gemma", "hidden_act": "gelu"}, {"tied": True, "gated": True}),
        ({"model_type": "falcon", "multi_query": True}, {"kv_heads": 1, "tied": True}),
        (
            {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
            {"experts": 8, "active": 2, "ffn": 32},
        ),
        ({"layer_types": ["full_attention"] * 4, "type_vocab_size": 1}, {"layers": 4}),
        ({"attn_type_list": [1, 1], "shared_intermediate_size": 0}, {"layers": 4}),
        ({"num_mtp_modules": 3}, {"left_out": ("num_mtp_modules = 3",)}),
    ],
)
def test_a_model_is_as_its_classes_have_it(tmp_path, changes, expected):
    job = read(tmp_path, "config.json", json.dumps({**MODEL, **changes}))
    assert {name: getattr(job, name) for name in expected} == expected


def test_a_model_of_gpt_2_has_keys_of_its_own(tmp_path):
    config = {"n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "n_inner": None}
    job = read(tmp_path, "config.json", json.dumps({**config, "vocab_size": 50257}))
    assert (job.layers, job.hidden, job.heads, job.sequence, job.ffn) == (12, 768, 12, 1024, None)
    assert job.weights == 12 * 12 * 768**2 + 50257 * 768
    named = {**config, "vocab_size": 50257, "model_type": "gpt2"}
    job = read(tmp_path, "config.json", json.dumps(named))
    assert job.weights == 12 * 12 * 768**2 + (50257 + 1024) * 768
    assert job.weights / 124_439_808 == pytest.approx(1, abs=1e-3)  # published, with norms, biases


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("", 2048),
        ("--max-position-embeddings 4096", 4096),
        ("--max-position-embeddings $LONG", 2048),
        ("--position-embedding-type rope --max-position-embeddings 4096", 0),
        ("--position-embedding-type alibi", 0),
        ("--use-rotary-position-embeddings", 0),
    ],
)
def test_positions_are_learned_unless_a_script_says_otherwise(tmp_path, words, rows):
    sizes = "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 2048"
    text = f"pretrain_gpt.py {sizes} --global-batch-size 8 {words}"
    assert read(tmp_path, "run.sh", text).positions == rows


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"architectures": ["BertForMaskedLM"]}, "BertForMaskedLM is no model of a next word"),
        ({"type_vocab_size": 2}, "as those of an encoder"),
        ({"layer_types": ["linear_attention"]}, "attention is linear_attention in some layers"),
        ({"decoder_sparse_step": 2}, "layers between others have no experts"),
        ({"sliding_window": 64}, "sliding_window = 64: it does not say which layers have it"),
        (
            {"sliding_window": 64, "layer_types": ["full_attention", "sliding_attention"] * 2},
            "it does not say which layers",
        ),
        ({"block_configs": [{}]}, "its layers differ"),
        ({"index_topk": 2048}, "index_topk = 2048: it says that layers differ"),
        ({"moe_num_experts": 64, "moe_k": 6}, "moe_num_experts = 64: it says that layers differ"),
        ({"attn_type_list": [0, 1, 1]}, "attn_type_list"),
        ({"sliding_window_pattern": "LLLG"}, "sliding_window_pattern = LLLG: it says that"),
        ({"linear_attn_config": {"head_dim": 128}}, "linear_attn_config"),
        ({"num_key_value_heads_per_layer": [4, 2]}, "num_key_value_heads_per_layer"),
        ({"moe_layer_freq": [0, 1, 0, 1]}, "layers between others have no experts"),
        ({"model_type": "qwen"}, "counts both matrices up together"),
        ({"num_experts": 8}, "no num_experts_per_tok"),
        ({"kv_lora_rank": 512}, "kv_lora_rank, and no qk_nope_head_dim; add it"),
        ({"kv_lora_rank": -5, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8}, "-5 must be 0 or"),
        ({"sliding_window": "big"}, "sliding_window = 'big': write a whole number"),
        (
            {"num_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": "three"},
            "dense_layers: 'three' must be a whole number",
        ),
        ({"num_hidden_layers": -4}, "layers: -4 must be 1 or more"),
        ({"hidden_size": 10**30}, "must be below 2"),
        ({"vocab_size": float("inf")}, "vocabulary: inf must be a whole number"),
        ({"num_hidden_layers": None}, "the layers are missing; add n_layer or num_hidden_layers"),
    ],
)
def test_models_that_are_no_decoder_of_like_layers_are_refused(tmp_path, changes, sentence):
    with pytest.raises(FileError, match=sentence):
        read(tmp_path, "config.json", json.dumps({**MODEL, **changes}))


MEGATRON = (
    "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
    "--global-batch-size 8 --bf16 "
)


@pytest.mark.parametrize(
    ("arguments_of", "expected"),
    [
        ("--swiglu", {"ffn": 2688}),  # two thirds of 4 hidden, in multiples of 64
        ("--swiglu --ffn-hidden-size 4096", {"ffn": 4096}),
        ("--num-query-groups 4", {"kv_heads": None}),
        ("--num-query-groups 4 --group-query-attention", {"kv_heads": 4}),
        ("--group-query-attention", {"kv_heads": 1}),
        ("--num-key-value-heads 2", {"kv_heads": 2}),
        ("--pad-vocab-size-to 250880", {"vocabulary": 250880, "assumed": ()}),
        ("--checkpoint-activations", {"recompute": "full"}),
        ("--activations-checkpoint-method uniform", {"recompute": "full"}),
        ("--num-experts 8", {"active": 2}),
        ("--num-experts 8 --moe-router-topk 1", {"active": 1}),
        ("--num-experts 8 --topk 1 --expert-interval 1 --moe-expert-parallel-size 4",
         {"active": 1, "ep": 4, "experts": 8}),
        ("--num-experts 1 --moe-expert-parallel-size ${RANKS}", {"experts": 1, "ep": 1}),
        ('--num-experts 8 --moe-layer-freq "([0]+[1]*7)"', {"dense_layers": 1}),
        ('--num-experts 8 --moe-layer-freq "([0]*3+[1]*5)"', {"dense_layers": 3}),
        ("--overlap-moe-expert-parallel-comm", {"overlap_experts": True, "left_out": ()}),
    ],
)  # fmt: skip
def test_what_megatron_takes_where_arguments_say_nothing(tmp_path, arguments_of, expected):
    path = tmp_path / "job.slurm"
    path.write_text(f"python pretrain_gpt.py {MEGATRON} {arguments_of}\n")
    job = Registry().workload(path).content
    assert {name: getattr(job, name) for name in expected} == expected


def test_each_second_layer_has_experts_in_the_fork_for_deepspeed(tmp_path):
    path = tmp_path / "job.sh"
    path.write_text(f"python pretrain_gpt.py {MEGATRON} --num-experts 8 --moe-loss-coeff 0.01\n")
    with pytest.raises(FileError, match="--expert-interval: each second layer has no experts"):
        Registry().workload(path)


def test_a_comment_ends_with_its_line_though_it_ends_with_a_backslash(tmp_path):
    path = tmp_path / "job.sh"
    path.write_text(
        '#  --tensor-model-parallel-size 4 \\\nCMD="pretrain_gpt.py \\\n'
        f'  --pipeline-model-parallel-size 4 \\\n  {MEGATRON}"\n'
    )
    job = Registry().workload(path).content
    assert (job.tp, job.pp) == (1, 4)
