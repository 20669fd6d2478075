"""Public series that no choice of the prior was made on: times of codes and collectives over p.

`SOURCES` names the repositories, each with its reader. The rules were written down, and this file
was committed, before anything was predicted of these series:

- A series has three sizes or more. Everything but p is the same in it: problem, code, compiler,
  libraries, threads of a process, processes of a node. Where a file says that something else
  differs, the size or the series is left out: the k-point pools of Quantum ESPRESSO on Marconi, the
  other shapes of Fugaku's torus, the serial program at p = 1, IPM switched on.
- p is what the source counts: nodes where it counts nodes, else processes or cores.
- The time is the one that the source compares: of the whole code or of its main loop, never of a
  part of it. A rate is work over time. Where the source says that the problem grows with p, or
  states its size, that is the work n.
- Repeats are runs, all of them. Where the source states a mean, or the least, of its repeats, that
  is one run, since the ends of a hundred repeats are not two more runs.
- Collectives are those of an MPI library's own choice of algorithm, of every message in the table
  that is `_BYTES` or, of PICO, that it measures, from two nodes on: within a node no network works.
- Microbenchmarks of memory and of messages between two processes are left out, and so are runs that
  the source marks as failed, commented out, or to warm up.
- A family is a code, a system and a problem; of collectives an operation, a system and a library.
  Each counts the same. Of a family six predictions at each factor are judged at most, those whose
  names have the least hash: so that all are judged in half an hour.

`azure` reads the Markdown tables of a documentation repository that is too large to clone quickly;
`git clone --depth 1 --filter=blob:none --sparse` of ``docs/guide/hpc`` is enough.
"""

from __future__ import annotations

import csv
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from clones import blobs, texts
from series import Runs, Series

Reader = Callable[[Path], Iterator[Series]]

_BYTES = {"4", "64", "1024", "16384", "262144", "1048576"}


def wrf(repository: Path) -> Iterator[Series]:
    """Yield WRF on Cheyenne, by case: seconds of all computed steps, without reading and writing.

    akirakyle/WRF_benchmarks at e69e07ee, no licence; 1 to 1024 nodes.
    """
    runs = Runs("WRF_benchmarks")
    for _, text in texts(repository, r"^docs/data\.org$"):
        for row in re.finditer(r"\| (\S+)-N(\d+)\.rsl +\| +\d+ \| +([\d.]+) ", text):
            name, nodes, seconds = row.groups()
            case = name.split("-WRF")[0]
            runs.add("applications", f"wrf cheyenne {case}", name, int(nodes), float(seconds))
    yield from runs


