"""What ``parcast goodput`` is asked, read into numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast import Machine, Registry, Status, UnsupportedError
from parcast.comparison import Settings, split_assignment
from parcast.errors import ParcastError
from parcast.model import Query
from parcast.quantities import Distribution, to_base
from parcast_training.goodput.checkpoint_time import checkpoint_time
from parcast_training.goodput.durations import in_words
from parcast_training.goodput.failing import FailingJob
from parcast_training.steps.checkpoint import checkpoint_bytes
from parcast_training.steps.job import Job
from parcast_training.steps.job_settings import job_at


@attrs.frozen(kw_only=True)
class Options:
    """What stands on the command line, None where it does not."""

    workload: str | None = None
    machine: str | None = None
    p: int | None = None
    solver: str | None = None
    settings: tuple[str, ...] = ()  #: each NAME=VALUE
    work: str | None = None
    steps: int | None = None
    mtbf: str | None = None
    node_mtbf: str | None = None
    checkpoint: str | None = None
    state: str | None = None
    restart: str | None = None
    spares: int | None = None
    repair: str | None = None
    slowdown: str | None = None
    slow_share: str | None = None
    slow_episode: str | None = None
    interval: str | None = None
    horizon: str = "30 d"


@attrs.frozen(kw_only=True)
class Question:
    """A job, and what is asked of it; in seconds."""

    job: FailingJob
    work: float | None  #: without any failure or straggler; None: without end
    interval: float | None
    horizon: float
    notes: tuple[str, ...]  #: where numbers that nobody stated come from


def read_question(registry: Registry, options: Options) -> Question:
    """Return what is asked.

    Raises
    ------
    ParcastError
        If an option is missing, contradicts another or is out of range.
    UnsupportedError
        If a prediction that is needed is refused.
    """
    _refuse_idle(options)
    machine = None if options.machine is None else registry.machine(options.machine)
    settings = _settings(registry, options)
    training = _training(registry, options, machine, settings)
    work, work_notes = _work(
        registry, options, machine,
        {**settings.parameters, **settings.machine, **settings.options,
         **({} if training is None else {"checkpoint_every": 0})},
    )  # fmt: skip
    mtbf, mtbf_notes = _mtbf(options, machine)
    checkpoint, checkpoint_notes = _checkpoint(
        registry, options, machine, settings.machine, training
    )
    job, job_notes = _failing_job(options, mtbf, checkpoint)
    interval, interval_notes = _interval(options, training, work)
    if training is not None and options.steps is None:
        work_notes.append("that is one step; --steps says how many there are")
    notes = (*work_notes, *mtbf_notes, *checkpoint_notes, *job_notes, *interval_notes)
    horizon = _seconds("--horizon", options.horizon, positive=True)
    return Question(job=job, work=work, interval=interval, horizon=horizon, notes=notes)


def _failing_job(
    options: Options, mtbf: float, checkpoint: float
) -> tuple[FailingJob, tuple[str, ...]]:
    """Return the job as it fails, is repaired and slows down, and what is assumed of it."""
    if options.restart is None:
        raise ParcastError("state --restart, the time from a failure until the job computes again")
    if (options.spares is None) != (options.repair is None):
        raise ParcastError("--spares N and --repair TIME go together: a failed node is a spare "
                           "again after its repair")  # fmt: skip
    if (options.slow_share is None) != (options.slowdown is None):
        raise ParcastError("--slow-share and --slowdown go together: for a share of the time the "
                           "work takes so much longer, such as 5% and 1.3")  # fmt: skip
    repair = None if options.repair is None else Distribution.read(options.repair, "s")
    if repair is not None and repair.mean <= 0:
        raise ParcastError(f"--repair {options.repair} must be above 0; without repairs that take "
                           "time leave out --spares and --repair")  # fmt: skip
    job = FailingJob(
        mtbf=mtbf,
        checkpoint=checkpoint,
        restart=_seconds("--restart", options.restart),
        spares=options.spares,
        repair=repair,
        slow_share=_plain("--slow-share", options.slow_share or "0"),
        slowdown=_plain("--slowdown", options.slowdown or "1"),
        slow_episode=_seconds("--slow-episode", options.slow_episode or "1 h", positive=True),
    )
    if options.slow_share is None or options.slow_episode is not None:
        return job, ()
    return job, ("a straggler stays for 1 h in the mean (assumed; --slow-episode)",)


def _interval(
    options: Options, training: Job | None, work: float | None
) -> tuple[float | None, tuple[str, ...]]:
    """Return the seconds between two checkpoints that are stated, and by what else than options."""
    if options.interval is not None:
        return _seconds("--interval", options.interval, positive=True), ()
    every = 0 if training is None else training.checkpoint_every
    if not every or work is None:
        return None, ()
    note = f"a checkpoint every {every:,} steps, as the workload has it"
    return work / (options.steps or 1) * every, (note,)


def _refuse_idle(options: Options) -> None:
    """Refuse options that would change nothing."""
    predicts = options.workload is not None
    placed = predicts or options.node_mtbf is not None or options.state is not None
    idle = {
        "-p": (options.p, placed, "--node-mtbf, --state or a WORKLOAD"),
        "--on": (options.machine, placed, "--node-mtbf, --state or a WORKLOAD"),
        "--solver": (options.solver, predicts, "a WORKLOAD"),
        "--slow-episode": (options.slow_episode, options.slow_share is not None, "--slow-share"),
    }
    for option, (value, used, by) in idle.items():
        if value is not None and not used:
            raise ParcastError(f"{option} {value} changes nothing without {by}; leave it out")


def _settings(registry: Registry, options: Options) -> Settings:
    """Return what is set of the workload, the machine and the solver.

    Raises
    ------
    ParcastError
        If there is nothing of such a name.
    """
    if options.settings and options.machine is None:
        raise ParcastError(f"--set {options.settings[0]}: name the machine, and the workload of "
                           "its parameters")  # fmt: skip
    workloads = [] if options.workload is None else [registry.workload(options.workload)]
    return Settings.sort(dict(map(split_assignment, options.settings)), registry, workloads)


def _training(
    registry: Registry, options: Options, machine: Machine | None, settings: Settings
) -> Job | None:
    """Return the training job that the workload is, with what is set, if it is one."""
    if options.workload is None or machine is None or options.p is None:
        return None
    workload, p = registry.workload(options.workload), options.p
    if workload.kind != "training":
        return None
    parameters = settings.parameters_at(workload, p, settings.disks_at(machine, p))
    return job_at(Query(workload=workload, machine=machine, p=p, parameters=parameters))


def _work(
    registry: Registry,
    options: Options,
    machine: Machine | None,
    settings: Mapping[str, Any],
) -> tuple[float | None, list[str]]:
    if options.workload is None:
        if options.steps is not None:
            raise ParcastError("--steps is how often a workload runs; name WORKLOAD and MACHINE")
        return (
            None if options.work is None else _seconds("--work", options.work, positive=True)
        ), []
    if machine is None:
        raise ParcastError(f"{options.workload}: name the machine that it runs on as well")
    if options.work is not None:
        raise ParcastError(f"--work {options.work}: the time of {options.workload} is predicted; "
                           "leave out one of both")  # fmt: skip
    p = _processes(options, "that the workload runs on")
    results = registry.compare(
        options.workload, machine, p=[p], solvers=options.solver, settings=settings
    )
    answered = [row for row in results.rows if row.status is Status.OK and row.time is not None]
    estimates = [row for row in answered if row.time != row.lower or row.time == row.upper]
    if not (estimates or answered):
        reasons = "; ".join(f"{row.solver}: {row.message}" for row in results.rows)
        raise UnsupportedError(f"no solver predicts {options.workload}: {reasons}")
    row = (estimates or answered)[0]
    steps = options.steps or 1
    times = "" if steps == 1 else f", {steps:,} times"
    times += "" if estimates else "; that is a lower bound, and so is all that follows from it"
    note = f"{options.workload} takes {in_words(row.time or 0.0)} at p={p} by {row.solver}{times}"
    return (row.time or 0.0) * steps, [note]


def _mtbf(options: Options, machine: Machine | None) -> tuple[float, list[str]]:
    if (options.mtbf is None) == (options.node_mtbf is None):
        raise ParcastError("state one of --mtbf, of the whole job, and --node-mtbf, of one node")
    if options.mtbf is not None:
        return _seconds("--mtbf", options.mtbf, positive=True), []
    of_node = _seconds("--node-mtbf", str(options.node_mtbf), positive=True)
    p = _processes(options, "whose nodes fail")
    cores = 1 if machine is None else machine.nodes.cores
    nodes = -(-p // cores)
    mtbf = of_node / nodes
    return mtbf, [f"{nodes:,} nodes: one of them fails every {in_words(mtbf)}"]


def _checkpoint(
    registry: Registry,
    options: Options,
    machine: Machine | None,
    settings: Mapping[str, Any],
    training: Job | None,
) -> tuple[float, list[str]]:
    if options.checkpoint is None and options.state is None and training is not None:
        options = attrs.evolve(options, state=f"{checkpoint_bytes(training) / 1e9:.6g} GB")
    if (options.checkpoint is None) == (options.state is None):
        raise ParcastError("state one of --checkpoint, the time to write one, and --state, its "
                           "bytes, which a machine with disks writes")  # fmt: skip
    if options.checkpoint is not None:
        return _seconds("--checkpoint", options.checkpoint), []
    size = to_base(options.state, "B")
    if size <= 0:
        raise ParcastError(f"--state {options.state} must be above 0")
    if machine is None:
        raise ParcastError(f"--state {options.state}: name a machine with disks (WORKLOAD MACHINE, "
                           "or --on MACHINE)")  # fmt: skip
    p = _processes(options, "that write")
    answer = checkpoint_time(registry, machine, p, size, settings)
    note = f"a checkpoint takes {in_words(answer.seconds)}: {options.state} of {p} processes on "
    return answer.seconds, [f"{note}{machine.name}, {answer.by}"]


def _processes(options: Options, which: str) -> int:
    if options.p is None:
        raise ParcastError(f"state -p, the processes {which}")
    return options.p


def _seconds(option: str, text: str, *, positive: bool = False) -> float:
    try:
        value = to_base(text, "s")
    except ParcastError as error:
        raise ParcastError(f"{option}: {error}") from None
    if value < 0 or (positive and value == 0):
        raise ParcastError(f"{option} {text} must be {'above 0' if positive else '0 or more'}")
    return value


def _plain(option: str, text: str) -> float:
    try:
        return to_base(text, "1")
    except ParcastError as error:
        raise ParcastError(f"{option}: {error}") from None
