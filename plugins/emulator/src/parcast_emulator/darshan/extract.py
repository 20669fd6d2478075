"""Run by itself: print a log as Darshan's parsers do, by Darshan's own library.

The library is C that trusts its input, so a damaged log may end this process, and nobody else's.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

#: Bytes of memory that a log may take.
_MOST_MEMORY = 8 << 30

#: What has counters of bytes and seconds.
_COUNTED = ("POSIX", "MPI-IO", "STDIO", "DFS", "DAOS")


def main(path: str, out: TextIO) -> None:
    """Print the log."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    from darshan.backend import cffi_backend as backend

    log = backend.log_open(path)
    if log["handle"] == backend.ffi.NULL:
        sys.exit("it is no log that Darshan's library opens")
    job = backend.log_get_job(log)
    out.write(f"# darshan log version: {job['log_ver']}\n# exe: {backend.log_get_exe(log)}\n")
    out.write(f"# nprocs: {job['nprocs']}\n# run time: {job['run_time']!r}\n")
    modules = backend.log_get_modules(log)
    names = backend.log_get_name_records(log)
    for module, about in modules.items():
        if about["partial_flag"]:
            out.write(f"# *WARNING*: The {module} module contains incomplete data!\n")
        if module in _COUNTED:
            _counters(backend, log, module, names, out)
        elif module == "LUSTRE":
            _stripes(backend, log, names, out)
        elif module.startswith("DXT_"):
            _segments(backend, log, module, names, out)
    backend.log_close(log)


def _name(names: Any, number: int) -> str:
    return " ".join(names.get(number, "?").split())


def _counters(backend: Any, log: Any, module: str, names: Any, out: TextIO) -> None:
    """Print the counters of a module, a line each."""
    while record := backend.log_get_record(log, module, dtype="dict"):
        start = f"{module}\t{record['rank']}\t{record['id']}\t"
        end = f"\t{_name(names, record['id'])}\t?\t?\n"
        for counters in (record["counters"], record["fcounters"]):
            out.writelines(
                f"{start}{counter}\t{value.item()!r}{end}" for counter, value in counters.items()
            )


def _stripes(backend: Any, log: Any, names: Any, out: TextIO) -> None:
    """Print the stripes of files, those of their first component."""
    while record := backend.log_get_record(log, "LUSTRE", dtype="dict"):
        for component in record["components"][:1]:
            size = component["counters"]["LUSTRE_COMP_STRIPE_SIZE"]
            out.write(f"LUSTRE\t{record['rank']}\t{record['id']}\tLUSTRE_COMP1_STRIPE_SIZE\t"
                      f"{size}\t{_name(names, record['id'])}\t?\t?\n")  # fmt: skip


def _segments(backend: Any, log: Any, module: str, names: Any, out: TextIO) -> None:
    """Print the accesses of a module as darshan-dxt-parser does, with all digits of times."""
    ffi, library = backend.ffi, backend.libdutil
    index, buffer = backend.log_get_modules(log)[module]["idx"], ffi.new("void **")
    word = "X_MPIIO" if module == "DXT_MPIIO" else "X_POSIX"
    while library.darshan_log_get_record(log["handle"], index, buffer) >= 1:
        record = ffi.cast("struct dxt_file_record **", buffer)[0]
        file, rank = record.base_rec.id, record.base_rec.rank
        out.write(f"# DXT, file_id: {file}, file_name: {_name(names, file)}\n")
        first = ffi.cast("char *", buffer[0]) + ffi.sizeof("struct dxt_file_record")
        segments = ffi.cast("struct segment_info *", first)
        for number in range(record.write_count + record.read_count):
            kind = "write" if number < record.write_count else "read"
            one = segments[number]
            out.write(f" {word} {rank} {kind} {number} {one.offset} {one.length} "
                      f"{one.start_time!r} {one.end_time!r}\n")  # fmt: skip
        library.darshan_free(buffer[0])
        buffer = ffi.new("void **")


if __name__ == "__main__":
    main(sys.argv[1], sys.stdout)