def pico(repository: Path) -> Iterator[Series]:
    """Yield collectives of LUMI, Leonardo and MareNostrum, one process a node: medians in ns.

    HLC-Lab/pico at 413bc5d0, MIT; 4 to 2048 nodes. A run is the median of its iterations. Archives
    that a clone has not are left out; judged were 43 of 80.
    """
    runs = Runs("pico")
    tests = {}
    for path, text in texts(repository, r"^results/(lumi|leonardo|mare_nostrum)_metadata\.csv$"):
        system = path.split("/")[1].removesuffix("_metadata.csv")
        for row in csv.DictReader(io.StringIO(text)):
            tests[row["timestamp"], row["test_id"]] = system, row
    for _, data in blobs(repository, r"^results/(lumi|leonardo|mare_nostrum)/.*\.tar\.gz$"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                match = re.match(r"(.+)/(\d+)/(\d+)_default_(ompi|mpich)_int32\.csv$", member.name)
                if not match or (match[1], match[2]) not in tests:
                    continue
                system, row = tests[match[1], match[2]]
                if row["tasks_per_node"] != "1" or row["gpu_awareness"] != "no":
                    continue
                lines = archive.extractfile(member).read().decode().split()[1:]
                operation = row["collective_type"].lower()
                family = f"{operation} {system} {match[4]}"
                seconds = 1e-9 * median(float(line) for line in lines)
                runs.add(operation, family, f"{family} {match[3]} B", int(row["nnodes"]), seconds)
    yield from runs


#: Figures of merit of a node of Crossroads or CTS-1, by file: (column of p, columns of the rate).
_LANL = {
    r"01_branson/cpu_\d+M(?:_new)?": (0, [1]),
    r"02_amg/roci_\d_\d+": (0, [1]),
    r"03_vibe/cpu_\d+": (0, [1]),
    r"05_mlmd/cpu_\d+k": (0, [1]),
    r"06_umt/spp\d_strong_scaling_roci": (0, [1]),
    r"07_miniem/ats3-\d+k": (0, [5]),
    r"08_sparta/ats3--\d+": (0, [1]),
    r"archive/cts1/sparta/cts1-[\d.]+": (0, [1]),
}

#: The same of weak scaling: the columns, and whether the rate is that of a node.
_LANL_WEAK = {
    r"02_amg/scaling/weak": ([1, 2], False),
    r"03_vibe/scaling/weak(?:-august)?": ([1], False),
    r"08_sparta/ats3--scale--main": ([1], True),
}


def lanl(repository: Path) -> Iterator[Series]:
    """Yield the benchmark codes of two procurements: one over the figure of merit.

    lanl/benchmarks at 7e0fdf9f, BSD-3-Clause; 1 to 112 cores of a node, and 1 to 4096 nodes of
    Crossroads where the problem grows with p.
    """
    runs = Runs("lanl/benchmarks")
    for path, text in texts(repository, r"^doc/sphinx/.*\.csv$"):
        name = path.removeprefix("doc/sphinx/").removesuffix(".csv")
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text))][1:]
        code = re.sub(r"^(?:archive/cts1/)?(?:\d\d_)?([^/]+)/.*", r"\1", name)
        for pattern, (size, rates) in _LANL.items():
            if re.fullmatch(pattern, name):
                problem = name.rpartition("/")[2].removesuffix("_new")
                for row in rows:
                    p = float(row[size].removesuffix("%"))
                    for rate in rates:
                        seconds = 1 / float(row[rate])
                        runs.add("applications", f"{code} node {problem}", name, p, seconds)
        for pattern, (rates, of_node) in _LANL_WEAK.items():
            if re.fullmatch(pattern, name):
                for row in rows:
                    p = float(row[0])
                    for rate in rates:
                        seconds = 1 / float(row[rate]) if of_node else p / float(row[rate])
                        family = f"{code} crossroads weak {rate}"
                        runs.add("applications", family, f"{name} {rate}", p, seconds, p)
    yield from runs


def castro(repository: Path) -> Iterator[Series]:
    """Yield Castro on Frontier and Summit: the mean time of a step, or of the whole evolution.

    AMReX-Astro/Castro at f63fde10, BSD-3-Clause; 16 to 2048 nodes.
    """
    runs = Runs("Castro")
    pattern = r"^Exec/science/(flame_wave|wdmerger)/scaling/(frontier|summit)/.*\.txt$"
    for path, text in texts(repository, pattern):
        problem, system = re.search(pattern, path).groups()
        for line in text.splitlines():
            words = line.split()
            if not words or line.lstrip().startswith("#"):
                continue
            if problem == "wdmerger":
                base = re.search(r"(\d+)base", path)[1]
                for column, seconds in enumerate(words[1:]):
                    family = f"castro {system} wdmerger {base}"
                    name = f"{path} {column}"
                    runs.add("applications", family, name, int(words[0]), float(seconds))
                continue
            # nodes, perhaps versions and the size of a grid, the mean time, its deviation, parts
            told = 2 if system == "summit" else len(words) - 2
            variant = " ".join(words[1:told])
            family = f"castro {system} flame_wave"
            name = f"{path} {variant}"
            runs.add("applications", family, name, int(words[0]), float(words[told]))
    yield from runs


