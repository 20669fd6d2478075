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
    ("harryjmoss+particle_transformer", r"trace\.json$", "milan-hdr"),
    ("KeondoPark+luxmea", r"trace\.json$", "milan-hdr"),
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
)
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
    names = [element.tag.rpartition("}")[2] for element in ET.parse(path).iter()]  # noqa: S314
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
        for name, _, commit, folder in wanted_files(options.clones, repository, wanted):
            if re.search(r"(^|/)profile\.[1-9]\d*\.0\.0$", name):
                continue  # of another rank of the same run
            rows.append(row(repository, commit, name, machine, folder))
            print(rows[-1][1], *rows[-1][4:8], flush=True)
        if rows:
            by_repository[repository.replace("+", "/")] = rows
            write_page(options.output, by_repository)


if __name__ == "__main__":
    main()
