"""The command as a user types it."""

import json
from pathlib import Path

import attrs
import pytest

from parcast.cli import main
from parcast.errors import ParcastError
from parcast_perturb import traced_run
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.protocol import protocol
from parcast_traces.readers import read_trace

from .programs import Costs, neutral, random_program

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())["cases"]


@pytest.fixture
def run(capsys):
    def asked(*arguments):
        code = main(["perturb", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert (code == 0) == (not err), err
        assert code in (0, 2)
        assert err.count("\n") == (code != 0)
        return out or err

    return asked


@pytest.fixture
def trace(tmp_path):
    data = neutral(random_program(12), Costs(o=10, latency=50, per_byte=1))
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"unit": "1 us", **data}))
    return path


@pytest.mark.parametrize("name", ["17_sendrecv_ring_rendezvous", "25_communicators_2x2"])
def test_a_perturbation_file_gives_both_answers(run, name, tmp_path):
    case = next(case for case in CASES if case["name"] == name)
    files = {"trace": case["trace"], "p": {k: case[k] for k in ("params", "perturbation")}}
    for word, data in files.items():
        (tmp_path / f"{word}.json").write_text(json.dumps(data))
    done = run("run", tmp_path / "trace.json", "--perturbation", tmp_path / "p.json", "--json")
    found = json.loads(done)
    assert found["clockfree_final"] == case["expected"]["clockfree_final"]
    assert found["clocked_final"] == case["expected"]["clocked_final"]


def test_a_report_for_readers(run, trace):
    done = run("run", trace, "--latency", "100us", "--os-noise", "exp:25us", "--replications", 20)
    assert "before " in done
    assert "5 %, 50 %, 95 %" in done
    assert "latencies" in done


def test_the_same_seed_gives_the_same_numbers(run, trace):
    options = ("run", trace, "--os-noise", "gamma:2,25us", "--replications", 3, "--json")
    first, second, other = (
        json.loads(run(*options, "--seed", seed))["makespan"] for seed in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--os-noise", "nought:3us"], "there is no distribution"),
        (["--os-noise", "99@3us"], "names rank 99"),
        (["--os-noise", "3/40@3us"], "names rank 120"),
        (["--os-noise", "3/x@3us"], "such as 0..1/16"),
        (["--os-noise", "every:1ms,5us"], "give it as --compute-noise"),
        (["--compute-noise", "every:1ms"], "every:INTERVAL,LENGTH"),
        (["--compute-noise", "random:1us,1ms"], "shorter than it"),
        (["--compute-noise", "every:1ms,5us,together"], "not known to be one"),
        (["--latency", "3 MB"], "'3 MB'"),
        (["--os-noise", "fit:cauchy:x.csv"], "fit one of"),
        (["--os-noise", "nowhere.csv"], "cannot be read"),
        (["--os-noise", "exp:1us", "--os-noise", "exp:2us"], "two distributions"),
        (["--policy", "clocked"], "--recorded-on"),
        (["--os-noise", "exp:1e308s"], "longer than any run"),
        (["--perturbation", "p.json", "--latency", "3us"], "leave out the other options"),
        (["--recorded-on", "no-such-machine"], "no-such-machine"),
    ],
)
def test_bad_options_are_one_sentence(run, trace, arguments, said):
    done = run("run", trace, *arguments)
    assert said in done


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("[1, 2]", "called ranks"),
        ('{"ranks": 3}', "called ranks"),
        ('{"ranks": [[{"kind": "sned", "t_start": 0, "t_end": 1}]]}', "is not modeled"),
        ('{"ranks": [[{"kind": "init", "t_end": 1}]]}', "t_start must be a number"),
        ('{"ranks": [[{"kind": "init", "t_start": 5, "t_end": 1}]]}', "negative_duration"),
        ('{"ranks": [], "nranks": 2}', "rank_count"),
        (
            '{"ranks": [[{"kind": "barrier", "t_start": 0, "t_end": 1, "comm": [0]}]]}',
            "comm must be a name or a number",
        ),
        ('{"ranks": [[{"kind": "init", "t_start": 0, "t_end": 1, "site": 3}]]}', "site must be"),
        ('{"ranks": [[]], "unit": "3 bananas"}', "unit"),
        ('{"ranks": [[{"kind": "init", "t_start": 0, "t_end": 1, "x": 1}]]}', "it has no 'x'"),
    ],
)
def test_bad_traces_are_one_sentence(run, tmp_path, text, said):
    path = tmp_path / "bad.json"
    path.write_text(text)
    done = run("run", path)
    assert said in done