def ffts(repository: Path) -> Iterator[Series]:
    """Yield three-dimensional FFTs on Jean Zay by two libraries: means of 100 repeats in ms.

    jipolanco/PencilFFTs.jl at 68f366f8, MIT; 128 to 16384 processes.
    """
    runs = Runs("PencilFFTs.jl")
    for path, text in texts(repository, r"results/.*/N\d+/\w+\.dat$"):
        grid = path.split("/")[-2]
        for line in text.splitlines():
            words = line.split()
            if words and words[0] != "#":
                seconds = 1e-3 * float(words[7])
                runs.add("applications", f"fft jean-zay {grid}", path, int(words[3]), seconds)
    yield from runs


def espresso(repository: Path) -> Iterator[Series]:
    """Yield Quantum ESPRESSO on Piz Daint, with SIRIUS and without: wall seconds.

    electronic-structure/benchmarks at 988a66a4, no licence; 4 to 64 nodes.
    """
    runs = Runs("electronic-structure")
    pattern = r"^(.*)/(\d+)/CSCS/(PizDaint-[CG]PU)/slurm-\d+_(\d+)_[cg]pu_nodes.*\.out$"
    for path, text in texts(repository, pattern):
        case, grid, system, nodes = re.search(pattern, path).groups()
        wall = re.search(r"PWSCF +:.*CPU *(?:(\d+)h)? *(?:(\d+)m)? *(?:([\d.]+)s)? *WALL", text)
        if wall:
            hours, minutes, seconds = (float(part or 0) for part in wall.groups())
            total = 3600 * hours + 60 * minutes + seconds
            family = f"quantum-espresso {system} {case} {grid}"
            runs.add("applications", family, family, int(nodes), total)
    yield from runs


def heat(repository: Path) -> Iterator[Series]:
    """Yield a heat equation on Barbora by three layouts: seconds of an iteration, without a file.

    xmihol00/MPI_projects at 8f787fe8, no licence; 4 to 128 processes times threads. Two rows of
    each size are of two ways to exchange boundaries, in this order.
    """
    runs = Runs("MPI_projects")
    for path, text in texts(repository, r"^heat_propagation/results_no_fs_raw/run_full_\w+\.csv$"):
        layout = re.search(r"run_full_(\w+)_out", path)[1]
        ways: Counter[tuple[str, int]] = Counter()
        for row in csv.DictReader(io.StringIO(text), delimiter=";"):
            if row["output_file"] or row["simulation_mode"] != "par":
                continue
            p, domain = int(row["mpi_procs"]) * int(row["omp_threads"]), row["domain_size"]
            family = f"heat barbora {layout} {domain}"
            name = f"{family} way {ways[domain, p]}"
            ways[domain, p] += 1
            runs.add("applications", family, name, p, float(row["iteration_time"]))
    yield from runs


#: Where an output of a code states its time, by folder; of GROMACS it is ns a day, a rate.
_ISAMBARD = {
    "cloverleaf": r"Wall clock +([\d.]+)",
    "gromacs": r"Performance: +([\d.]+)",
    "nemo": r" Maximum +\| +([\d.]+)",
    "openfoam": r"ExecutionTime = ([\d.]+) s",
    "opensbli": r"Total Wall time.*, *([\d.]+)",
    "snap": r"Total Execution time +([\d.E+-]+)",
    "tealeaf": r"Wall clock +([\d.]+)",
    "vasp": r"Elapsed time \(sec\): +([\d.]+)",
}


