"""Plans: the fastest layouts are those of timing all of them, and arguments are read back."""

from __future__ import annotations

import json
import random

import attrs
import pytest

from parcast import InvalidPointError, Query, Registry
from parcast.cli import main
from parcast.errors import FileError
from parcast.files import workload_from_data
from parcast_training.steps.asking import accelerator_of, hops_of
from parcast_training.steps.files import KIND
from parcast_training.steps.layout import layout_of
from parcast_training.steps.megatron import arguments, read_arguments
from parcast_training.steps.memory import memory_of
from parcast_training.steps.plan import layouts, lower_bound, planned
from parcast_training.steps.step import step_of

from .random_jobs import random_machine


def small_case(seed: int):
    """Return a job, processes and a machine whose layouts can all be timed."""
    draw = random.Random(seed)
    data = {
        "name": "small", "kind": "training", "layers": draw.choice([2, 4, 6]),
        "hidden": 512, "heads": draw.choice([2, 4]), "sequence": draw.choice([128, 1024]),
        "attention": draw.choice(["flash", "unfused"]), "gated": draw.random() < 0.5,
        "vocabulary": draw.choice([1000, 50000]), "global_batch": draw.choice([4, 8, 16]),
        "overlap_parameters": draw.random() < 0.5,
    }  # fmt: skip
    machine = random_machine(draw)
    machine["accelerator"]["memory"] = draw.choice([8e10, 4e8])
    workload = workload_from_data(data, "job", {"training": KIND})
    query = Query(workload=workload, machine=Registry().machine(machine), p=draw.choice([2, 4, 8]))
    return workload.content, query


@pytest.mark.parametrize("seed", range(50))
def test_the_fastest_are_those_of_timing_all(seed):
    job, query = small_case(seed)
    accelerator, hops = accelerator_of(query), hops_of(query)
    result = planned(job, query.p, accelerator, hops, count=3)
    times = []
    for candidate in layouts(job, query.p, accelerator, {}):
        try:
            layout = layout_of(candidate, query.p)
            step = step_of(candidate, layout, accelerator, hops, accelerator.per_node)
            seconds = step.seconds
        except InvalidPointError:
            continue
        assert lower_bound(step) <= seconds
        if memory_of(candidate, layout).total <= accelerator.memory:
            times.append(seconds)
    assert [choice.step.seconds for choice in result.best] == sorted(times)[:3]
    assert result.fitting == len(times)


def test_arguments_of_megatron_are_read_back(tmp_path):
    job = workload_from_data(
        {
            "name": "moe", "kind": "training", "layers": 24, "hidden": 2048, "heads": 16,
            "kv_heads": 4, "ffn": 8192, "gated": True, "tied": False, "experts": 8, "active": 2,
            "sequence": 4096, "global_batch": 256, "tp": 4, "sp": 1, "pp": 2, "interleave": 3,
            "schedule": "interleaved", "ep": 4, "zero": 1, "recompute": "selective",
        },
        "job",
        {"training": KIND},
    ).content  # fmt: skip
    path = tmp_path / "job.sh"
    path.write_text("torchrun pretrain_gpt.py \\\n  " + " \\\n  ".join(arguments(job)) + "\n")
    assert read_arguments(path).content == attrs.evolve(job, cp=1)


def test_arguments_that_are_variables_are_refused(tmp_path):
    path = tmp_path / "job.sh"
    path.write_text("pretrain_gpt.py --num-layers $LAYERS --hidden-size 1024\n")
    with pytest.raises(FileError, match=r"--num-layers \$LAYERS is no whole number"):
        read_arguments(path)


def test_the_config_of_a_model_is_read(tmp_path):
    path = tmp_path / "some-8b" / "config.json"
    path.parent.mkdir()
    path.write_text(
        '{"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4096, '
        '"intermediate_size": 14336, "max_position_embeddings": 8192, "num_attention_heads": 32, '
        '"num_hidden_layers": 32, "num_key_value_heads": 8, "tie_word_embeddings": false, '
        '"vocab_size": 128256}'
    )
    workload = Registry().workload(path)
    job = workload.content
    assert workload.name == "some-8b"
    assert workload.parameters["layers"] == 32
    # 8.03 billion, of which norms are 0.27 million
    assert job.weights == 8_030_261_248 - (2 * 32 + 1) * 4096
    assert (job.gated, job.tied, job.kv_heads, job.sequence) == (True, False, 8, 8192)


def test_a_plan_is_printed_and_written(tmp_path, capsys):
    arguments_file = tmp_path / "best.sh"
    asked = ["training", "plan", "gpt-22b", "a100-hdr", "--gpus", "8", "--best", "2"]
    assert main([*asked, "--set", "recompute=full", "--json"]) == 0
    fastest = json.loads(capsys.readouterr().out)["layouts"][0]
    assert fastest["recompute"] == "full"
    assert main([*asked, "-o", str(arguments_file)]) == 0
    assert "gpt-22b on 8 accelerators of a100-hdr: " in capsys.readouterr().out
    assert read_arguments(arguments_file).content.layers == 48
    assert main([*asked, "--set", "tq=3"]) == 2
    assert "a training job has no 'tq'" in capsys.readouterr().err
