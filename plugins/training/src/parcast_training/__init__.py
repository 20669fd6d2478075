"""Training jobs: steps of language models before they run, and recorded ones with stragglers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import KindEntry, Lowering, Reader, SolverEntry, hookimpl
from parcast.plugins import resources

if TYPE_CHECKING:
    import typer

#: What is read by suffix, and what tells it from other files of this suffix.
_READ = {
    ".parquet": ("Operations of a training job, as columns.", ""),
    ".csv": ("Operations of a training job, a row each.", r"\A(?=.*\bdp_rank\b).*\boptype\b"),
}

#: What describes a job before it runs.
_JOBS = (
    (
        ".toml",
        "files:read_job",
        "A step of training, or a configuration of torchtitan.",
        r"""(?m)^kind\s*=\s*["']training["']|^flavor\s*=""",
    ),
    (
        ".yaml",
        "nemo:read_nemo",
        "A step of training as NeMo configures it.",
        r"(?m)^\s+tensor_model_parallel_size:",
    ),
    (
        ".json",
        "files:read_job",
        "A step of training, the config.json of a model, or DeepSpeed's of the model beside it.",
        (
            r'"kind":\s*"training"|"num_hidden_layers":|"n_embd":|"architectures":'
            r'|"zero_optimization":|"train_(micro_)?batch_size(_per_gpu)?":'
        ),
    ),
    (
        ".py",
        "nemo_recipe:read_recipe",
        "A recipe of NeMo 2, read and never executed.",
        r"(?m)^(import|from) +(nemo_run|nemo\.)",
    ),
    *(
        (
            suffix,
            "megatron:read_arguments",
            "Arguments of Megatron-LM.",
            r"--(encoder-)?num-layers|\bpretrain_\w+\.py|MODEL_ARGS",
        )
        for suffix in (".sh", ".slurm", ".sbatch")
    ),
)


#: Tables of operations, which are read as traces, and jobs to be predicted.
parcast_readers = (
    *(
        Reader(suffix, "parcast_training.trace:read_workload", summary, mark=mark)
        for suffix, (summary, mark) in _READ.items()
    ),
    *(
        Reader(suffix, f"parcast_training.steps.{target}", summary, mark=mark)
        for suffix, target, summary, mark in _JOBS
    ),
)


parcast_kinds = (
    KindEntry(
        "training",
        "parcast_training.steps.kind:TrainingJob",
        "A step of training a language model.",
    ),
)


parcast_solvers = (
    SolverEntry(
        "training.step",
        "training",
        "parcast_training.steps.solver:Training",
        "Roofline of kernels, rings of messages, the pipeline's schedule.",
    ),
    SolverEntry(
        "training.calculon",
        "training",
        "parcast_training.steps.calculon:Calculon",
        "By the program Calculon, where a checkout of it is.",
        options="parcast_training.steps.calculon:Options",
        on_request=True,
    ),
)


parcast_lowerings = (
    Lowering(
        "training",
        "program",
        "parcast_training.steps.program:lower",
        "Each rank's kernels and messages, written out.",
        on_request=True,
        cost="parcast_training.steps.program:cost",
        shared=True,
    ),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast goodput`` and ``parcast training``."""
    from parcast_training.goodput import command
    from parcast_training.steps.commands import training

    app.command(name="goodput")(command.goodput)
    app.add_typer(training, name="training")


#: Steps of two models whose times are published.
parcast_workloads = resources(__name__, ".toml", "workloads")