def isambard(repository: Path) -> Iterator[Series]:
    """Yield eight codes on Isambard, Catalyst, Swan and Horizon: the time that an output ends with.

    UoB-HPC/benchmarks at ee6f6d55, no licence; 1 to 64 nodes. SNAP's problem grows with p.
    """
    runs = Runs("UoB-HPC")
    pattern = rf"^({'|'.join(_ISAMBARD)})/([\w-]+)/results/scale-(\d+)_(.*)\.out$"
    for path, text in texts(repository, pattern):
        code, system, nodes, build = re.search(pattern, path).groups()
        found = re.findall(_ISAMBARD[code], text)
        if not found:
            continue
        work = 1.0
        if code == "snap":
            for axis in "xyz":
                work *= int(re.search(rf"(?m)^ +n{axis} ?= *(\d+)", text)[1])
        seconds = 1 / float(found[-1]) if code == "gromacs" else float(found[-1])
        family = f"{code} {system}"
        runs.add("applications", family, f"{family} {build}", int(nodes), seconds, work)
    yield from runs


def e3sm(repository: Path) -> Iterator[Series]:
    """Yield HOMME on Summit and EAM on three systems: seconds of the main loop, by step.

    E3SM-Project/perf-data at 3b5f3ec8, no licence; 1 to 8192 nodes.
    """
    runs = Runs("perf-data")
    pattern = r"^nhxx-sl-summit-mar2021/data/qsize\d+/\w+-(ne\d+)-nmax\d+-(qsize\d+)-nnode(\d+)-out"
    for path, text in texts(repository, pattern):
        grid, tracers, nodes = re.search(pattern, path).groups()
        loop = re.search(r'"prim_main_loop" +- +\d+ +\d+ +\S+ +\S+ +([\d.]+)', text)
        if loop:
            family = f"homme summit {grid}"
            runs.add("applications", family, f"{family} {tracers}", int(nodes), float(loop[1]))
    timer = r'"CPL:RUN_LOOP" +- +(\d+) +\d+ +(\S+) +\S+ +([\d.]+)'
    scream = r"^screamv1-([\w-]+)-\w+20\d\d/data/(.*)-nnodes(\d+)\.(\w+)\..*_timing_stats$"
    eam = r"-fcase-(chrysalis)-r0-timers/[\w-]+\.([\w-]+)\.(\w+)\.(\d+)-model_timing_stats$"
    for path, text in texts(repository, f"{scream}|{eam}"):
        loop = re.search(timer, text)
        if match := re.search(scream, path):
            system, variant, nodes, grid = match.groups()
        else:
            system, variant, grid, nodes = re.search(eam, path).groups()
        if loop:
            steps = float(loop[2]) / int(loop[1])
            family = f"eam {system} {grid}"
            name = f"{family} {variant}"
            runs.add("applications", family, name, int(nodes), float(loop[3]) / steps)
    yield from runs


def hpx(repository: Path) -> Iterator[Series]:
    """Yield allreduce of 256 elements by MPI and four ways of HPX-5: seconds of 1000, five runs.

    uswick/scripts_misc at 281f8f91, no licence; 2 to 16 nodes, 16 processes of MPI a node.
    """
    runs = Runs("scripts_misc")
    for path, text in texts(repository, r"^micro_N_256_I_1000_.*\.res$"):
        way = path.removeprefix("micro_N_256_I_1000_").removesuffix(".res")
        per_node = 16 if way == "mpi" else 1
        for run in text.split("Running ")[1:]:
            nodes = int(re.search(r"mpirun -np (\d+)", run)[1]) // per_node
            elapsed = re.search(r"elapsed time = ([\d.]+)", run)
            if nodes > 1 and elapsed:
                runs.add("allreduce", f"allreduce {way}", path, nodes, float(elapsed[1]))
    yield from runs


def _tables(notebook: str) -> Iterator[str]:
    """Yield the tables that cells of a notebook print."""
    for cell in json.loads(notebook)["cells"]:
        for output in cell.get("outputs", ()):
            yield "".join(output.get("data", {}).get("text/plain", ()))


def _add_osu(runs: Runs, operation: str, system: str, table: str) -> None:
    """Add a table of messages in rows and processes in columns, in µs."""
    head, _, *rows = table.splitlines()
    for row in rows:
        message, *times = row.split()
        if message in _BYTES:
            sizes = zip(head.split(), times, strict=True)
            for processes, micros in list(sizes)[1:]:  # the first is one node
                family = f"{operation} {system}"
                name = f"{family} {message} B"
                runs.add(operation, family, name, int(processes), 1e-6 * float(micros))


