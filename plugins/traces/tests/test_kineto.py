"""Files of PyTorch's profiler as they are: ranks, streams, overlap, and ranks that are missing."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast.testing import cases
from parcast_traces.errors import MissingRanksError, TraceError
from parcast_traces.readers import json_stream, read_trace
from parcast_traces.readers.rank_files import rank_named
from parcast_traces.trace.columns import BYTES, END, START
from parcast_traces.workload import read

CASES = cases(25)


def event(cat, name, ts, dur, *, tid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def nccl(word, ts, dur, *, tid=20, **args):
    told = {"Collective name": word, "dtype": "Float", "In msg nelems": 100, **args}
    return event("kernel", f"ncclDevKernel_{word}", ts, dur, tid=tid, **told)


def profile(path, events, **info):
    data = {"schemaVersion": 1, "traceEvents": list(events)}
    if info:
        data["distributedInfo"] = {"backend": "nccl", **info}
    path.write_text(json.dumps(data))
    return path


def names(trace, rank=0):
    low, high = trace.events.offsets[rank], trace.events.offsets[rank + 1]
    return [trace.name(number) for number in range(low, high)]


def test_profiles_before_kineto_are_lists_whose_processes_are_host_and_devices(tmp_path, capsys):
    path = tmp_path / "trace.json"
    spans = [("aten::conv2d", 0.5, 90, "CPU"), ("aten::conv2d", 40, 80.25, "CUDA"),
             ("aten::relu", 120, 5, "CUDA")]  # fmt: skip
    events = [{"name": name, "ph": "X", "ts": ts, "dur": dur, "tid": 1, "pid": f"{of} functions",
               "args": {}} for name, ts, dur, of in spans]  # fmt: skip
    for order in ("name", "args"):
        events = [{order: one[order], **one} for one in events]
        path.write_text(json.dumps(events))
        main(["show", str(path)])
        shown = " ".join(capsys.readouterr().out.split())
        for words in ("work.host operations 1, 0.000090000 s", "work.kernels 2, 0.000085250 s",
                      "span 0.0001245 s", "skipped nothing"):  # fmt: skip
            assert words in shown


def test_events_of_other_tools_are_told(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([{"name": "f", "ph": "X", "ts": 1, "dur": 7, "pid": 3}]))
    assert read_trace(path).notes[0].startswith("no event is of a kind that PyTorch's profiler has")
    assert read_trace(path).ends.tolist() == [7]
    profile(path, [event("python_function", "f", 1, 7)])
    assert not any("another tool's" in note for note in read_trace(path).notes)


def test_events_that_begin_and_end_apart_are_told(tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([{"name": "f", "ph": ph, "ts": 1} for ph in "BBE"]))
    with pytest.raises(FileError, match=r"takes time in its traceEvents: 2 begin apart from their"):
        read(path)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank-0.Apr_03_18_51_38.1102.pt.trace.json", 0),
        ("benchmark_result_493459_1694039959_trace.json", None),
        ("host_1695835535.pt.trace.json", None),
        ("trace_12.json", 12),
        ("Rank3_of_8.json", 3),
        ("trace.json", None),
    ],
)
def test_a_name_says_a_rank_only_beyond_doubt(name, rank):
    assert rank_named(Path(name)) == rank


def test_the_rank_stands_in_the_file(tmp_path):
    for rank, name in enumerate(("rank-0.Apr_03.1102.json", "rank-1.Apr_04.1103.json")):
        profile(tmp_path / name, [nccl("allreduce", 10 * rank, 5)], rank=1 - rank, world_size=2)
    trace = read_trace(tmp_path / "rank-*.json")
    assert names(trace) == ["init", "allreduce", "finalize"]
    assert trace.about["files"] == 2
    profile(tmp_path / "rank-1.Apr_04.1103.json", [nccl("allreduce", 0, 1)], rank=1, world_size=2)
    with pytest.raises(FileError, match=r"rank-0\S+ and rank-1\S+ are both of rank 1"):
        read_trace(tmp_path / "rank-*.json")
    profile(tmp_path / "rank-1.Apr_04.1103.json", [nccl("allreduce", 0, 1)], rank=0, world_size=4)
    with pytest.raises(FileError, match="files of several runs"):
        read_trace(tmp_path)


def test_a_timestamp_in_a_name_is_no_rank(tmp_path):
    path = profile(tmp_path / "result_1_1695835535_trace.json", [event("kernel", "gemm", 5, 90)])
    profile(tmp_path / "result_1_1695835536_trace.json", [event("kernel", "gemm", 5, 10)])
    trace = read_trace(path)
    assert (trace.size, trace.ends.tolist()) == (1, [90.0])


def test_what_overlaps_is_begun_and_waited_for(tmp_path):
    path = profile(
        tmp_path / "a.json",
        [
            event("kernel", "gemm", 0, 60),
            nccl("allreduce", 50, 50),  # while it computes until 60, and from 70 to 80
            event("gpu_memcpy", "copy", 70, 10, tid=8),
            nccl("all_gather", 90, 40, tid=21),  # while the sum goes on
            event("kernel", "gemm", 200, 1),
        ],
        rank=0,
        world_size=1,
    )
    trace = read_trace(path)
    assert names(trace) == ["init", "iallreduce", "iallgather", "wait", "wait", "finalize"]
    times = trace.events.times
    assert times[:, START].tolist() == [0, 50, 90, 90, 100, 201]
    assert times[:, END].tolist() == [0, 50, 90, 100, 130, 201]
    assert times[1:3, BYTES].tolist() == [400, 400]


def test_ranks_begin_a_collective_that_overlaps_on_one_of_them(tmp_path):
    profile(tmp_path / "a-0.json", [nccl("allreduce", 10, 20)], rank=0, world_size=2)
    beside = [nccl("allreduce", 10, 20), event("kernel", "gemm", 0, 15)]
    trace = read_trace(profile(tmp_path / "a-1.json", beside, rank=1, world_size=2))
    assert names(trace) == names(trace, 1) == ["init", "iallreduce", "wait", "finalize"]


def test_a_kernel_without_arguments_has_those_of_the_host(tmp_path):
    # as profilers before 2.3 write it: the launch is inside the operation, the kernel correlates
    host = [
        event("user_annotation", "nccl:_all_gather_base", 10, 20, tid=1,
              **{"Input Dims": [[8, 4]], "Input type": ["c10::BFloat16"]}),
        event("cuda_runtime", "cudaLaunchKernel", 15, 2, tid=1, correlation=77),
        event("user_annotation", "nccl:all_to_all", 40, 9, tid=1,
              **{"Input Dims": [[1000]], "Input type": ["float"]}),
        event("cuda_runtime", "cudaLaunchKernel", 42, 1, tid=1, correlation=78),
        event("cuda_runtime", "cudaLaunchKernel", 44, 1, tid=1, correlation=79),
    ]  # fmt: skip
    kernels = [
        event("kernel", "ncclKernel_AllGather_RING_LL(ncclWorkElem)", 100, 30, correlation=77),
        event("kernel", "ncclKernel_SendRecv_RING(ncclWorkElem)", 200, 30, correlation=78),
        event("kernel", "ncclKernel_SendRecv_RING(ncclWorkElem)", 240, 30, correlation=79),
        event("kernel", "ncclKernel_AllReduce_RING_LL(ncclWorkElem)", 300, 30),
    ]
    path = profile(tmp_path / "a.json", [*kernels, *host], rank=0, world_size=1)
    trace = read_trace(path)
    assert names(trace) == ["init", "allgather", "alltoall", "allreduce", "finalize"]
    assert trace.events.times[:, BYTES].tolist() == [0, 64, 4000, 0, 0]
    assert trace.events.times[2, START : END + 1].tolist() == [190, 260]
    assert any("bytes are not recorded" in note for note in trace.notes)
    path = profile(tmp_path / "b.json", host, rank=0, world_size=1)
    trace = read_trace(path)
    assert names(trace) == ["init", "allgather", "alltoall", "finalize"]
    assert any("not in the file" in note for note in trace.notes)


def test_a_rank_stands_for_those_without_a_file_if_asked(tmp_path):
    group = {"Group size": 2, "Process Group Name": "3", "Process Group Ranks": "[1, 3]"}
    calls = [nccl("allreduce", 0, 5), nccl("all_gather", 9, 5, **group)]
    path = profile(tmp_path / "rank-1.json", calls, rank=1, world_size=8)
    with pytest.raises(MissingRanksError, match="had 8 ranks, and rank 0 has no file here"):
        read_trace(path)
    trace = read_trace(path, assume_alike=True)
    assert trace.size == 8
    members = [members.tolist() for members in trace.communicators]
    assert sorted(members[1:]) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert trace.notes == ("rank 1 stands for the 7 ranks that have no file (--assume-alike)",)
    calls[1]["args"]["Process Group Ranks"] = "[1, 4]"
    profile(path, calls, rank=1, world_size=8)
    with pytest.raises(UnsupportedError, match="ranks 1, 4 of 8 says nothing"):
        read_trace(path, assume_alike=True)
    profile(path, [nccl("send", 0, 5, **{"Dst Rank": 2}), nccl("recv", 9, 5, **{"Src Rank": 0})],
            rank=1, world_size=4)  # fmt: skip
    trace = read_trace(path, assume_alike=True)
    assert trace.channels.target.tolist() == [1, 0, 2, 3]


def test_a_rank_of_a_run_of_unknown_size_is_shown_and_keeps_its_time(tmp_path, capsys):
    path = profile(tmp_path / "a.json", [nccl("allreduce", 10, 5), event("kernel", "k", 30, 7)])
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "1, 0.000005000 s" in text
    assert "no other rank's file is here" in text
    assert main(["compare", str(path), "ibm-sp2"]) == 2
    with pytest.raises(MissingRanksError):
        read(path).content.trace  # noqa: B018
    trace = read_trace(path, assume_alike=True)
    assert (names(trace), trace.ends.tolist()) == (["init", "call", "finalize"], [27.0])


def test_saved_alike_says_so_in_the_row(tmp_path, capsys):
    path = profile(tmp_path / "rank-0.json", [nccl("allreduce", 10, 5)], rank=0, world_size=4)
    saved = tmp_path / "run.trace"
    command = ["perturb", "save", str(path), "-o", str(saved)]
    assert main(command) == 2
    assert main([*command, "--assume-alike"]) == 0
    capsys.readouterr()
    assert main(["compare", str(saved), "ibm-sp2", "-s", "emulator"]) == 0
    assert "rank 0 stands for the 3 ranks" in capsys.readouterr().out


SPELLS = st.lists(
    st.tuples(
        st.sampled_from(["kernel", "gpu_memcpy", "gpu_memset", "cpu_op", "python_function"]),
        st.integers(0, 3),  # stream
        st.integers(0, 400),  # ns
        st.integers(0, 90),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=CASES, deadline=None)
@given(spells=SPELLS, base=st.sampled_from([0, 4_458_676_524_670, 1_683_564_902_174_220]))
def test_work_and_busy_time_are_those_of_the_file_to_the_ns(tmp_path_factory, spells, base):
    path = tmp_path_factory.mktemp("kineto") / "a.json.gz"
    lines = [
        f'{{"ph": "X", "cat": "{cat}", "name": "x", "pid": 0, "tid": {tid}, '
        f'"ts": {base}.{start:03d}, "dur": {taken // 1000}.{taken % 1000:03d}}}'
        for cat, tid, start, taken in spells
    ]
    text = '{"schemaVersion": 1, "traceEvents": [' + ",\n".join(lines) + "]}"
    path.write_bytes(gzip.compress(text.encode()))
    about = read_trace(path).about
    kinds = {"kernel": "kernels", "gpu_memcpy": "copies", "gpu_memset": "fills",
             "cpu_op": "host operations"}  # fmt: skip
    for cat, kind in kinds.items():
        mine = [taken for other, _, _, taken in spells if other == cat]
        if mine:
            assert about["work"][kind] == f"{len(mine)}, {sum(mine) / 1e9:.9f} s"
    for tid in {tid for cat, tid, _, _ in spells if cat in ("kernel", "gpu_memcpy", "gpu_memset")}:
        covered = {
            ns for cat, own, start, taken in spells
            if own == tid and cat in ("kernel", "gpu_memcpy", "gpu_memset")
            for ns in range(start, start + taken)
        }  # fmt: skip
        assert about["busy"][f"device 0 stream {tid}"] == f"{len(covered) / 1e9:.9f} s"
    lost = [taken for cat, _, _, taken in spells if cat == "python_function"]
    if lost:
        assert about["skipped"]["python_function"] == f"{len(lost)}, {sum(lost) / 1e9:.9f} s"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@settings(max_examples=CASES, deadline=None)
@given(data=st.dictionaries(st.sampled_from("abcs"), JSON), chunk=st.integers(1, 9))
def test_json_in_parts_is_json(tmp_path_factory, data, chunk):
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(data, indent=chunk % 3 or None))
    whole = json_stream._CHUNK
    json_stream._CHUNK = chunk
    try:
        parts = list(json_stream.members(path, "s"))
    finally:
        json_stream._CHUNK = whole
    expected = []
    for name, value in data.items():
        items = value if name == "s" and isinstance(value, list) else [value]
        expected += [(name, item) for item in items]
    assert parts == expected


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"traceEvents": ' + '[{"a":' * 100_000,
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1e999999999, "dur": 1}]}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": ' + "9" * 5000 + ', "dur": 1}]}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": -5}]}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": NaN, "dur": 5}]}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": 5}',
        '{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": 9223372036854775}]}',
        '{"traceEvents": []}',
    ],
)
def test_hostile_files_are_one_sentence(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(FileError, match=r"a\.json"):
        read_trace(path)


def test_files_that_only_a_number_in_their_names_joins_stand_alone(tmp_path):
    path = profile(tmp_path / "trace2.json", [event("kernel", "gemm", 5, 90)])
    profile(tmp_path / "trace3.json", [event("kernel", "gemm", 5, 10)])
    trace = read_trace(path)
    assert (trace.size, trace.ends.tolist()) == (1, [90.0])
    assert "left out" in trace.notes[0]
    assert read_trace(tmp_path / "trace*.json").size == 2  # given by the user


def test_kernels_launched_before_the_profile_keep_their_time(tmp_path):
    generic = (
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"  # of all collectives of RCCL
    )
    shape = {"Input Dims": [[25]], "Input type": ["float"]}
    events = [
        event("kernel", generic, 0, 40, tid=20, correlation=1),
        event("user_annotation", "nccl:all_reduce", 50, 9, tid=1, **shape),
        event("cuda_runtime", "hipLaunchKernel", 52, 1, tid=1, correlation=2),
        event("kernel", generic, 60, 30, tid=20, correlation=2),
    ]
    trace = read_trace(profile(tmp_path / "a.json", events, rank=0, world_size=1))
    assert names(trace) == ["init", "allreduce", "finalize"]
    assert trace.events.times[1, [START, END, BYTES]].tolist() == [60, 90, 100]
    assert trace.about["work"]["kernels that communicate"] == "2, 0.000070000 s"
    assert trace.notes[0].startswith("1 kernels of NCCL, 4e-05 s, were launched before")
    profile(tmp_path / "a.json", events[:1], rank=0, world_size=1)
    with pytest.raises(UnsupportedError, match="does not say which collective"):
        read_trace(tmp_path / "a.json")


@pytest.mark.parametrize(
    "name",
    [
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
        "void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*)",
        "void deep_ep::intranode::dispatch<8, 768>(int4*)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)",
        "nvshmemi_transfer_kernel",
    ],
)
def test_kernels_that_communicate_without_nccl_are_told(tmp_path, name):
    plain = "void groupnorm_kernel_dispatch_down<float>(float*)"
    events = [event("kernel", name, 0, 30), event("kernel", plain, 30, 5)]
    trace = read_trace(profile(tmp_path / "a.json", events, rank=0, world_size=8))
    assert trace.notes[0].startswith("1 kernels, 3e-05 s, communicate without NCCL (")
    assert trace.notes[1] == "no collective is recorded: all time is computation"
    assert trace.about["work"]["kernels"] == "2, 0.000035000 s"


def test_errors_of_traces_go_to_other_processes(tmp_path, capsys):
    path = profile(tmp_path / "r.json", [nccl("allreduce", 10, 5)], rank=0, world_size=4)
    for error in (MissingRanksError("rank 1", {"files": 1}), TraceError("cut", "ends", "a.json")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    study = tmp_path / "s.toml"
    study.write_text(f'workload = ["{path}"]\nmachine = ["ibm-sp2"]\nsolver = ["emulator"]\n')
    command = ["study", str(study), "--no-cache", "--executor", "threads:1"]
    assert main(command) != 0
    assert "add --assume-alike" in capsys.readouterr().out
    assert main([*command, "--assume-alike"]) == 0


def test_steps_repeat_each_other(tmp_path):
    spans = [(0, 30), (30, 10), (40, 20)]
    steps = [event("user_annotation", f"ProfilerStep#{n}", *s, tid=1) for n, s in enumerate(spans)]
    trace = read_trace(profile(tmp_path / "a.json", [*steps, event("kernel", "gemm", 5, 50)]))
    assert trace.about["steps"] == {
        "count": "3, as the host began and ended them",
        "mean": "2e-05 s +- 5.8e-06 s",
        "5 %, 50 %, 95 %": "1.1e-05, 2e-05, 2.9e-05 s",
        "least, most": "1e-05, 3e-05 s",
    }
    alone = read_trace(profile(tmp_path / "b.json", [*steps[:1], event("kernel", "gemm", 5, 50)]))
    assert alone.about["steps"] == {
        "count": "1, as the host began and ended them", "mean": "3e-05 s",
    }  # fmt: skip


def test_every_command_takes_ranks_for_the_like(tmp_path, capsys):
    path = str(profile(tmp_path / "r.json", [nccl("allreduce", 10, 5)], rank=0, world_size=4))
    picture = str(tmp_path / "a.svg")
    commands = [
        ["show", path], ["compare", path, "ibm-sp2", "-s", "emulator"],
        ["predict", path, "ibm-sp2", "-s", "emulator"], ["advise", path, "ibm-sp2", "-p", "4"],
        ["perturb", "run", path, "--latency", "1us"], ["perturb", "latency", path],
        ["perturb", "sweep", path, "--to", "1us"], ["perturb", "slowest", path],
        ["perturb", "graph", path, "-o", picture],
        ["perturb", "convert", path, "-o", str(tmp_path / "a.trace")],
    ]  # fmt: skip
    for command in commands:
        assert main([*command, "--assume-alike"]) == 0, command
        out = capsys.readouterr().out
        assert not out or "rank 0 stands for the 3 ranks" in " ".join(out.split()), command
        if command[0] != "show":
            assert main(command) == 2
            assert "--assume-alike" in capsys.readouterr().err
    assert main(["compare", "stencil2d", "ibm-sp2", "--assume-alike"]) == 2
    assert "is no recorded run" in capsys.readouterr().err


def test_a_profile_is_read_where_the_graph_of_its_run_lies_beside_it(tmp_path):
    profile(tmp_path / "kineto_0.json", [event("kernel", "gemm", 5, 90)])
    (tmp_path / "et_0.json").write_text('{"schema": "1.1.0", "pid": 3, "nodes": []}')
    trace = read_trace(tmp_path)
    assert trace.ends.tolist() == [90.0]
    assert trace.about["files that are no traces"] == "et_0.json"


def test_a_run_of_a_billion_ranks_is_refused(tmp_path):
    path = profile(tmp_path / "a.json", [nccl("allreduce", 1, 1)], rank=0, world_size=10**9)
    with pytest.raises(FileError, match="had 1000000000 ranks"):
        read_trace(path, assume_alike=True)