def test_a_trace_of_no_events_takes_no_time(run, tmp_path):
    path = tmp_path / "empty.json"
    path.write_text('{"ranks": [[], []]}')
    done = run("run", path, "--latency", "5", "--json")
    assert json.loads(done)["clockfree_final"] == [0, 0]


def test_removing_noise_takes_every_gap_to_the_shortest_alike(run, tmp_path):
    events, clock = [], 0
    for gap in (100, 130, 100, 180):
        events.append({"kind": "barrier", "t_start": clock + gap, "t_end": clock + gap + 5})
        clock += gap + 5
    path = tmp_path / "loop.json"
    path.write_text(json.dumps({"ranks": [events, events]}))
    done = run("run", path, "--remove-noise", "--json")
    assert json.loads(done)["clockfree_final"] == [clock - 110, clock - 110]


def test_samples_and_fits_come_from_files(run, trace, tmp_path):
    file = tmp_path / "ftq.csv"
    file.write_text("detour\n" + "\n".join(["2e-6", "3e-6", "5e-6", "1e-6"] * 5))
    plain = json.loads(run("run", trace, "--os-noise", file, "--json"))
    nodes = json.loads(run("run", trace, "--os-noise", "0/2@5us", "--json"))
    ranks = json.loads(run("run", trace, "--os-noise", "0..1@5us", "--json"))
    assert nodes["clockfree_final"] == ranks["clockfree_final"] != plain["clockfree_final"]
    fitted, by_word, heavy = (
        json.loads(run("run", trace, "--os-noise", f"fit:{law}:{file}", "--json"))
        for law in ("exp", "exponential", "pareto")
    )
    assert "fitted to 20 samples by likelihood; greatest distance" in heavy["notes"][0]
    assert plain["clockfree_final"] > plain["before"]
    assert "20 samples" in plain["notes"][0]
    assert "exp:2.75e-06 fitted" in fitted["notes"][0]
    assert by_word == fitted


def test_a_sweep_is_one_pass_over_all_steps(run, trace):
    found = json.loads(run("sweep", trace, "--of", "latency", "--to", "700us", "--json"))
    assert found["added"] == [100 * step for step in range(8)]
    for added, makespan in list(zip(found["added"], found["makespan"]["upper"], strict=True))[::3]:
        one = json.loads(run("run", trace, "--latency", f"{added}us", "--json"))
        assert one["makespan"]["upper"]["mean"] == makespan
    assert "mean delay" in run("sweep", trace, "--of", "noise", "--to", "1ms", "--steps", 2)


def test_the_tolerance_to_latency(run, trace):
    found = json.loads(run("latency", trace, "--most", "1ms", "--json"))
    assert found["tolerance"]["0.05"] > 0
    assert found["slopes"] == sorted(found["slopes"])
    text = run("latency", trace, "--overhead", "10us")
    assert "1% longer at" in text
    assert "'-1us' must be above 0" in run("sweep", trace, "--to=-1us")


def test_columns_are_saved_and_asked(run, trace, tmp_path):
    done = run("save", trace, "-o", tmp_path / "run.trace")
    assert done == ""
    first, second = (
        json.loads(run("run", file, "--latency", "5us", "--json"))["clockfree_final"]
        for file in (trace, tmp_path / "run.trace")
    )
    assert first == second
    assert "written as .trace" in run("save", trace, "-o", tmp_path / "run.npz")


