"""Steps of training: the formula is the program's time, and impossible layouts are refused."""

from __future__ import annotations

import random
import re

import attrs
import pytest

from parcast import InvalidPointError, ParcastError, Query, Registry, UnsupportedError
from parcast.files import workload_from_data
from parcast.model import WHOLE_NETWORK, Costs
from parcast.model.accelerator import Accelerator, Rates
from parcast.program.matching import matched_program
from parcast.testing import by_sweep, cases, seeds
from parcast_training.goodput.checkpoint_time import checkpoint_time
from parcast_training.steps.asking import step_at
from parcast_training.steps.checkpoint import (
    checkpoint_bytes,
    checkpoint_seconds,
    checkpoint_share,
)
from parcast_training.steps.dualpipe import pass_counts
from parcast_training.steps.files import KIND
from parcast_training.steps.formula import algebra
from parcast_training.steps.job import Job
from parcast_training.steps.kernels import Kernel, layer_kernels, rounding, seconds
from parcast_training.steps.layout import Layout, layout_of
from parcast_training.steps.megatron import arguments
from parcast_training.steps.memory import layer_activations, memory_of
from parcast_training.steps.playing import played
from parcast_training.steps.program import lower
from parcast_training.steps.segments import Hop
from parcast_training.steps.solver import Training, too_short

from .random_jobs import random_machine, random_query

JOBS = cases(6)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


def program_seconds(query: Query) -> float:
    """Return the time of a step's program without contention."""
    program, _ = lower(query.workload, query)
    lowered = attrs.evolve(query, workload=program)
    unrolled = matched_program(lowered).unrolled
    return by_sweep(unrolled, Costs.of(lowered, unrolled.needs(), WHOLE_NETWORK)).time


@pytest.mark.parametrize("seed", seeds(JOBS))
def test_the_formula_is_the_time_of_the_program_without_contention(registry, seed):
    query = random_query(registry, seed)
    assert step_at(query).seconds == pytest.approx(program_seconds(query), rel=1e-9)


@pytest.mark.parametrize("layout", ["bus", "cluster"])
@pytest.mark.parametrize(("p", "disks"), [(1, 1), (4, 3), (8, 3), (8, 16)])
def test_a_checkpoint_takes_as_long_as_all_ranks_writing_it_at_once(registry, layout, p, disks):
    storage = {"startup": 0.25, "bandwidth": 1e9, "disks": disks, "layout": layout}
    machine = registry.machine({**random_machine(random.Random(0)), "storage": storage})
    workload = registry.workload("gpt-22b")
    content = attrs.evolve(workload.content, checkpoint_every=10)
    workload = attrs.evolve(workload, content=content, parameters={})
    query = Query(workload=workload, machine=machine, p=p, d=disks)
    written = checkpoint_time(registry, machine, p, checkpoint_bytes(content), {}).seconds
    assert checkpoint_bytes(content) == 14 * content.weights
    assert checkpoint_seconds(query) == pytest.approx(written, rel=1e-12)
    assert checkpoint_share(query) == checkpoint_seconds(query) / 10


def test_a_step_has_its_share_of_a_checkpoint(registry):
    settings = {"storage.bandwidth": "10 GB/s"}
    steps = [
        registry.predict(
            "gpt-22b", "a100-hdr", "training.step", p=8,
            settings={**settings, "checkpoint_every": every},
        )
        for every in (0, 100, 20)
    ]  # fmt: skip
    share = checkpoint_bytes(registry.workload("gpt-22b").content) / 10e9
    plain, seldom, often = steps
    assert [step.parts.io for step in steps] == pytest.approx([0, share / 100, share / 20])
    assert seldom.time - plain.time == pytest.approx(share / 100)
    assert often.binding == "storage"
    assert any(note.startswith("a checkpoint of 308.8 GB every 100 steps") for note in seldom.notes)
    refused = registry.predict(
        "gpt-22b", "a100-hdr", "training.step", p=8, settings={"checkpoint_every": 1}
    )
    assert "states no storage.bandwidth" in refused.message


