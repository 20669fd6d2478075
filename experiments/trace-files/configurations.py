"""Read configurations of training of public repositories, and count the weights of their models.

    uv run python experiments/trace-files/configurations.py CLONES -o configurations.md

CLONES has git repositories called ``owner+name``. Published are the parameters that the model's
page states; those of norms, biases and routers among them are no weights of a job.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import yaml  # type: ignore[import-untyped]
from table import wanted_files

from parcast import Registry
from parcast.errors import ParcastError
from parcast_training.steps.job import Job

REPOSITORIES = {
    "NVIDIA+NeMo-Framework-Launcher":
        r"conf/training/(gpt3|llama|mistral|mixtral|nemotron|baichuan2|chatglm|falcon|grok|qwen2"
        r"|starcoder2|bert|t5|retro)/.*yaml$",
    "THUDM+slime": r"scripts/models/.*sh$",
    "AMD-AIG-AIMA+torchtitan-amd": r"train_configs/.*toml$",
    "rakkit+torchtitan": r"train_configs/.*toml$",
    "aliyun+SimAI": r"hf_configs/.*json$",
    "casys-kaist+LLMServingSim": r"configs/model/.*json$",
    "swiss-ai+Megatron-LM": r"^(submit-llama.*|examples/(mixtral|gpt3|t5|bert|retro|mamba)/.*)sh$",
    "ROCm+Megatron-LM": r"^examples/(mixtral|gpt3|t5|bert|retro|mamba)/.*sh$",
    "alibaba+Pai-Megatron-Patch": r"examples/.*/run_mcore.*sh$",
}  # fmt: skip

#: What scripts of a model alone lack; the page says so.
ALONE = ("THUDM+slime", " --seq-length 4096 --global-batch-size 1\n")

#: Parameters that a model's page states and the rows of its vocabulary, by what its path has.
PUBLISHED = (
    (r"llama3\.?_?1.405b|llama3_405b", 405_853_388_800, 128256),
    (r"llama-?3[._]?1?.70b", 70_553_706_496, 128256),
    (r"llama-?3[._]?1?.8b", 8_030_261_248, 128256),
    (r"llama3\.2-3b", 3_212_749_824, 128256),
    (r"llama2_7b", 6_738_415_616, 32000), (r"llama2_13b", 13_015_864_320, 32000),
    (r"llama2_70b", 68_976_648_192, 32000), (r"llama1_7b", 6_738_415_616, 32000),
    (r"llama1_13b", 13_015_864_320, 32000), (r"llama1_30b", 32_528_943_616, 32000),
    (r"llama1_65b", 65_285_660_672, 32000), (r"mistral_7b", 7_241_732_096, 32000),
    (r"mistral_nemo_123b", 122_610_069_504, 32768),
    (r"mixtral[_-]8x22b", 140_630_071_296, 32768), (r"mixtral[_-]8x7b", 46_702_792_704, 32000),
    (r"baichuan2_7b", 7_505_973_248, 125696), (r"baichuan2_13b", 13_896_668_160, 125696),
    (r"chatglm[23]-6b", 6_243_584_000, 65024), (r"falcon_7b", 7_217_189_760, 65024),
    (r"qwen2_4b", 3_950_369_280, 151936), (r"qwen2_7b", 7_721_324_544, 151936),
    (r"qwen2_14b", 14_167_290_880, 152064), (r"qwen2_72b", 72_287_920_128, 152064),
    (r"qwen2\.5-0\.5b", 494_032_768, 151936), (r"qwen2\.5-1\.5b", 1_543_714_304, 151936),
    (r"qwen2\.5-3b", 3_085_938_688, 151936), (r"qwen2\.5-7b", 7_615_616_512, 152064),
    (r"qwen2\.5-32b", 32_763_876_352, 152064), (r"qwen3-0\.6b", 596_049_920, 151936),
    (r"qwen3-1\.7b", 1_720_574_976, 151936), (r"qwen3-4b", 4_022_468_096, 151936),
    (r"qwen3-8b", 8_190_735_360, 151936), (r"qwen3-14b", 14_768_307_200, 151936),
    (r"qwen3-32b", 32_762_123_264, 151936), (r"qwen3-30b", 30_532_122_624, 151936),
    (r"qwen3-235b", 235_093_634_560, 151936), (r"mimo-7b", 7_833_409_536, 151680),
    (r"gpt3/175b|gpt3_175b|mlperf-24n", 174_600_000_000, 51200),
    (r"starcoder2_15b", 15_957_889_024, 49152), (r"starcoder2_7b", 7_173_923_840, 49152),
    (r"starcoder2_3b", 3_030_371_328, 49152),
)  # fmt: skip

#: Why a count differs by more than 0.1 %.
EXPLAINED = {
    "175b_16k.yaml": "the file has a table of 16,384 positions, the model of 2,048",
    "175b_32k.yaml": "the file has a table of 32,768 positions, the model of 2,048",
    "llama3_1_405b.yaml": "the file has 16 heads of keys, the model 8",
    "mimo-7B-rl.sh": "published are also the weights of a layer for further tokens",
    "starcoder2": "the file has an output layer of its own, the model has none",
}

#: Keys of a file and of a job that have to be equal.
SAME = {
    "num_layers": "layers", "num_hidden_layers": "layers", "hidden_size": "hidden",
    "num_attention_heads": "heads", "num_query_groups": "kv_heads",
    "num_key_value_heads": "kv_heads", "encoder_seq_length": "sequence", "seq_len": "sequence",
    "max_position_embeddings": "", "global_batch_size": "global_batch",
    "micro_batch_size": "micro_batch", "local_batch_size": "micro_batch",
    "tensor_model_parallel_size": "tp", "pipeline_model_parallel_size": "pp",
    "context_parallel_size": "cp", "expert_model_parallel_size": "ep", "num_moe_experts": "experts",
    "moe_router_topk": "active", "num_experts": "experts", "num_local_experts": "experts",
    "num_experts_per_tok": "active", "moe_intermediate_size": "ffn", "vocab_size": "vocabulary",
    "tensor_parallel_degree": "tp", "pipeline_parallel_degree": "pp",
    "context_parallel_degree": "cp",
}  # fmt: skip


def stated(path: Path) -> dict[str, Any]:
    """Return what a file states of `SAME`, read by none of our readers."""
    text = path.read_text()
    tables: list[Any]
    if path.suffix == ".sh":
        pairs = re.findall(r"--([a-z-]+)[ =](\d+)\s", text)
        tables = [{name.replace("-", "_"): int(value) for name, value in pairs}]
    elif path.suffix == ".toml":
        tables = list(tomllib.loads(text).values())
    elif path.suffix == ".yaml":
        tables = [yaml.safe_load(text)["model"]]
    else:
        tables = [json.loads(text)]
    values: dict[str, Any] = {}
    for table in tables:
        values |= {k: v for k, v in table.items() if SAME.get(k) and isinstance(v, int)}
    return values


def compared(job: Job, path: Path) -> str:
    """Return how many of the numbers that a file states are those of its job."""
    values = stated(path)
    wrong = [key for key, value in values.items() if getattr(job, SAME[key]) not in {value, None}]
    return f"{len(values) - len(wrong)} of {len(values)}" + "".join(f" **{key}**" for key in wrong)


def counted(job: Job, name: str) -> Iterator[str]:
    """Yield the weights of a job with the model's vocabulary, the published ones, and why not."""
    matches = [row for row in PUBLISHED if re.search(row[0], name.lower())]
    if not matches:
        yield from (f"{job.weights:,}", "", "")
        return
    _, published, vocabulary = matches[0]
    weights = attrs.evolve(job, vocabulary=vocabulary).weights
    share = weights / published - 1
    why = next((text for end, text in EXPLAINED.items() if end in name), "**not explained**")
    yield f"{weights:,}"
    yield f"{published:,}"
    yield f"{share:+.3%}" + (f"; {why}" if abs(share) > 1e-3 else "")