def aws(repository: Path) -> Iterator[Series]:
    """Yield broadcast and allreduce on c5n of AWS by two MPI libraries, with EFA and TCP.

    JiaweiZhuang/aws-mpi-benchmark at 3d6207f7, MIT; 2 to 32 nodes. With EFA the printed run of all
    messages, else the least of five runs of 1 MiB.
    """
    runs = Runs("aws-mpi-benchmark", cloud=True)
    for path, text in texts(repository, r"^notebooks/(bcast|allreduce)_scaling\.ipynb$"):
        operation = re.search(r"(\w+)_scaling", path)[1]
        table = next(table for table in _tables(text) if table.split()[:1] == ["36"])
        _add_osu(runs, operation, "aws intelmpi-efa", table)
    for _, text in texts(repository, r"^notebooks/collective_compare_pleiades\.ipynb$"):
        wanted = [table for table in _tables(text) if "\ncores " in table]
        for operation, table in zip(("bcast", "allreduce"), (wanted[0], wanted[2]), strict=True):
            libraries = table.splitlines()[0].split()
            for row in table.splitlines()[2:]:
                processes, *times = row.split()
                for library, micros in zip(libraries, times, strict=True):
                    if library.endswith("TCP"):
                        family = f"{operation} aws {library}"
                        runs.add(operation, family, family, int(processes), 1e-6 * float(micros))
    yield from runs


def pleiades(repository: Path) -> Iterator[Series]:
    """Yield broadcast and allreduce on Pleiades, the printed run.

    JiaweiZhuang/pleiades-mpi-benchmark at 591ee24c, MIT; 3 to 48 nodes.
    """
    runs = Runs("pleiades-mpi-benchmark")
    for _, text in texts(repository, r"^notebooks/collectives\.ipynb$"):
        wanted = [table for table in _tables(text) if table.split()[:1] == ["24"]]
        for operation, table in zip(("bcast", "allreduce"), wanted[:2], strict=True):
            _add_osu(runs, operation, "pleiades mpt", table)
    yield from runs


def gchp(repository: Path) -> Iterator[Series]:
    """Yield GEOS-Chem on AWS and Pleiades: total seconds.

    JiaweiZhuang/cloud-gchp-paper at e1de9dac, MIT; 144 to 1152 processes.
    """
    clouds, cluster = Runs("cloud-gchp-paper", cloud=True), Runs("cloud-gchp-paper")
    for _, text in texts(repository, r"^notebooks/gchp_scaling_logscale\.ipynb$"):
        wanted = [table for table in _tables(text) if "GIGCchem" in table][:3]
        systems = ((cluster, "pleiades"), (clouds, "aws openmpi-tcp"), (clouds, "aws intelmpi-efa"))
        for (runs, system), table in zip(systems, wanted, strict=True):
            head, *rows = table.splitlines()
            total = head.split().index("Total") + 1
            for row in rows:
                words = row.split()
                family = f"gchp {system}"
                runs.add("applications", family, family, int(words[-1]), float(words[total]))
    yield from clouds
    yield from cluster


