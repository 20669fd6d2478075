"""Give files that no reader was written from to the command, as whoever has them would.

    uv run python experiments/trace-files/strangers.py CLONES -o strangers.md

CLONES has git repositories called ``owner+name``; the rows of those that it lacks stay as they are
on the page. Of each file `parcast show` is asked what it is,
and `parcast compare` how long it takes on a machine; of a net `parcast petri prove` what holds.
Places and transitions of a net are counted in its XML as well, kernels and copies of an export of
Nsight Systems in its tables, those of a profile of PyTorch in its JSON, the seconds of TAU's in its
text. Tables of Slurm's jobs are asked for a limit.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

from table import profile_counted, wanted_files

#: Repository, which files, and on which machine they are asked about; of nets there is none, and
#: of Slurm's jobs the command.
WANTED = (
    ("oar-team+batsim", r"workloads/(smpi|usage-trace)/[^/]+/actions0\.txt$", "milan-hdr"),
    ("adfaure+batsim", r"smpi/[^/]+/actions0\.txt$", "milan-hdr"),
    ("jychoi-hpc+dumpi-cortex", r"traces/\w+\.bin$", "milan-hdr"),
    ("LLNL+thicket-tutorial", r"mpi_scaling_cali/.*\.cali$|1048576/1/.*\.cali$", "milan-hdr"),
    ("hpc-io+dxt-explorer", r"sample/.*\.darshan$", "lustre-flash"),
    ("CvO-Theory+apt", r"nets/(pnml-iso/)?[^/]*\.pnml$", ""),
    ("pm4py+pm4py-core", r"tests/input_data/.*\.pnml$", ""),
    ("woped+bpmn-pnml-transformer", r"\.pnml$", ""),
    ("lugoboni+pnmltopml", r"\.pnml$", ""),
    ("lukoerfer+simple-pnml-java", r"example/.*\.pnml$", ""),
    (
        "TAPAAL-Developers+verifypn",
        r"test_models/(FMS2|Kanban2|MAPK|abp|combined)[^/]*/model\.pnml$",
        "",
    ),
    ("mogeb+extrae-paraver-bin", r"\.prv$", "milan-hdr"),
    ("NERSC+pytokio", r"tests/inputs/(no|sample)[^/]*\.darshan$", "lustre-flash"),
    ("LLNL+hatchet-tutorial", r"cali-demo/.*\.cali$|experiment\.xml$", "milan-hdr"),
    ("mbdevpl+hpctoolkit_dataframe", r"experiment\d\.xml$", "milan-hdr"),
    ("brandonneth+hpctoolkit-demo", r"experiment\.xml$", "milan-hdr"),
    ("JC-me-coding+dtu_mlops", r"^trace\.json$", "milan-hdr"),
    ("EpsilonPiDelta+mlops_1", r"trace\.json$", "milan-hdr"),
    ("harryjmoss+particle_transformer", r"^(gpu|profiler_trace(_single)?)\w*\.json$", "a100-hdr"),
    ("KeondoPark+luxmea", r"^profiler_trace\.json$", "milan-hdr"),
    ("EricDinging+astra-sim-hybrid-parallelism", r"^(?!.*microbench).*\.0\.et$", "milan-hdr"),
    *(
        (repository, r"\.sqlite$", "a100-hdr")
        for repository in (
            "caoye310+Lower-Triangular-Solves",
            "RajaATAli+SC23_Programming-Your-GPU-with-OpenMP_Tutorial",
            "SMcMann+cudaHW",
            "Lianhang666+gpu4",
            "tomarriott+GTLS",
            "kmcho2019+Rodinia_3.1_Gaussian",
            "igouProto+CSC746CUDALab",
            "lighttransport+gemm",
            "Fluuuegel+DD2360-Project",
        )
    ),
    ("PolPuigPuy+OpenACC_Project_PolPuig", r"^report1[2-4]\.sqlite$", "a100-hdr"),
    ("taroyz+hehe", r"^profile\.[\d.]+$", "milan-hdr"),
    ("khtsmile+McBOX", r"^profile\.0\.0\.0$", "milan-hdr"),
    ("UO-OACISS+tau2", r"(examples|tools)/.*profile\.0\.0\.0$", "milan-hdr"),
    ("FrancescoSaverioZuppichini+py4ai", r"^trace2?\.json$", "a100-hdr"),
    ("monishapuli13+ML-Performance-Profiler", r"^traces/trace\.json$", "a100-hdr"),
    ("DarthShoge+Crypto_CNN", r"^trace\.json$", "a100-hdr"),
    ("Gabriellanaro+dtu_mlops", r"^trace\.json$", "a100-hdr"),
    ("codes-org+codes", r"\.darshan$", "lustre-flash"),
    ("LLNL+hatchet", r"data/caliper-ordered.*\.cali$", "milan-hdr"),
    *(
        (repository, r"sacct\.(csv|txt)$", "walltime")
        for repository in (
            "OSC+ood-sacct",
            "DylanBC09+kabre",
            "SteampunkIslande+slurm-usage-report-rs",
        )
    ),
    ("youtao1999+CT_toy", r"^sacct_output\.txt$", "walltime"),
    *(
        (repository, r"trace\w*\.json$", "a100-hdr")
        for repository in (
            "HazyResearch+zoology",
            "CodingPlatelets+SwitchTransformers",
            "CongSheng+SpikingConvNN-AudioClassification",
            "ChrisVN123+mlops_testmappe",
            "marcalph+kernelforge",
            "floritange+ebpf_cuda_monitoring",
            "twxs+cxxtracing",
            "HaydenA0+small-c-profiler",
        )
    ),
    ("jjasoncool+ROCm-ASTRAsim", r"trace_rank_0_epoch_(1|10)\.json$", "milan-hdr"),
    ("shuoshuc+astra-sim-artifacts", r"\.0\.et$", "milan-hdr"),
    ("jinsun-yoo+astra-sim", r"\.0\.et$", "milan-hdr"),
    ("bsc-mem+PROFET-PARAVER", r"^tests/traces/.*\.prv$", "milan-hdr"),
    ("Aryag1507+CSCE435Project", r"(t1024-v1048576-i2|p1024-a262144|merge)\.cali$", "milan-hdr"),
    ("daaangdennis+CSCE435_Project_2024", r"-p(2|1024)-a18\.cali$", "milan-hdr"),
    ("kimcchen+CSCE435_Project", r"^bitonic.*p16-a134217728-\w+\.cali$", "milan-hdr"),
    *(
        (repository, r"profile\.0\.0\.0$", "milan-hdr")
        for repository in (
            "AlexDalt+HPC-Lattice-Boltzmann",
            "ThanGeo+Hecatoncheir",
            "ParaToolsInc+taucmdr",
            "Arroch35+Lab1-Parallel-Programming",
            "brunowu+m-UCGLE",
            "jeevan0920+CS633-Project",
            "NarcisNogue+CAP_Practica1",
        )
    ),
    ("amintos+mpi-factoring", r"^profile\.[\d.]+$", "milan-hdr"),
    ("readex-eu+readex-scorep", r"\.cubex$|profile\.0\.0\.0$", "milan-hdr"),
    ("kusnezoff-alexander+otf2_cli_profile", r"\.cubex$", "milan-hdr"),
    *(
        (repository, r"^report\d+\.sqlite$", "a100-hdr")
        for repository in (
            "blbadger+threebody",
            "frasertajima+WeatherBench2",
            "IkerCanut+fire_spread",
            "davidev886+tutorial_vqe",
            "StellaWava+benchmarking-n-profiling-",
            "CO18326+uvmTorch",
            "NVIDIA+Fuser",
        )
    ),
    ("ZhangXin8069+qcu", r"^refer/qcu/(test/)?report[15]\.sqlite$", "a100-hdr"),
    ("spcl+HTSIM-old", r"^goal_converter/(incast_64|multiple|perm_across)\w*\.goal$", "milan-hdr"),
    ("oar-team+batsim-experiments", r"\.tit$", "milan-hdr"),
    *(
        (repository, wanted, "")
        for repository, wanted in (
            ("TamiaoNguyen+petri-net-project", r"\.pnml$"),
            ("FrankBGao+pnml_from_place", r"\.pnml$"),
            ("bptlab+lola-webservice", r"\.pnml$"),
            ("gingerabsurdity+hldiscovery", r"^(nets/)?[^/]*\.pnml$"),
            ("irgangla+pntools", r"\.pnml$"),
            ("khiemtruong53+PetriNet_Python", r"\.pnml$"),
            ("pedrogleta+yawl-to-pnml", r"\.pnml$"),
            ("nikita-kostylev+federated-est-miner", r"^tests/.*\.pnml$"),
            ("vbloemen+pnmlprod", r"\.pnml$"),
            ("ainnoot+ilp-pn-repair", r"^Syntetic_data/.*\.pnml$"),
        )
    ),
)
#: Where files were that later commits have no more.
COMMITS = {
    "harryjmoss+particle_transformer": "466d60845dd219941ab184d2f6f7845d2ce87c8d",
    "KeondoPark+luxmea": "eb9f0e1e029232adfa7728e5e4668561a78ee9eb",
    "HazyResearch+zoology": "0f98dfe96d5ed1c994794d5d8d82f5c03b580b0c",
    "CodingPlatelets+SwitchTransformers": "8b421f1efc4f711443f4597458fd57b4ce8dd9a7",
    "CongSheng+SpikingConvNN-AudioClassification": "34060944cde8d7753e87f19ebf34ef7472bfd979",
    "jjasoncool+ROCm-ASTRAsim": "c765bf428312e34e11c1be0cb29c87eb95135625",
    "marcalph+kernelforge": "3d1667d8c81856105e9dea9c0a9cee35a29e8f29",
    "AlexDalt+HPC-Lattice-Boltzmann": "9b204e2f84f67842b6b8cf91eb03ee39a03ee0a9",
    "amintos+mpi-factoring": "87496af34235e19cf4a6d14491b56d50a38a4dd7",
    "ThanGeo+Hecatoncheir": "6ef63324f6546937a2f8f8e422119f6eaf20d02b",
    "ParaToolsInc+taucmdr": "cb68dfd8f28a852f7beaeabc4252d233f80edad5",
    "brunowu+m-UCGLE": "ecdac8bfb6afbfd3dee3531c56dacb88e942de92",
    "jeevan0920+CS633-Project": "44dde20f02d7ef1003ea9349203b0a847cd9a663",
    "kusnezoff-alexander+otf2_cli_profile": "c9a5b5eb1611f9efb69484d5a29533847cf149ee",
    "blbadger+threebody": "076f5cd0a69699919fd23323ff375b74e0aff958",
    "IkerCanut+fire_spread": "8c67db295796d4cc33b360fe2a108849aef409ff",
    "davidev886+tutorial_vqe": "c242edb3f5b603d0fcd6744bbaf24626e5d9057a",
    "StellaWava+benchmarking-n-profiling-": "74baf909d5f1b13d21fe74d7728f9573589ecfcb",
    "ZhangXin8069+qcu": "8b3cd9e30793826473d0ed5f872482810cf82ebd",
    "NVIDIA+Fuser": "ee4fcf30530528664783f7729b1559829fd42d9e",
    "spcl+HTSIM-old": "6b0d460065926feb368aa7e9606c6477fcf7a293",
    "bptlab+lola-webservice": "8bbab4bb3bee6b643c6e75a7f4e2b8c0828971db",
    "ainnoot+ilp-pn-repair": "dcd5328d386e9d5577d6ed0fcd69c410d9f9b60c",
    "youtao1999+CT_toy": "7c426036952ec5aed182967d96e9b4ace3712f07",
}
_LIMIT = 300


def asked(arguments: Sequence[str], folder: Path) -> tuple[int, str]:
    """Return the exit code of a command and what it prints, with names as they are in the clone."""
    command = [sys.executable, "-m", "parcast", *arguments]
    try:
        done = subprocess.run(  # noqa: S603  (the command itself)
            command, capture_output=True, text=True, timeout=_LIMIT, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return 1, f"takes over {_LIMIT} s"
    return done.returncode, done.stdout or done.stderr


def counted(path: Path) -> str:
    """Return how many places and transitions the XML of a net has, as the command says it."""
    root = ET.parse(path)  # noqa: S314
    names = [element.tag.rpartition("}")[2] for element in root.iter() if element.get("id")]
    return f"{names.count('place'):,} places, {names.count('transition'):,} transitions"


def stated(path: Path) -> list[str]:
    """Return what the command has to say of a profile, by a count of its own."""
    try:
        if path.suffix == ".sqlite":
            return list(nsight_stated(path))
        if path.suffix == ".json":
            kinds = {"kernels": "kernels", "copies": "copies", "fills": "fills"}
            counts = profile_counted(path)
            return [f"work.{kind} {counts[name]}" for name, kind in kinds.items() if name in counts]
    except (sqlite3.Error, UnicodeDecodeError, ValueError, KeyError):
        return []
    return list(tau_stated(path)) if path.name.startswith("profile.") else []


def nsight_stated(path: Path) -> Iterator[str]:
    """Yield count and nanoseconds of kernels, copies and fills by the tables of an export."""
    words = {"KERNEL": "kernel", "MEMCPY": "copies of memory", "MEMSET": "fills of memory"}
    with closing(sqlite3.connect(path)) as connection:
        present = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
        for kind, word in words.items():
            table = f"CUPTI_ACTIVITY_KIND_{kind}"
            if table in present:
                query = f'SELECT count(*), sum("end") - sum(start) FROM {table}'  # noqa: S608
                ((count, nanoseconds),) = connection.execute(query)
                yield f"{word} {count:,}, {(nanoseconds or 0) * 1e-9:.9g} s"


def tau_stated(path: Path) -> Iterator[str]:
    """Yield the seconds of the outermost function at each rank's first thread."""
    pattern = re.compile(r'^"[^"]*" \S+ \S+ \S+ (\S+)', re.MULTILINE)
    files = path.parent.glob("profile.*.0.0") if path.name.startswith("profile.") else ()
    outermost = (max(map(float, pattern.findall(file.read_text())), default=0.0) for file in files)
    yield f"time {sum(outermost) * 1e-6:.9g} s"