def test_what_may_be_taken_away_is_said(run, trace, tmp_path):
    assert "may become faster than its network allows" in run("run", trace, "--latency=-5us")
    machine = tmp_path / "old.toml"
    machine.write_text('[network]\nstartup = "50 us"\nbandwidth = "1 MB/s"\noverhead = "10 us"\n')
    done = run("run", trace, "--latency=-60us", "--recorded-on", machine)
    assert "latency: " in done
    assert "less was subtracted than stated" in done
    at_most = run("run", trace, "--latency=-50us", "--recorded-on", machine, "--json")
    cut = run("run", trace, "--latency=-60us", "--recorded-on", machine, "--json")
    assert json.loads(at_most)["clockfree_final"] == json.loads(cut)["clockfree_final"]


def test_which_sends_wait_is_stated_for_calls_or_estimated(run, tmp_path):
    """Of sends before a late receive, those of up to 100 bytes end at once."""
    ranks = [[], []]
    for lap, size in enumerate((8, 100, 300, 5000)):
        at = 1000 * lap
        ranks[0].append({"kind": "send", "peer": 1, "bytes": size, "t_start": at,
                         "t_end": at + (10 if size <= 100 else 700)})  # fmt: skip
        ranks[1].append(
            {"kind": "recv", "peer": 0, "bytes": size, "t_start": at + 500, "t_end": at + 600}
        )
    path = tmp_path / "late.json"
    whole = {"ranks": ranks, "unit": "1 us", "clocks": "comparable"}
    path.write_text(json.dumps(whole))

    found = json.loads(
        run("run", path, "--latency", "1ms", "--eager", "estimated,send=1kB", "--json")
    )
    assert "above 100 bytes wait for their receiver: 4 of 4" in found["notes"][0]
    trace = read_trace(path)

    def finals(text):
        changed, limit, _ = protocol(trace, text)
        known = Recorded(eager_max=float("inf") if limit is None else limit)
        return propagate(changed, Perturbation.of(latency=1000), known, "upper").final.tolist()

    at_100 = finals("100B")
    assert finals("estimated") == finals("send=100B") == finals("send=100B,8B") == at_100
    assert finals("1kB") != at_100
    assert found["delay"] == pytest.approx([one for (one,) in finals("1kB")])
    for text, said in (
        ("sned=1B", "no sends called 'sned'"),
        ("1B,2B", "two sizes"),
        ("3 bananas", "bananas"),
    ):
        with pytest.raises(ParcastError, match=said):
            protocol(trace, text)
    with pytest.raises(ParcastError, match="may differ"):
        protocol(attrs.evolve(trace, comparable=False), "estimated")


@pytest.mark.parametrize("command", [("run",), ("latency",), ("slowest",), ("sweep", "--to", "9")])
def test_a_trace_of_work_without_a_machine_is_refused_before_it_is_read(run, command, tmp_path):
    path = tmp_path / "work.tit"
    path.write_text("0 init\nno line of a trace\n")
    message = run(command[0], path, *command[1:])
    assert message == f"parcast: {path} has no times; time it on a machine first (--machine)\n"


def test_a_trace_of_work_that_is_too_long_for_a_machine_is_refused_early(
    run, tmp_path, monkeypatch
):
    few = attrs.evolve(traced_run.OF_WORK, events=5000)
    monkeypatch.setattr(traced_run, "OF_WORK", few)
    path = tmp_path / "work.tit"
    path.write_text("0 init\n" + "0 send 0 0 8\n0 recv 0 0 8\n" * 10_000 + "no line\n")
    message = run("run", path, "--machine", "loggp-cluster")
    assert "has over 5,000 events; a trace without times is timed as a program" in message


def test_a_trace_of_work_is_converted_without_times(run, tmp_path):
    path = tmp_path / "work.tit"
    path.write_text("0 init\n0 compute 1000\n0 finalize\n")
    run("convert", path, "-o", tmp_path / "copy.trace")
    assert read_trace(tmp_path / "copy.trace").timed is False
