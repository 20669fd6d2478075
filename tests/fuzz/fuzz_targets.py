"""What is fuzzed: every reader of files and of text, with files to start from.

A target takes the name of a file that holds anything at all. It returns, or raises a
`ParcastError` with a sentence; anything else is a defect.
"""

from __future__ import annotations

import atexit
import json
import tarfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import attrs
import fuzz_logs

from parcast import Query, Registry
from parcast.comparison.measurements import read_measured
from parcast.program.matching.prepare import matched_program
from parcast.quantities.distributions import Distribution
from parcast.quantities.expressions import evaluate, parse
from parcast.quantities.formulas import parse_quantity
from parcast.quantities.ranges import parse_numbers
from parcast.study.reading import read_study
from parcast.testing import random_program

ROOT = Path(__file__).parents[2]
TRACED = ROOT / "plugins" / "perturb" / "tests" / "files"


@attrs.frozen
class Target:
    """A reader: the suffix of its files, some of them, and what becomes of one."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], Any]


@cache
def registry() -> Registry:
    return Registry()


def shipped(kind: str, suffix: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        entries = getattr(registry(), kind).values()
        return [one.path.read_bytes() for one in entries if one.path.name.endswith(suffix)]

    return seeds


def texts(*written: str) -> Callable[[], list[bytes]]:
    return lambda: [one.encode() for one in written]


def cases(name: str, *keys: str) -> Callable[[], list[bytes]]:
    """Return what stands under keys of the cases of a plugin's tests, ``*`` being each of many."""

    def seeds() -> list[bytes]:
        found = [json.loads((ROOT / "plugins" / name).read_text())]
        for key in keys:
            each = (one if key == "*" else [one[key]] for one in found)
            found = [inner for some in each for inner in some]
        return [json.dumps(one).encode() for one in found[:40]]

    return seeds


def workload(path: Path) -> None:
    """Read a workload, and have its amounts at three processes."""
    found = registry().workload(path)
    asked = Query(workload=found, machine=registry().machine("ibm-sp2"), p=3)
    if found.kind == "phases":
        found.content.at(asked)
    if found.kind == "program":
        matched_program(asked)