@pytest.mark.parametrize(("pp", "rounds"), [(2, 1), (2, 3), (3, 1), (3, 2)])
def test_gradients_of_pieces_are_so_in_formula_and_program(registry, pp, rounds):
    changes = {"layers": 4 * pp, "hidden": 1024, "heads": 16, "tp": 1, "pp": pp, "interleave": 2}
    batch = {"global_batch": 2 * pp * rounds, "schedule": "interleaved", "zero": 1}
    data = {**job(**changes, **batch), "kind": "training"}
    workload = workload_from_data(data, "job", {"training": KIND})
    parts = registry.machine("a100-hdr").parts
    network = attrs.evolve(parts["network"], contention="none", overhead=1e-4)
    machine = attrs.evolve(registry.machine("a100-hdr"), parts={**parts, "network": network})
    query = Query(workload=workload, machine=machine, p=2 * pp)
    assert len(step_at(query).following) == pp - 1
    assert step_at(query).seconds == pytest.approx(program_seconds(query), rel=1e-9)


def job(**changes: object) -> dict[str, object]:
    """Return the data of GPT-3 in the layout of arXiv 2205.05198, table 3, with changes."""
    return {
        "name": "gpt",
        "layers": 96,
        "hidden": 12288,
        "heads": 96,
        "sequence": 2048,
        "attention": "unfused",
        "dropout": True,
        "global_batch": 64,
        "tp": 8,
        "pp": 8,
        **changes,
    }


def read(**changes: object) -> Job:
    return workload_from_data(
        {**job(**changes), "kind": "training"}, "job", {"training": KIND}
    ).content


@pytest.mark.parametrize(
    ("changes", "per_token"),
    [  # arXiv 2205.05198, table 2, per layer and by s b h; t = 8, a s / h = 16
        ({}, 10 + 24 / 8 + 5 * 16 / 8),
        ({"sp": 1}, 34 / 8 + 5 * 16 / 8),
        ({"recompute": "selective"}, 10 + 24 / 8),
        ({"recompute": "selective", "sp": 1}, 34 / 8),
        ({"recompute": "full"}, 2),
    ],
)
def test_activations_are_those_of_the_paper(changes, per_token):
    described = read(**changes)
    found = layer_activations(described, layout_of(described, 64))
    assert found == pytest.approx(12288 * per_token)


def test_weights_gradients_and_optimizer_take_18_bytes_a_weight():
    described = read(pp=1, tp=1, vocabulary=1)
    memory = memory_of(described, layout_of(described, 1))
    held = memory.weights + memory.gradients + memory.optimizer
    assert held == 18 * described.weights
    assert described.weights == 96 * 12 * 12288**2 + 12288


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_what_zero_splits(zero):
    """arXiv 1910.02054, figure 1, with gradients in 32 bits."""
    described = read(pp=1, tp=1, zero=zero)
    memory = memory_of(described, layout_of(described, 4))
    parts = (memory.optimizer / 12, memory.gradients / 4, memory.weights / 2)
    expected = [described.weights / (4 if zero >= least else 1) for least in (1, 2, 3)]
    assert parts == pytest.approx(expected)


LORA = {"pp": 2, "tp": 4, "lora": 16, "kv_heads": 8, "gated": True, "ffn": 28672, "tied": False}