def kept_rows(page: Path, clones: Path) -> dict[str, list[list[str]]]:
    """Return the rows of a page, by repository, that have no clone."""
    rows: dict[str, list[list[str]]] = {}
    for line in page.read_text().splitlines()[4:] if page.is_file() else ():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not (clones / cells[0].replace("/", "+")).is_dir():
            rows.setdefault(cells[0], []).append(cells)
    return rows


def row(repository: str, commit: str, name: str, machine: str, folder: Path) -> list[str]:
    """Return the row of a file."""
    began, size = time.perf_counter(), (folder / name).stat().st_size
    commands = {"": ["petri", "prove", name],
                "walltime": ["walltime", "--history", name, "-p", "1"]}  # fmt: skip
    code, text = asked(commands.get(machine, ["show", name]), folder)
    lines = [line for line in text.splitlines() if line and "note:" not in line]
    facts = lines[0].removeprefix("parcast: ") if lines else "nothing"
    named = re.search(r"^format +(.+?)(?: {2,}.*)?$", text, re.MULTILINE)
    label = named[1] if named else {"": "PNML", "walltime": "sacct (Slurm)"}.get(machine, "")
    answer = ""
    if code:
        facts = f"refused: {facts}"
    elif machine == "walltime":
        answer = " ".join(lines[1:])
    elif machine:
        said = " ".join(text.split())
        agree = [fact if fact in said else f"**not {fact}**" for fact in stated(folder / name)]
        facts = "; ".join((facts, *agree))
        text = asked(["compare", name, machine, "-s", "emulator"], folder)[1]
        solved = re.search(r"^ *(\d+) +\d+ +(\S+) +([\d.,]+ \w+)", text, re.MULTILINE)
        answer = f"{solved[3]} at p = {solved[1]} by {solved[2]}" if solved else text.strip()
        answer = f"{machine}: {answer}"
    cells = (facts, answer)
    facts, answer = (" ".join(cell.split()).replace("|", "\\|")[:360] for cell in cells)
    outcome = facts if facts.startswith("refused") else "read"
    if not machine and not code and counted(folder / name) not in facts:
        facts += f" (its XML has {counted(folder / name)})"
    shown = "" if outcome == facts else facts
    return [repository.replace("+", "/"), name, commit[:8], f"{size:,}", label, outcome, shown,
            answer, f"{time.perf_counter() - began:.1f}"]  # fmt: skip


