"""Compiling the tracer with the MPI library's own compiler, once for each."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from parcast import UnsupportedError
from parcast.plugins import kernel_cache
from parcast_traces.tracer.records import CODES, HEADER, MAGIC, NONE, RECORD, VERSION

_HERE = Path(__file__).parent
_SOURCES = ("pmpi.c", "collectives.h", "recorder.h")


def tracer(mpicc: str) -> Path:
    """Return the tracer for the MPI library of this compiler, compiled if it is not yet.

    Raises
    ------
    UnsupportedError
        If it cannot be compiled; the compiler's first error is named.
    """
    wrapper = _run([mpicc, "-show"])
    wholly = b"".join((_HERE / name).read_bytes() for name in _SOURCES)
    wholly += _format().encode() + f"{mpicc}{wrapper.stdout}{_modified(mpicc)}".encode()
    name = f"tracer-{hashlib.sha256(wholly).hexdigest()[:16]}.so"
    folder = kernel_cache("parcast-mpi") or Path(tempfile.mkdtemp(prefix="parcast-mpi-"))
    library = folder / name
    if not library.exists():
        _compile(mpicc, library)
    return library


def _compile(mpicc: str, library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        (Path(folder) / "format.h").write_text(_format())
        compiled = Path(folder) / library.name
        flags = ["-O2", "-shared", "-fPIC", "-pthread", f"-I{folder}"]
        process = _run([mpicc, *flags, "-o", str(compiled), str(_HERE / "pmpi.c")])
        if process.returncode:
            lines = [line for line in process.stderr.splitlines() if line.strip()] or ["no reason"]
            first = next((line for line in lines if "error" in line), lines[-1])
            raise UnsupportedError(
                f"{mpicc} cannot compile the tracer: {first.strip()}; install a C compiler, such "
                "as gcc, and the MPI library's headers"
            )
        compiled.replace(library)


#: C's types of the format's fields, with what stands behind a name.
_TYPES = {
    "S8": ("char", "[8]"), "<i4": ("int32_t", ""), "<i8": ("int64_t", ""), "<u2": ("uint16_t", ""),
    "<u4": ("uint32_t", ""),
}  # fmt: skip


def _format() -> str:
    """Return the format of the files in C."""
    codes = ", ".join(f"CALL_{name} = {code}" for name, code in CODES.items())
    structs = "".join(
        f"typedef struct {{ {' '.join(_field(*field) for field in fields)} }} {name};\n"
        for name, fields in (("header", HEADER), ("record", RECORD))
    )
    return (
        f'#define MAGIC "{MAGIC.decode()}"\n'
        f"enum {{ VERSION = {VERSION}, NOBODY = {NONE}, {codes} }};\n{structs}"
    )


def _field(name: str, kind: str) -> str:
    word, behind = _TYPES[kind]
    return f"{word} {name}{behind};"


def _modified(mpicc: str) -> float:
    return os.stat(mpicc).st_mtime if os.path.exists(mpicc) else 0.0  # noqa: PTH110, PTH116


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise UnsupportedError(
            f"{command[0]} cannot be run: {error.strerror}; install the MPI library's compiler "
            "(pip install 'parcast-mpi[mpich]', or the system's mpicc)"
        ) from None