def text_of(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


def formula(path: Path) -> None:
    evaluate(parse(text_of(path)), {"p": 3, "n": 64, "d": 2})


def quantity(path: Path) -> None:
    parse_quantity(text_of(path))


def distribution(path: Path) -> None:
    found = Distribution.read(text_of(path), "s")
    assert found.mean == found.mean, "a mean that is no number"


def numbers(path: Path) -> None:
    parse_numbers("-p", text_of(path))


def settings(path: Path) -> None:
    """Set a machine's value, a parameter or an option to a text, or set what it names."""
    name, _, value = text_of(path).partition("=")
    registry().compare("btio", "ibm-sp2", p=4, solvers="spmd", settings={name: value})


def pnml(path: Path) -> None:
    from parcast_petri.nets.pnml.reading import read_pnml

    read_pnml(path)


def net(path: Path) -> None:
    from parcast_petri.nets.net_files import read_json

    read_json(path)


def trace(path: Path) -> None:
    from parcast_traces.readers.neutral import read

    read(path)


def any_trace(path: Path) -> None:
    from parcast_perturb.formats import read_trace

    read_trace(path)


def calls_of_dumpi(path: Path) -> None:
    from parcast_traces.readers.dumpi.binary import File

    for call in File(path).calls():
        call.statuses()


def recorded(folder: str, *names: str) -> Callable[[], list[bytes]]:
    return lambda: [(TRACED / folder / name).read_bytes() for name in names]


def packed(name: str) -> Callable[[], list[bytes]]:
    """Return what a module of the standard library packs: a trace, and an archive of it."""

    def seeds() -> list[bytes]:
        tar = BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as archive:
            member = tarfile.TarInfo("run.tit")
            member.size = len(TIT)
            archive.addfile(member, BytesIO(TIT.encode()))
        pack = import_module(name).compress
        return [pack(TIT.encode()), pack(tar.getvalue())]

    return seeds


def seeds(name: str) -> Callable[[], list[bytes]]:
    return lambda: [(Path(__file__).parent / "seeds" / name).read_bytes()]


def among_ranks(folder: str, name: str) -> Callable[[Path], None]:
    """Return what reads a file in place of one rank's, beside those of the others."""

    def read(path: Path) -> None:
        for other in (TRACED / folder).iterdir():
            (path.parent / other.name).write_bytes(other.read_bytes())
        (path.parent / name).write_bytes(path.read_bytes())
        path.unlink()
        any_trace(path.parent if folder == "tracer" else path.parent / name)

    return read


@cache
def archive() -> Path:
    """Return an archive of OTF2, of the run that other formats have too."""
    from parcast_traces.readers import read_trace
    from parcast_traces.writers.otf2 import write

    folder = Path(mkdtemp())
    atexit.register(rmtree, folder)
    write(read_trace(TRACED / "tracer"), folder / "archive")
    return folder / "archive"


def part_of_archive(name: str) -> Target:
    """Return a target that is one file of an archive, among the others as they are."""

    def read(path: Path) -> None:
        copy = copytree(archive(), path.parent / "archive", dirs_exist_ok=True)
        (copy / name).write_bytes(path.read_bytes())
        any_trace(copy)

    return Target(".bin", lambda: [(archive() / name).read_bytes()], read)


def data_parallel(path: Path) -> None:
    from parcast_pamela_compiler.generating import generate

    generate(text_of(path), "input.py")


def data_parallel_sources() -> list[bytes]:
    folder = Path(str(files("parcast_pamela_compiler"))) / "sources"
    return [one.read_bytes() for one in sorted(folder.glob("*.py"))]


def blocks(path: Path) -> None:
    from parcast_emulator.spec import read_spec

    read_spec(path)


def network(path: Path) -> None:
    from parcast_spmd.network_files import read

    read(path)


def queuing(*names: str) -> Callable[[], list[bytes]]:
    folder = ROOT / "plugins" / "spmd" / "tests" / "data"
    return lambda: [(folder / name).read_bytes() for name in names]


def solved_network(path: Path) -> None:
    """Read a queuing network; where it is open or mixed, solve it."""
    from parcast_spmd.mixed.network import MixedNetwork
    from parcast_spmd.mixed.solve import solve_mixed
    from parcast_spmd.network_files import read

    if isinstance(content := read(path), MixedNetwork):
        solve_mixed(content)


def profile(path: Path) -> None:
    from parcast_profiles.workload import read

    read(path)


@cache
def profile_writers() -> Any:
    """Return the module by which tests of profiles write them."""
    place = ROOT / "plugins" / "profiles" / "tests" / "written.py"
    spec = spec_from_file_location("written_profiles", place)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def profiles(tool: str, file: str = "") -> Callable[[], list[bytes]]:
    """Return profiles of a tool as it writes them, or a file of their folder."""

    def seeds() -> list[bytes]:
        written, contents = profile_writers(), []
        for ranks in (1, 2):
            with TemporaryDirectory() as folder:
                times = written.random_times(ranks, ranks)
                path = getattr(written, tool)(Path(folder), times, ranks)
                folder_of = path if path.is_dir() else path.parent
                contents.append((folder_of / file if file else path).read_bytes())
        return contents

    return seeds


def exports() -> list[bytes]:
    """Return an export of Nsight Systems."""
    with TemporaryDirectory() as folder:
        path = profile_writers().nsight(
            Path(folder),
            kernels=[("gemm", 1000, 5000), ("ncclAllReduce", 3000, 9000, 78)],
            copies=[(20000, 21000)],
            collectives=[("MPI_Allreduce", 10000, 12000)],
            graphs=[(13000, 14000)],
        )
        return [path.read_bytes()]


def renamed(name: str, *beside: tuple[str, str]) -> Callable[[Path], None]:
    """Return what reads a profile under a name by which its tool's files are known."""

    def read(path: Path) -> None:
        for other, text in beside:
            (path.parent / other).write_text(text)
        place = path.rename(path.parent / name)
        profile(path.parent / beside[0][0] if beside else place)

    return read


def times(path: Path) -> None:
    from parcast_scaling.reading import read_times

    read_times(str(path))


def results(path: Path) -> None:
    from parcast_report.reading import read_results

    read_results(path)


def model(path: Path) -> None:
    """Read a PAMELA model, and have its formula."""
    found = registry().workload(path)
    registry().predict(found, "loggp-cluster", "pamela.bound", p=3)


def programs() -> list[bytes]:
    made = [random_program(seed).source.encode() for seed in range(20)]
    return [*shipped("workloads", ".py")(), *made]


def columns() -> list[bytes]:
    from parcast_traces.readers.columnar import write
    from parcast_traces.readers.neutral import trace_of

    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.trace"
        write(trace_of(json.loads(TRACES()[0]), "a case"), path)
        return [path.read_bytes()]


def rows() -> list[bytes]:
    found = registry().compare("btio", "ibm-sp2", p=[1, 4], solvers="spmd")
    return [json.dumps(found.to_dict()).encode()]


TRACES = cases("perturb/tests/cases.json", "cases", "*", "trace")

PNML = """<?xml version="1.0"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n" type="ptnet"><page id="g">
<place id="p"><initialMarking><text>3</text></initialMarking></place><transition id="t">
<toolspecific tool="StochasticPetriNet" version="0.2"><property key="distributionType">EXPONENTIAL
</property><property key="distributionParameters">2.5</property></toolspecific></transition>
<arc id="a" source="p" target="t"><inscription><text>2</text></inscription></arc>
</page></net></pnml>"""

COLORED = """\
<pnml> <net id="n" type="symmetricnet"> <declaration> <structure> <declarations> <namedsort
id="C" name="C"> <cyclicenumeration> <feconstant id="c0" name="0"/> <feconstant id="c1"
name="1"/> <feconstant id="c2" name="2"/> </cyclicenumeration> </namedsort> <namedsort
id="R" name="R"> <finiteintrange start="1" end="3"/> </namedsort> <namedsort id="CR"
name="CR"> <productsort> <usersort declaration="C"/> <usersort declaration="R"/>
</productsort> </namedsort> <variabledecl id="x" name="x"> <usersort declaration="C"/>
</variabledecl> <variabledecl id="y" name="y"> <usersort declaration="R"/> </variabledecl>
</declarations> </structure> </declaration> <page id="g"> <place id="p"> <type> <structure>
<usersort declaration="CR"/> </structure> </type> <hlinitialMarking> <structure> <tuple>
<subterm> <all> <usersort declaration="C"/> </all> </subterm> <subterm>
<finiteintrangeconstant value="2"> <finiteintrange start="1" end="3"/>
</finiteintrangeconstant> </subterm> </tuple> </structure> </hlinitialMarking> </place>
<place id="q"> <type> <structure> <usersort declaration="C"/> </structure> </type> </place>
<transition id="t"> <condition> <structure> <and> <subterm> <inequality> <subterm> <variable
refvariable="x"/> </subterm> <subterm> <useroperator declaration="c1"/> </subterm>
</inequality> </subterm> <subterm> <lessthan> <subterm> <variable refvariable="y"/>
</subterm> <subterm> <finiteintrangeconstant value="3"> <finiteintrange start="1" end="3"/>
</finiteintrangeconstant> </subterm> </lessthan> </subterm> </and> </structure> </condition>
</transition> <arc id="a" source="p" target="t"> <hlinscription> <structure> <numberof>
<subterm> <numberconstant value="1"> <positive/> </numberconstant> </subterm> <subterm>
<tuple> <subterm> <variable refvariable="x"/> </subterm> <subterm> <variable
refvariable="y"/> </subterm> </tuple> </subterm> </numberof> </structure> </hlinscription>
</arc> <arc id="b" source="t" target="q"> <hlinscription> <structure> <successor> <subterm>
<variable refvariable="x"/> </subterm> </successor> </structure> </hlinscription> </arc>
</page> </net> </pnml>"""

LITERAL = """[{"frame": {"name": "main"}, "metrics": {"time (inc)": 9.5, "time": 2.0}, "children":
[{"frame": {"name": "MPI_Send"}, "metrics": {"time (inc)": 7.5, "time": 7.5}}]}]"""
THICKET = """{"graph": [{"0": {"data": {"name": "main"}, "children": [1], "parents": []},
"1": {"data": {"name": "step"}, "children": [], "parents": [0]}}],
"dataframe": [{"node": 0, "profile": 7, "time (inc)": 3.5},
{"node": 1, "profile": 7, "time (inc)": 2.5}], "profile": [7], "metadata": [{}]}"""

DLIO = """model: {name: unet3d}
framework: pytorch
workflow: {train: True, generate_data: False}
dataset: {data_folder: data, format: npz, num_files_train: 168, num_samples_per_file: 1,
  record_length: 146600628}
reader: {batch_size: 7, read_threads: 4}
train: {epochs: 5, computation_time: 0.323}
"""

TIT = """0 init
0 compute 1e6
0 send 1 0 1e3
0 allreduce 8 0
1 init
1 recv 0 0 1e3
1 allreduce 8 0
"""

DARSHAN = """# darshan log version: 3.41
# exe: ./a.out
# nprocs: 2
# run time: 12.5
POSIX\t0\t1\tPOSIX_READS\t3\t/f\t/\text4
POSIX\t0\t1\tPOSIX_BYTES_READ\t70\t/f\t/\text4

# DXT, file_id: 1, file_name: /f
 X_POSIX       0 read 0            4096              20 0.0000 0.5000
"""

STS = "PROJECTIONS_ID\nPROCESSORS 1\n" + "".join(f'ENTRY CHARE {n} "m" 0 0\n' for n in range(9))
JOBS = """JobID|JobName|State|NNodes|NTasks|Elapsed|Timelimit
1|run|COMPLETED|2||01:02:03|1-00:00:00
1.batch|batch|COMPLETED|1|1|01:02:03|
1.0|a.out|COMPLETED|2|64|01:02:00|
2|run|TIMEOUT|4||1-00:00:10|1-00:00:00
3|run|CANCELLED by 7|4||00:00:00|1-00:00:00
"""
TIMES = (
    "cores,nodes,time (ms),speedup\n16,1,30.5,1\n32,2,16.25,1.9\n64,4,9,3.4\n",
    "| ntasks | ns/day |\n|---|---|\n| 8 | 1.5 |\n| 16 | 2.75 |\n",
)
PRINTED = (
    "Loop time of 3.25 on 16 procs for 100 steps with 32000 atoms\n",
    """Using 8 MPI processes
Using 4 OpenMP threads per MPI process
Performance:       12.5        1.92
Finished mdrun
""",
    "nProcs : 8\nExecutionTime = 3.1 s  ClockTime = 4 s\n",
)
SERIES = """PARAMETER p
POINTS 2 4 8
REGION main
METRIC time
DATA 8.1 8.2
DATA 4.2 4.1
DATA 2.3 2.2
"""

TARGETS = {
    "machine": Target(".toml", shipped("machines", ".toml"), lambda path: registry().machine(path)),
    "workload": Target(".toml", shipped("workloads", ".toml"), workload),
    "program": Target(".py", programs, workload),
    "darshan": Target(".txt", texts(DARSHAN), workload),
    "recorder": Target(".bin", fuzz_logs.recorded, fuzz_logs.read_recorded),
    "model": Target(".pam", shipped("workloads", ".pam"), model),
    "dlio": Target(".yaml", texts(DLIO), workload),
    "trace": Target(".json", TRACES, trace),
    "columns": Target(".trace", columns, workload),
    "goal": Target(
        ".goal", recorded("goal", "calls.goal", "pipeline.goal", "reduce.goal"), any_trace
    ),
    "portals": Target(".goal", seeds("portals.goal"), any_trace),
    "goal-binary": Target(".bin", seeds("schedule.bin"), any_trace),
    "dumpi-binary": Target(".bin", seeds("dumpi.bin"), calls_of_dumpi),
    "allprof": Target(
        ".txt", recorded("allprof", "calls-0.txt"), among_ranks("allprof", "calls-0.txt")
    ),
    "dumpi": Target(
        ".txt", recorded("dumpi", "calls-0001.txt"), among_ranks("dumpi", "calls-0001.txt")
    ),
    "tracer": Target(
        ".bin", recorded("tracer", "rank-1.trace"), among_ranks("tracer", "rank-1.trace")
    ),
    "communicators": Target(
        ".bin", recorded("tracer", "rank-0.comms"), among_ranks("tracer", "rank-0.comms")
    ),
    "chakra": Target(
        ".et", recorded("chakra", "pipeline.0.et"), among_ranks("chakra", "pipeline.0.et")
    ),
    "chakra-json": Target(
        ".json", recorded("chakra", "pipeline.1.json"), among_ranks("chakra", "pipeline.1.json")
    ),
    "kineto": Target(".json", seeds("kineto.json"), any_trace),
    "gloo": Target(
        ".json", recorded("kineto", "gloo-0.json"), among_ranks("kineto", "gloo-0.json")
    ),
    "paraver": Target(".prv", recorded("paraver", "calls.prv"), any_trace),
    "paraver-regions": Target(".prv", seeds("regions.prv"), any_trace),
    "otf2": part_of_archive("traces.otf2"),
    "otf2-definitions": part_of_archive("traces.def"),
    "otf2-events": part_of_archive("traces/0.evt"),
    "operations": Target(".csv", seeds("operations.csv"), any_trace),
    "data-parallel": Target(".py", data_parallel_sources, data_parallel),
    "time-independent": Target(".tit", texts(TIT), workload),
    "gzip": Target(".gz", packed("gzip"), any_trace),
    "xz": Target(".xz", packed("lzma"), any_trace),
    "bzip2": Target(".bz2", packed("bz2"), any_trace),
    "net": Target(".json", cases("petri/tests/nets.json", "*", "net"), net),
    "pnml": Target(".pnml", texts(PNML, COLORED), pnml),
    "blocks": Target(".json", cases("emulator/tests/cases.json", "cases", "*"), blocks),
    "network": Target(
        ".json", cases("spmd/tests/data/spmd.json", "queueing_network_cases", "*"), network
    ),
    "hatchet": Target(".json", texts(LITERAL, THICKET), profile),
    "caliper": Target(".cali", profiles("caliper"), profile),
    "caliper-json": Target(".json", profiles("caliper_json"), profile),
    "tau": Target(".txt", profiles("tau", "profile.0.0.0"), renamed("profile.0.0.0")),
    "hpctoolkit": Target(".xml", profiles("hpctoolkit", "experiment.xml"), profile),
    "cube": Target(".cubex", profiles("cube"), profile),
    "nsight": Target(".sqlite", exports, profile),
    "pipit": Target(".csv", profiles("pipit_csv"), profile),
    "projections": Target(
        ".log",
        profiles("projections", "run.prj.0.log"),
        renamed("run.prj.0.log", ("run.prj.sts", STS)),
    ),
    "accounting": Target(".csv", texts(JOBS, JOBS.replace("|", ",")), times),
    "tables-of-times": Target(".csv", texts(*TIMES), times),
    "printed-times": Target(".log", texts(*PRINTED), times),
    "extra-p-text": Target(".txt", texts(SERIES), read_measured),
    "jsim": Target(".jsimg", queuing("mixed.jsimg", "forks.jsimg"), solved_network),
    "jmva": Target(".jmva", queuing("line-one.jmva", "line-two.jmva"), solved_network),
    "measured": Target(
        ".csv", texts("p,d,time\n1,1,2.5 s\n4,1,0.7 s\n", "p,time\n2,1.5\n"), read_measured
    ),
    "extra-p": Target(
        ".jsonl", texts('{"params":{"p":4},"metric":"time","value":1.5}\n' * 3), read_measured
    ),
    "study": Target(
        ".toml",
        texts(
            'workload="btio"\nmachine="ibm-sp2"\nsolver="spmd"\np=[1,4]\nd="1..4"\n'
            '[set]\nn=[64,"8*p"]\n"network.bandwidth"=["1 GB/s","27 +- 1 MB/s"]\n'
        ),
        lambda path: read_study(registry(), path),
    ),
    "results": Target(".json", rows, results),
    "formula": Target(
        ".txt",
        texts("2*n**3/p + log2(p)*(3 if p > 2 else ceil(n/p))", "max(n, 3) - -p % 7"),
        formula,
    ),
    "quantity": Target(".txt", texts("27 +- 1 MB/s", "1.5e3 GFLOP/s", "25 to 29 ms"), quantity),
    "distribution": Target(
        ".txt", texts("erlang:4,25us", "sampled:1ms,2ms", "lognormal:27us,3us"), distribution
    ),
    "numbers": Target(".txt", texts("1..64*2", "4,9,16", "1..1024+7"), numbers),
    "settings": Target(
        ".txt",
        texts(
            *("network.bandwidth=27 MB/s", "n=8*p", "spmd.sio.method=ctmc", "storage.disks=d+1"),
            *("nodes.oversubscribe=true", "network.startup=25 to 29 us", "storage.layout=bus"),
        ),
        settings,
    ),
}

if fuzz_logs.HAS_DARSHAN:
    TARGETS |= {
        "darshan-log": Target(".darshan", fuzz_logs.darshan_logs, fuzz_logs.read_darshan),
        "darshan-streams": Target(".bin", fuzz_logs.darshan_streams, fuzz_logs.read_streams),
    }