def flux_operator(repository: Path) -> Iterator[Series]:
    """Yield LAMMPS on AWS and Google, in Kubernetes: seconds of its loop, up to 30 runs each.

    converged-computing/operator-experiments at 4942e543, no licence; 2 to 64 nodes. A run to warm
    up, whose folder begins with an underscore, is left out.
    """
    runs = Runs("operator-experiments", cloud=True)
    amazon = r"^aws/lammps/kubecon/(run\d)/data/.*/lmp-(\d+)-\d+-minicluster-size-\d+/log\.out$"
    google = r"^google/(service-timing/run13/(?:c2d|tau)[\w-]+|bare-metal-comparison/compute-engine"
    google += r"/experiments/lammps/run1)/data/(?:[\w-]+/)?size_(\d+)(_small)?/lammps[\w-]*\.log$"
    for path, text in texts(repository, f"{amazon}|{google}"):
        if match := re.search(amazon, path):
            name, nodes = f"aws hpc6a {match[1]}", match[2]
            family = "lammps aws hpc6a"
        else:
            match = re.search(google, path)
            name, nodes = f"google {match[1]} {match[3] or ''}", match[2]
            family = f"lammps {name}"
        if loop := re.search(r"Loop time of ([\d.]+) on \d+ procs (for .* atoms)", text):
            runs.add("applications", family, f"{name} {loop[2]}", int(nodes), float(loop[1]))
    yield from runs


def azure(repository: Path) -> Iterator[Series]:
    """Yield codes on HBv3 of Azure, in one machine or on several: seconds.

    MicrosoftDocs/architecture-center, docs/guide/hpc, CC BY 4.0; 4 to 120 cores of a machine, and
    64 to 1024 of up to 16. p is in cores. Tables of costs repeat the times and are left out, and so
    are those whose threads change with p or whose rows do not have the columns of their head.
    """
    runs = Runs("azure", cloud=True)
    for path, text in texts(repository, r"^docs/guide/hpc/.*-content\.md$"):
        code = path.rpartition("/")[2].removesuffix("-content.md").removeprefix("hpc-")
        for number, (heading, table) in enumerate(_markdown(text.partition("## Azure cost")[0])):
            where = "cluster" if any("node" in name.lower() for name in table[0]) else "machine"
            for row in table:
                p = _cores(row)
                for column, value in row.items():
                    if p and re.search(r"\((seconds|sec|s)\)", column) and "Starter" not in column:
                        model = row.get("Model", heading)
                        family = f"{code} azure {model}"
                        name = f"{family} {where} {number} {column}"
                        runs.add("applications", family, name, p, float(value.replace(",", "")))
    yield from runs


def _markdown(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Yield the heading and the rows of each table, without rows that do not have its columns."""
    heading, table = "", []
    for line in [*text.splitlines(), ""]:
        if "|" in line:
            table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if len(table) > 2:
            head, _, *rows = table
            if kept := [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]:
                yield heading, kept
        table = []
        if line.startswith("#"):
            heading = line.strip("# ")


def _cores(row: dict[str, str]) -> int | None:
    """Return the cores that a row states, or that its kind of machine has."""
    for column, value in row.items():
        if re.search(r"(?i)\b(cores|cpus?|vcpu|processors)\b", column) and "per" not in column:
            return int(re.match(r"[\d,]+", value)[0].replace(",", ""))
    machine = re.match(r"Standard_HB120-?(\d*)rs", next(iter(row.values())))
    return int(machine[1] or 120) if machine else None


SOURCES: dict[str, Reader] = {
    "akirakyle/WRF_benchmarks": wrf,
    "HLC-Lab/pico": pico,
    "lanl/benchmarks": lanl,
    "AMReX-Astro/Castro": castro,
    "jipolanco/PencilFFTs.jl": ffts,
    "electronic-structure/benchmarks": espresso,
    "xmihol00/MPI_projects": heat,
    "UoB-HPC/benchmarks": isambard,
    "E3SM-Project/perf-data": e3sm,
    "uswick/scripts_misc": hpx,
    "JiaweiZhuang/aws-mpi-benchmark": aws,
    "JiaweiZhuang/pleiades-mpi-benchmark": pleiades,
    "JiaweiZhuang/cloud-gchp-paper": gchp,
    "converged-computing/operator-experiments": flux_operator,
    "MicrosoftDocs/architecture-center": azure,
}


def unseen(clones: Path) -> Iterator[Series]:
    """Yield the series of all clones in a folder, each as ``owner+name``."""
    for source, read in SOURCES.items():
        folder = clones / source.replace("/", "+")
        if folder.exists():
            yield from read(folder)
