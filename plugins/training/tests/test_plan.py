"""Plans: the fastest layouts are those of timing all of them, and arguments are read back."""

from __future__ import annotations

import json
import random

import attrs
import pytest

from parcast import InvalidPointError, Query, Registry
from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast.files import workload_from_data
from parcast.testing import turn
from parcast_training.steps.asking import accelerator_of, hops_of
from parcast_training.steps.files import KIND
from parcast_training.steps.layout import layout_of
from parcast_training.steps.megatron import arguments, read_arguments
from parcast_training.steps.memory import memory_of
from parcast_training.steps.picture import layout_text, unbeaten
from parcast_training.steps.plan import front, layouts, lower_bound, planned
from parcast_training.steps.step import step_of

from .random_jobs import random_machine


def small_case(seed: int):
    """Return a job, processes and a machine whose layouts can all be timed."""
    draw = random.Random(seed)
    data = {
        "name": "small", "kind": "training", "layers": draw.choice([2, 4, 6]),
        "hidden": 512, "heads": draw.choice([2, 4]), "sequence": draw.choice([128, 1024]),
        "attention": draw.choice(["flash", "unfused"]), "gated": draw.random() < 0.5,
        "experts": (experts := draw.choice([1, 1, 4])), "active": min(2, experts),
        "vocabulary": draw.choice([1000, 50000]), "global_batch": draw.choice([4, 8, 16]),
        "overlap_parameters": draw.random() < 0.5,
    }  # fmt: skip
    machine = random_machine(draw)
    machine["accelerator"]["memory"] = draw.choice([8e10, 4e8])
    workload = workload_from_data(data, "job", {"training": KIND})
    query = Query(workload=workload, machine=Registry().machine(machine), p=draw.choice([2, 4, 8]))
    return workload.content, query


@pytest.mark.parametrize("seed", turn(range(50), 4))
def test_the_fastest_are_those_of_timing_all(seed):
    job, query = small_case(seed)
    accelerator, hops = accelerator_of(query), hops_of(query)
    result = planned(job, query.p, accelerator, hops, count=3)
    times, sizes = [], []
    for candidate in layouts(job, query.p, accelerator, {}):
        try:
            layout = layout_of(candidate, query.p)
            step = step_of(candidate, layout, accelerator, hops, accelerator.per_node)
            seconds = step.seconds
        except InvalidPointError:
            continue
        assert lower_bound(step) <= seconds
        if (memory := memory_of(candidate, layout).total) <= accelerator.memory:
            times.append(seconds)
            sizes.append(memory)
    assert [choice.step.seconds for choice in result.best] == sorted(times)[:3]
    assert len(result.fitting) == len(times)
    pairs = sorted(set(zip(sizes, times, strict=True)))
    kept = [
        (memory, time) for memory, time in pairs
        if not any(x <= memory and y <= time and (x, y) != (memory, time) for x, y in pairs)
    ]  # fmt: skip
    assert [(c.memory.total, c.step.seconds) for c in front(result.fitting)] == kept


@pytest.mark.parametrize(
    ("gpus", "setting", "sentence"),
    [
        ("53", "", "global_batch = 4 is no multiple of dp * micro_batch = 53 * 1; nearest: "),
        ("8", "layers=1000000000000", "layers = 1000000000000 are more than 100000"),
        ("8", "tp=7", "heads = 64 is not divisible by tp = 7; nearest: "),
        ("8", "ep=2", "experts = 1 is not divisible by ep = 2; nearest: "),
        ("8", "dp=3", "tp * cp * pp * dp = 1 * 1 * 1 * 3 = 3, but p = 8; nearest: "),
    ],
)
def test_where_no_layout_can_be_the_reason_is_that_of_what_is_fixed(
    capsys, gpus, setting, sentence
):
    asked = ["training", "plan", "gpt-22b", "a100-hdr", "--gpus", gpus]
    assert main([*asked, *(["--set", setting] if setting else [])]) == 2
    assert f"accelerators can be: {sentence}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("schedule", ["1f1b", "interleaved", "zero-bubble", "dualpipe"])