def cells(registry: Registry, repository: str, name: str, path: Path, commit: str) -> list[str]:
    """Return the row of a file."""
    owner = repository.replace("+", "/")
    short = re.sub(r"^launcher_scripts/conf/training/", ".../", name)
    extra = ""
    if repository == ALONE[0]:
        path.write_text(re.sub(r"(?m)^\s*\)\s*$", ALONE[1] + ")", path.read_text()))
        extra = " (with a sequence and a batch added)"
    try:
        job = registry.workload(path).content
    except ParcastError as error:
        text = " ".join(str(error).replace(str(path), "").removeprefix(": ").split())
        return [owner, short, commit[:8], f"refused: {text}".replace("|", "\\|"), "", "", "", ""]
    left = f"; not modelled: {', '.join(job.left_out)}" if job.left_out else ""
    open_keys = f"; not stated: {', '.join(job.assumed)}" if job.assumed else ""
    outcome = f"read{extra}{left}{open_keys}"
    return [owner, short, commit[:8], outcome, compared(job, path), *counted(job, name)]


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("configurations.md"))
    options = parser.parse_args()
    registry = Registry()
    rows = []
    for repository, wanted in REPOSITORIES.items():
        files = wanted_files(options.clones, repository, wanted)
        rows += [cells(registry, repository, name, path, at) for name, path, at, _ in files]
    options.output.write_text("\n".join(page(rows)) + "\n")
    print(page(rows)[0])


def page(rows: list[list[str]]) -> list[str]:
    """Return the lines of the page."""
    head = ["repository", "path", "commit", "outcome", "numbers as stated", "weights counted",
            "published", "difference"]  # fmt: skip
    taken = [row for row in rows if row[3].startswith("read")]
    known = [row for row in taken if row[6]]
    near = sum(abs(float(row[7].partition("%")[0])) <= 0.1 for row in known)
    how = (
        "Published are the parameters that the model's page states, with its norms and biases, and "
        "the weights are counted with its vocabulary. Numbers as stated are those that stand in "
        "the file as such: sizes, batch and degrees. What is not modelled or not stated is a note "
        "beside each answer."
    )
    summary = (
        f"{len(rows)} configurations, {len(taken)} read; of {len(known)} whose parameters are "
        f"published {near} are within 0.1 %."
    )
    return [
        summary, "", how, "",
        *("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