def matrices(described: Job) -> list[tuple[int, int, bool]]:
    """Return a layer's matrices on a rank, written out: what goes in, comes out, has an adapter."""
    h, q, kv = described.hidden, 12288, 8 * 128
    every = described.lora_on == "all"
    return [
        (h, (q + 2 * kv) // 4, True),
        (q // 4, h, True),
        (h, 2 * 28672 // 4, every),
        (28672 // 4, h, every),
    ]


@pytest.mark.parametrize("on", ["attention", "all"])
@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_adapters_alone_have_gradients_and_states(on, zero):
    """Hu and others, LoRA (arXiv 2106.09685): a matrix to the rank and one from it beside each."""
    described = read(**LORA, lora_on=on, zero=zero)
    memory = memory_of(described, layout_of(described, 16))  # 2 ranks are data parallel
    parts = matrices(described)
    ends = 51200 * 12288 / 4
    frozen = 48 * sum(before * after for before, after, _ in parts) + ends
    trained = 48 * 16 * sum(before + after for before, after, adapted in parts if adapted)
    sharing = [2 if zero >= least else 1 for least in (1, 2, 3)]
    assert memory.optimizer == pytest.approx(12 * trained / sharing[0])
    assert memory.gradients == pytest.approx(4 * trained / sharing[1])
    assert memory.weights == pytest.approx(2 * (frozen + trained) / sharing[2])


@pytest.mark.parametrize("on", ["attention", "all"])
def test_frozen_products_have_no_gradients_of_weights(on):
    described = read(**LORA, lora_on=on)
    kernels = layer_kernels(described, layout_of(described, 16))
    parts, tokens = matrices(described), 2048
    frozen = sum(before * after for before, after, _ in parts)
    adapters = 16 * sum(before + after for before, after, adapted in parts if adapted)

    def flops(group):
        return sum(kernel.flops for kernel in group if kernel.kind == "gemm")

    assert flops(kernels.forward) == flops(kernels.inputs) == 2 * tokens * (frozen + adapters)
    assert flops(kernels.weights) == 2 * tokens * adapters
    whole = read(**{**LORA, "lora": 0})
    assert described.trained == described.weights - whole.weights
    activations = [layer_activations(job, layout_of(job, 16)) for job in (described, whole)]
    between = 2 * 16 * len(described.adapted)
    unkept = 2 * 12288 + 2 * 28672 / 4 if on == "attention" else 0  # inputs of the ffn's products
    assert activations[0] == pytest.approx(activations[1] + between - unkept)


def test_a_step_of_adapters_computes_less_and_reduces_next_to_nothing(registry):
    whole, lora = (
        registry.predict(
            "gpt-22b", "a100-hdr", "training.step", p=16,
            settings={"lora": rank, "layers": 8, "tp": 1, "sp": 0, "global_batch": 64, "zero": 1},
        )
        for rank in (0, 16)
    )  # fmt: skip
    assert 2 / 3 < lora.parts.compute / whole.parts.compute < 0.85  # adapters and scores besides
    exposed = [step.details["seconds"]["gradients"] for step in (lora, whole)]
    assert exposed[0] < 0.01 * exposed[1]
    assert lora.details["mfu"] == pytest.approx(whole.details["mfu"], rel=0.15)
    with pytest.raises(InvalidPointError, match="lora_on = 'all' has adapters beside 4 experts"):
        layout_of(read(experts=4, lora=16, lora_on="all"), 64)
    with pytest.raises(UnsupportedError, match="no arguments for adapters"):
        arguments(read(lora=16))


NOTHING = Hop(0.0, 0.0, 0.0)


@pytest.mark.parametrize("pp", [1, 2, 5, 8])
@pytest.mark.parametrize("m", [1, 3, 8, 24])
def test_bubbles_of_schedules_are_those_of_their_papers(pp, m):
    lengths = {"F": 1.0, "B": 2.0, "I": 1.0, "W": 1.0}

    def plain(_stage, step):
        return lengths[step.name]

    layout = Layout(1, 1, 1, pp, 1, m, 1)
    # arXiv 2104.04473, section 2.2: (p - 1)(F + B)
    ends = played(layout, plain, lambda *_: NOTHING)
    assert max(ends) == (m + pp - 1) * 3
    if pp > 1 and m % pp == 0:
        halved = Layout(1, 1, 1, pp, 2, m, 1)  # the bubble is that of one piece
        assert max(played(halved, plain, lambda *_: NOTHING)) == 2 * m * 3 + (pp - 1) * 3
    # arXiv 2401.10241, section 3: (p - 1)(F + B - W)
    if m >= pp:
        ends = played(layout, plain, lambda *_: NOTHING, zero_bubble=True)
        assert max(ends) == 3 * m + (pp - 1)


@pytest.mark.parametrize("pp", [2, 4, 8, 16])
@pytest.mark.parametrize("more", [0, 1, 20])
@pytest.mark.parametrize("pair", [3.0, 2.3])
def test_dualpipe_has_the_bubble_and_the_memory_that_are_published(pp, more, pair):
    """arXiv 2412.19437, table 2: (PP / 2 - 1)(F&B + B - 3W), 2 of the parameters, PP + 1."""
    lengths = {"F": 1.0, "B": 2.0, "I": 1.0, "W": 1.0, "FB": pair}
    layout = Layout(1, 1, 1, pp, 2, pp + more, 1, bidirectional=True)
    middle = pp // 2 - 1
    busy = sum(lengths[run.name] * times for run, times in pass_counts(pp, middle, pp + more))
    ends = played(layout, lambda _stage, run: lengths[run.name], lambda *_: NOTHING)
    assert max(ends) == pytest.approx(busy + middle * (pair + 2 - 3))
    one_way = {"pp": pp, "layers": 2 * pp, "global_batch": 2 * (pp + more)}
    described = read(**one_way, schedule="dualpipe", vocabulary=1)
    plain = read(**one_way, vocabulary=1)
    p = 8 * pp
    both, single = (memory_of(job, layout_of(job, p)) for job in (described, plain))
    assert both.weights == pytest.approx(2 * single.weights, rel=1e-5)
    assert both.activations == pytest.approx(single.activations * (pp + 1) / pp, rel=1e-5)


def test_a_pair_of_passes_has_the_exchanges_of_experts_beside_kernels(registry):
    """Where these take long enough, all of the experts' time but that of passes by themselves."""
    data = {**job(), "kind": "training", "layers": 16, "hidden": 4096, "heads": 32, "tp": 1,
            "pp": 4, "ep": 8, "experts": 8, "active": 2, "global_batch": 8 * 64,
            "attention": "flash", "dropout": False}  # fmt: skip
    exposed = []
    for schedule in ("1f1b", "dualpipe"):
        workload = workload_from_data({**data, "schedule": schedule}, "job", {"training": KIND})
        query = Query(workload=workload, machine=registry.machine("a100-hdr"), p=32)
        step = step_at(query)
        exposed.append(step.stages[1].exchanges["expert parallel"])
    pairs = sum(times for run, times in step.runs(1) if run.beside)
    assert exposed[1] == pytest.approx(exposed[0] * (64 - pairs) / 64, rel=0.01)


def test_pieces_of_a_stage_reduce_their_gradients_beside_later_passes(registry):
    """All but the first piece's, where a seventh of a layer's takes no longer than a layer."""
    workload, machine = registry.workload("gpt-175b"), registry.machine("a100-hdr")
    exposed = []
    for overlap in (True, False):
        changes = {"zero": 1, "global_batch": 512, "overlap_gradients": overlap}
        content = attrs.evolve(workload.content, **changes)
        changed = attrs.evolve(workload, content=content)
        step = step_at(Query(workload=changed, machine=machine, p=512))
        assert list(step.following) == (list(range(56, 63)) if overlap else [])
        exposed.append(step.stages[3].exchanges["gradients"])
    assert exposed[0] == pytest.approx(exposed[1] / 3)


def test_the_algebra_sums_to_the_time(registry):
    for seed in range(6):
        step = step_at(random_query(registry, seed))
        first, *meanings = algebra(step)
        values = {}
        for line in meanings:
            name, _, rest = line.strip().partition(" = ")
            values[name] = float(rest.rsplit(" = ", 1)[1].removesuffix(" s"))
        terms = first.removeprefix("step = ").split(" + ")
        total = 0.0
        for term in terms:
            count, _, name = term.rpartition(" ")
            total += int(count or 1) * values[name]
        assert total == pytest.approx(step.seconds, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("schedule", ("1f1b", "interleaved", "zero-bubble")),
        ("dropout", (True, False)),
        ("lora_on", ("attention",)),
    ],
)
def test_words_of_a_job_are_set_as_in_its_file(registry, tmp_path, name, words):
    data = {
        "kind": "training", "name": "small", "layers": 8, "hidden": 1024, "heads": 16, "pp": 4,
        "sequence": 512, "global_batch": 16, "attention": "unfused", "zero": 1, "interleave": 1,
    }  # fmt: skip
    path = tmp_path / "small.toml"
    path.write_text("".join(f"{key} = {value!r}\n" for key, value in data.items()))
    ask = {"machine": "a100-hdr", "p": 8}
    for word in words:
        pieces = {"interleave": 2} if word == "interleaved" else {}
        as_file = registry.predict({**data, **pieces, name: word}, solver="training.step", **ask)
        chosen = {**pieces, name: word}
        as_set = registry.predict(path, solver="training.step", settings=chosen, **ask)
        assert as_set.time == as_file.time
    over = registry.compare(
        path, solvers="training.step", over={name: words}, **ask, elasticities=False
    )
    assert [row.params[name] for row in over.rows] == list(words)
    with pytest.raises(ParcastError, match=f"{name}=wrong: must be one of"):
        registry.predict(path, solver="training.step", settings={name: "wrong"}, **ask)


def test_processes_and_accelerators_go_together_one_by_one(registry):
    query = random_query(registry, 1)
    wider = attrs.evolve(query.machine.nodes, cores=3)
    machine = attrs.evolve(query.machine, parts={**query.machine.parts, "nodes": wider})
    with pytest.raises(UnsupportedError, match=r"nodes of 3 cores and \d accelerators; set nodes"):
        step_at(attrs.evolve(query, machine=machine))
    assert "leave out --mapping" in str(Training().supports(attrs.evolve(query, mapping="cyclic")))


def test_one_accelerator_has_no_messages_and_a_machine_without_any_no_step(registry):
    single = {**job(), "kind": "training", "layers": 2, "hidden": 512, "heads": 8, "tp": 1, "pp": 1}
    row = registry.predict(single, "a100-hdr", "training.step", p=1)
    assert not any(note.startswith("messages do not wait") for note in row.notes)
    row = registry.predict({**single, "tp": 7}, "ibm-sp2", "training.step", p=1)
    assert "states no [accelerator]" in row.message


def test_what_does_not_fit_is_refused_with_what_fits(registry):
    workload = registry.workload("gpt-22b")
    machine = registry.machine("a100-hdr")
    content = attrs.evolve(workload.content, tp=1, sp=0, pp=4, recompute="none")
    query = Query(workload=attrs.evolve(workload, content=content), machine=machine, p=4)
    reason = str(Training().supports(query))
    assert "an accelerator has 80.0 GB; " in reason
    for changes in re.findall(r"(?:fits: |; )((?:\w+ = \S+(?:, )?)+) \(", reason):
        values = dict(change.split(" = ") for change in changes.split(", "))
        fixed = {k: v.strip('"') if k == "recompute" else int(v) for k, v in values.items()}
        again = attrs.evolve(content, **fixed)
        evolved = attrs.evolve(query, workload=attrs.evolve(workload, content=again))
        assert Training().supports(evolved) is None


def test_attention_is_in_16_bits_where_products_are_in_fewer(registry):
    machine = registry.machine("gb200-nvl72")
    job = read(precision="fp8", attention="flash", tp=1, pp=1, layers=1)
    kernels = layer_kernels(job, layout_of(job, 1)).scores
    times = {p: seconds(kernels, machine.accelerator, p) for p in ("bf16", "fp8", "fp4")}
    assert times["fp4"] == times["fp8"] == times["bf16"]


def test_products_are_done_in_whole_tiles_and_waves():
    # NVIDIA, Matrix Multiplication Background User's Guide: 108 multiprocessors, 256 by 128
    full = Kernel("full", 1.0, 1.0, rows=256 * 12, columns=128 * 9)
    assert rounding(full, 108) == 1
    more = Kernel("a tile more", 1.0, 1.0, rows=256 * 109, columns=128)
    assert rounding(more, 108) == 2 * 108 / 109
    assert rounding(Kernel("a part of a tile", 1.0, 1.0, rows=128, columns=128), 1) == 2
    assert rounding(more, None) == 1


def test_offloaded_states_cost_no_memory_and_the_host_link(registry):
    """By hand: 12 bytes a weight each way at once, less the update that runs beside."""
    machine = registry.machine("a100-hdr")
    fast = attrs.evolve(machine.accelerator, host_bandwidth=25e9)
    linked = attrs.evolve(machine, parts={**machine.parts, "accelerator": fast})
    small = read(layers=2, hidden=1024, heads=16, tp=1, pp=1, global_batch=8, dropout=False)
    steps, memories = [], []
    for offload in (0, 1):
        workload = attrs.evolve(
            registry.workload("gpt-22b"), content=attrs.evolve(small, offload=offload)
        )
        query = Query(workload=workload, machine=linked, p=8)
        steps.append(step_at(query))
        memories.append(memory_of(workload.content, steps[-1].layout))
    assert memories[0].optimizer == 12 * small.weights
    assert memories[0].total - memories[1].total == memories[0].optimizer
    update = steps[0].passes.ending(0)[-1].seconds
    longer = 12 * small.weights / 25e9 - update
    assert steps[1].seconds - steps[0].seconds == pytest.approx(longer)
    assert steps[1].stages[0].exchanges["offload"] == pytest.approx(longer)
    with pytest.raises(UnsupportedError, match=r"states no accelerator\.host_bandwidth"):
        step_at(attrs.evolve(query, machine=machine)).seconds  # noqa: B018


@pytest.mark.parametrize("name", ["A100-SXM4-80GB", "H100 SXM", ""])
def test_what_no_published_step_was_compared_on_says_so(name):
    memory = {"memory": 8e10, "memory_bandwidth": 2e12}
    accelerator = Accelerator(name=name, rates=Rates(bf16=1e15), **memory)
    assert ("on GH200" in too_short(accelerator)) == (name[:1] != "A")
    assert "6 to 16 % longer" in too_short(accelerator)