def test_a_schedule_that_is_set_is_that_of_all_layouts(capsys, schedule):
    asked = ["training", "plan", "gpt-22b", "a100-hdr", "--gpus", "8", "--set", "global_batch=8",
             "--set", "layers=16"]  # fmt: skip
    assert main([*asked, "--set", f"schedule={schedule}", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["layouts"]
    assert rows
    assert {row["schedule"] for row in rows} == {schedule}
    assert all((row["interleave"] > 1) == (schedule == "interleaved") for row in rows)


def test_where_nothing_fits_the_least_that_is_needed_is_said(capsys):
    assert main(["training", "plan", "gpt-22b", "a100-hdr", "--gpus", "1"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "on 1 accelerator fits: 9 can be, and the least of them needs 4" in told
    assert "GB, where an accelerator has 80 GB; ask with more --gpus" in told


def test_checkpoints_take_as_long_in_every_layout():
    job, query = small_case(3)
    accelerator, hops = accelerator_of(query), hops_of(query)
    plain, writing = (
        planned(job, query.p, accelerator, hops, count=3, checkpoint=seconds).best
        for seconds in (0.0, 2.0)
    )
    assert [choice.job for choice in plain] == [choice.job for choice in writing]
    longer = [b.step.seconds - a.step.seconds for a, b in zip(plain, writing, strict=True)]
    assert longer == pytest.approx([2.0] * len(plain))


@pytest.mark.parametrize(
    ("zero", "precision"), [(0, "bf16"), (1, "fp8"), (2, "fp16"), (3, "fp4"), (0, "fp32")]
)
def test_arguments_of_megatron_are_read_back(tmp_path, zero, precision):
    job = workload_from_data(
        {
            "name": "moe", "kind": "training", "layers": 24, "hidden": 2048, "heads": 16,
            "kv_heads": 4, "ffn": 8192, "gated": True, "tied": False, "experts": 8, "active": 2,
            "sequence": 4096, "global_batch": 256, "tp": 4, "sp": 1, "pp": 2, "interleave": 3,
            "schedule": "interleaved", "ep": 4, "zero": zero, "recompute": "selective",
            "head_dim": 128, "vocabulary": 32000, "precision": precision,
            "positions": 8192 if zero else 0,
        },
        "job",
        {"training": KIND},
    ).content  # fmt: skip
    path = tmp_path / "job.sh"
    path.write_text("torchrun pretrain_gpt.py \\\n  " + " \\\n  ".join(arguments(job)) + "\n")
    assert read_arguments(path).content == attrs.evolve(job, cp=1)


@pytest.mark.parametrize("schedule", ["zero-bubble", "dualpipe"])
def test_a_schedule_that_megatron_has_not_is_refused(schedule):
    job = small_case(0)[0]
    with pytest.raises(UnsupportedError, match="plan with --set schedule=1f1b"):
        arguments(attrs.evolve(job, schedule=schedule, pp=2))


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


def test_a_plan_takes_values_of_the_machine(capsys):
    asked = ["training", "plan", "gpt-22b", "a100-hdr", "--gpus", "8", "--best", "1"]
    assert (
        main([*asked, "--set", "accelerator.memory=55GB", "--set", "cost.price=8", "--json"]) == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["layouts"]
    assert row["memory_bytes"] <= 55e9
    tokens = 4 * 2048
    assert row["cost_per_million_tokens"] == pytest.approx(8 * row["seconds"] / 3600 / tokens * 1e6)
    assert main([*asked, "--set", "cost.prise=8"]) == 2
    assert "Did you mean 'price'?" in capsys.readouterr().err


def test_a_plan_is_drawn_over_numbers_of_accelerators(tmp_path, capsys):
    """Time, cost and energy of each number are in the answer, the fronts in the picture."""
    picture, page = tmp_path / "plan.svg", tmp_path / "plan.html"
    machine = tmp_path / "priced.toml"
    machine.write_text(
        'name = "priced"\n[nodes]\ncount = 8\ncores = 8\n[cost]\nprice = 16.0\npower = "6500 W"\n'
        '[network]\nstartup = 1e-6\nbandwidth = 25e9\n[network.local]\nbandwidth = "300 GB/s"\n'
        '[accelerator]\nper_node = 8\nmemory = "80 GB"\nmemory_bandwidth = "2 TB/s"\n'
        'rates = { fp16 = "312 TFLOP/s" }\n'
    )
    small = ["--set", "recompute=full", "--set", "micro_batch=1", "--set", "interleave=1",
             "--set", "global_batch=16"]  # fmt: skip
    asked = ["training", "plan", "gpt-22b", str(machine), "--gpus", "8,16", "--best", "1", *small]
    assert main([*asked, "-o", str(picture), "--json"]) == 0
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert [plan["p"] for plan in plans] == [8, 16]
    for plan in plans:
        row, nodes = plan["layouts"][0], plan["p"] / 8
        tokens = 16 * 2048
        assert row["tokens_per_second"] == pytest.approx(tokens / row["seconds"])
        assert row["joules_per_token"] == pytest.approx(6500 * nodes * row["seconds"] / tokens)
        hours = plan["p"] * row["seconds"] / 3600 / tokens * 1e6
        assert row["gpu_hours_per_million_tokens"] == pytest.approx(hours)
        assert row["cost_per_million_tokens"] == pytest.approx(16 * hours / 8)
    assert "<svg" in picture.read_text()
    assert main([*asked, "-o", str(page)]) == 0
    text = page.read_text()
    for plan in plans:
        assert layout_text(plan["layouts"][0]) in text
    printed = capsys.readouterr().out
    assert "GPUs" in printed
    assert "J/token" in printed
    assert main([*asked[:5], "4", "-o", str(tmp_path / "no" / "plan.svg")]) == 2


def test_what_is_beaten_in_cost_and_time_is_not_in_the_front():
    rows = [{"seconds": s, "cost": c} for s, c in ((4, 1), (2, 3), (3, 3), (1, 9), (5, 1), (1, 8))]
    assert [(r["seconds"], r["cost"]) for r in unbeaten(rows, "cost")] == [(1, 8), (2, 3), (4, 1)]
