"""Configurations of DeepSpeed and recipes of NeMo 2 are read as jobs, or refused by name."""

from __future__ import annotations

import json

import pytest

from parcast import Registry
from parcast.errors import FileError

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 1000,
    "intermediate_size": 256, "max_position_embeddings": 128,
}  # fmt: skip

SPEED = {
    "train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
}  # fmt: skip


def speed(folder, **changes):
    (folder / "config.json").write_text(json.dumps(MODEL))
    path = folder / "ds_config.json"
    path.write_text(json.dumps({**SPEED, **changes}))
    return Registry().workload(path).content


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"layers": 4, "global_batch": 64, "micro_batch": 2, "zero": 2, "offload": 1,
              "precision": "bf16", "gradients": "16-bit", "overlap_gradients": False}),
        ({"zero_optimization": {"stage": 3}},
         {"zero": 3, "offload": 0, "overlap_gradients": True, "overlap_parameters": True}),
        ({"train_batch_size": "auto", "gradient_accumulation_steps": 4},
         {"global_batch": 8, "micro_batch": 2}),
        ({"bf16": {"enabled": "auto"}}, {"precision": "bf16", "assumed": ("precision",)}),
        ({"bf16": {"enabled": False}}, {"precision": "fp32", "gradients": "fp32", "assumed": ()}),
        ({"data_types": {"grad_accum_dtype": "fp32"}}, {"gradients": "fp32"}),
        ({"pipeline": {"stages": 2, "activation_checkpoint_interval": 1},
          "zero_optimization": {"stage": 1}}, {"pp": 2, "recompute": "full", "zero": 1}),
        ({"tensor_parallel": {"autotp_size": 4}}, {"tp": 4}),
        ({"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"},
                                "zero_hpz_partition_size": 8}},
         {"left_out": ("zero_optimization.zero_hpz_partition_size = 8",
                       "zero_optimization.offload_param.device = cpu")}),
    ],
)  # fmt: skip
def test_a_configuration_of_deepspeed_is_read_with_the_model_beside_it(tmp_path, changes, expected):
    job = speed(tmp_path, **changes)
    assert {name: getattr(job, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": None}, "are left to the"),
        ({"train_batch_size": -4}, "train_batch_size = -4: write a whole number"),
        ({"zero_optimization": {"stage": 4}}, "stage = 4: 0 to 3 are read"),
        ({"zero_optimization": 3}, "zero_optimization = 3: write a table"),
        ({"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "nvme"}}}, "'nvme'"),
        ({"sequence_parallel_size": 2}, "heads are split over it"),
    ],
)
def test_what_deepspeed_says_and_a_step_has_not_is_refused(tmp_path, changes, sentence):
    with pytest.raises(FileError, match=sentence):
        speed(tmp_path, **changes)


def test_deepspeed_without_a_model_beside_it_says_where_to_put_one(tmp_path):
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps(SPEED))
    with pytest.raises(FileError, match=r"states no model; put the model's config.json beside it"):
        Registry().workload(path)


RECIPE = '''
import nemo_run as run
from nemo import lightning as nl

NODES = 2

def model():
    """The model."""
    return run.Config(LlamaModel, config=run.Config(Llama3Config8B))

def trainer(tensor=1, context=2, pipeline=None, callbacks=None):
    strategy = run.Config(
        nl.MegatronStrategy,
        tensor_model_parallel_size=tensor,
        pipeline_model_parallel_size=pipeline,
        context_parallel_size=context,
        sequence_parallel=tensor != 1,
        pipeline_dtype=torch.bfloat16,
        ddp=run.Config(DDP, overlap_grad_reduce=True, grad_reduce_in_fp32=False),
    )
    return run.Config(nl.Trainer, plugins=bf16_mixed(), strategy=strategy, callbacks=callbacks)

def pretrain_recipe(dir=None, nodes: int = NODES, fast=False, fn=pretrain):
    recipe = run.Partial(
        fn,
        model=model(),
        trainer=trainer(tensor=2 * nodes, callbacks=[run.Config(Timing)], pipeline=1),
        data=run.Config(MockDataModule, seq_length=8192, global_batch_size=512, micro_batch_size=1),
        optim=distributed_fused_adam_with_cosine_annealing(max_lr=3e-4),
    )
    if fast:
        recipe = faster(recipe)
    recipe.model.config.recompute_granularity = "full"
    return recipe

def finetune_recipe():
    return run.Partial(finetune)
'''


def recipe(folder, *changes):
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "recipe.py"
    path.write_text(text)
    return Registry().workload(path).content


def test_a_recipe_is_read_and_never_run(tmp_path):
    job = recipe(tmp_path)
    assert job.weights == 8_030_261_248 - (2 * 32 + 1) * 4096
    assert (job.tp, job.sp, job.pp, job.cp, job.zero) == (4, 1, 1, 2, 1)
    assert (job.sequence, job.global_batch, job.precision) == (8192, 512, "bf16")
    assert (job.recompute, job.gradients, job.overlap_gradients) == ("full", "16-bit", True)
    ran = "import nemo_run as run\nopen('ran', 'w')\n"
    recipe(tmp_path, ("import nemo_run as run\n", ran))
    assert not (tmp_path / "ran").exists()


def test_a_model_of_its_own_is_read_from_its_class(tmp_path):
    config = (
        "class Small(GPTConfig):\n    num_layers: int = 2\n    hidden_size: int = 64\n"
        "    num_attention_heads: int = 4\n    ffn_hidden_size: int = 512\n"
        "    num_moe_experts: int = 4\n    moe_router_topk: int = 2\n\ndef model("
    )
    job = recipe(tmp_path, ("def model(", config), ("Llama3Config8B", "Small"))
    assert (job.layers, job.hidden, job.heads, job.ffn) == (2, 64, 4, 512)
    assert (job.experts, job.active, job.assumed) == (4, 2, ("vocabulary",))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Llama3Config8B", "Nemotron4Config22B", r"model.config = Nemotron4Config22B \(line 9\)"),
        ("tensor=2 * nodes", "tensor=SIZES[0]", r"tensor_model_parallel_size = SIZES\[0\] \(line"),
        ("trainer=trainer(", "trainer=other.trainer(", r"trainer.strategy = other.trainer\(\)"),
        ("    if fast:", "    if torch.cuda.is_available():", "is for its caller; write it out"),
        ("    if fast:", "    for x in y:", "line 31: for x in y: is for Python to work out"),
        ("bf16_mixed()", "mixed()", r"trainer.plugins = mixed\(\) names no precision"),
        ("distributed_fused_adam_with_cosine_annealing", "adam", r"optim = adam\(\) \(line 29\)"),
        ("seq_length=8192", "seq_length=length", "data.seq_length = length"),
        ("return recipe\n", "return None\n", "pretrain_recipe returns no run.Partial"),
        ("def pretrain_recipe", "def other_recipe", "no function pretrain_recipe"),
        ("def model():", "def model(:", "not valid Python"),
    ],
)
def test_what_a_recipe_leaves_to_others_is_refused_by_name(tmp_path, old, new, sentence):
    with pytest.raises(FileError, match=sentence):
        recipe(tmp_path, (old, new))