def write_page(path: Path, by_repository: dict[str, list[list[str]]]) -> None:
    """Write the rows of all repositories, in the order in which these stand above."""
    names = [repository.replace("+", "/") for repository, *_ in WANTED]
    rows = [line for name in names for line in by_repository.get(name, [])]
    taken = sum(line[5] == "read" for line in rows)
    owners = len({line[0] for line in rows})
    head = ["repository", "path", "commit", "bytes", "format", "outcome", "what it is",
            "how long it takes", "s"]  # fmt: skip
    lines = [f"{len(rows)} files of {owners} repositories, {taken} read.", ""]
    lines += ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
    path.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("strangers.md"))
    options = parser.parse_args()
    by_repository = kept_rows(options.output, options.clones)
    for repository, wanted, machine in WANTED:
        rows = list[list[str]]()
        at = COMMITS.get(repository, "HEAD")
        for name, _, commit, folder in wanted_files(options.clones, repository, wanted, at):
            if re.search(r"(^|/)profile\.[1-9]\d*\.0\.0$", name):
                continue  # of another rank of the same run
            rows.append(row(repository, commit, name, machine, folder))
            print(rows[-1][1], *rows[-1][4:8], flush=True)
        if rows:
            by_repository[repository.replace("+", "/")] = rows
            write_page(options.output, by_repository)


if __name__ == "__main__":
    main()
