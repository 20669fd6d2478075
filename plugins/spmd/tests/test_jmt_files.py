"""Files of JMT and LINE: read as LINE solves them, written so that they read back the same."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from parcast.errors import FileError, UnsupportedError
from parcast_spmd import network_files
from parcast_spmd.commands import app
from parcast_spmd.jmt.jmva import jmva_text, network_from_jmva
from parcast_spmd.jmt.jsimg import network_from_jsimg
from parcast_spmd.jmt.simulation import jsimg_text
from parcast_spmd.mixed.routes import visit_counts
from parcast_spmd.mva.choice import solve
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station

DATA = Path(__file__).parent / "data"

#: LINE 3.0.8.0, MVA(model, method='exact'): mean queue lengths by station and class.
LINE = {
    "line-one": {
        "Terminals": [9.680966059532478],
        "CPU": [0.14661005156275597],
        "Disk": [2.172423888904766],
    },
    "line-two": {
        "Think": [3.8932562878634513, 1.886945219792316],
        "Bus": [0.5014738733239703, 0.4036220584769588],
        "Disk A": [1.605269838812578, 0.25822741342629496],
        "Disk B": [0.0, 0.45120530830442995],
    },
}


@pytest.mark.parametrize("suffix", [".jmva", ".jsimg"])
@pytest.mark.parametrize("name", LINE)
def test_what_line_writes_is_solved_as_line_solves_it(name, suffix):
    solution = solve(network_files.read(DATA / (name + suffix)))
    assert set(solution.queue_length) == set(LINE[name])
    for station, lengths in LINE[name].items():
        assert solution.queue_length[station] == pytest.approx(lengths, rel=1e-9)


@pytest.mark.parametrize("name", LINE)
def test_both_formats_hold_the_same_network(name):
    analytical = network_files.read(DATA / f"{name}.jmva")
    simulated = network_files.read(DATA / f"{name}.jsimg")
    for one, other in zip(analytical.stations, simulated.stations, strict=True):
        assert (one.name, one.type) == (other.name, other.type)
        assert one.demand == pytest.approx(other.demand, rel=1e-11)


NAMES = st.text("abcXYZ 01&<>'\"é", min_size=1, max_size=6).map(str.strip).filter(bool)
TIMES = st.one_of(st.just(0.0), st.floats(1e-9, 1e9))


@st.composite
def networks(draw):
    names = draw(st.lists(NAMES, min_size=2, max_size=7, unique=True))
    cut = draw(st.integers(1, len(names) - 1))
    classes = [JobClass(name=name, population=draw(st.integers(1, 50))) for name in names[:cut]]
    stations = [
        Station(
            name=name,
            type=draw(st.sampled_from(["delay", "queue"])),
            demand=[draw(TIMES) for _ in classes],
        )
        for name in names[cut:]
    ]
    first = Station(name="first", type="delay", demand=[draw(st.floats(0.1, 9)) for _ in classes])
    return ClosedNetwork(stations=(first, *stations), classes=tuple(classes))


@given(networks())
def test_what_is_written_reads_back_the_same(network):
    assert network_from_jmva(ET.fromstring(jmva_text(network)), "x") == network
    found = network_from_jsimg(ET.fromstring(jsimg_text(network, "x")), "x")
    assert found.classes == network.classes
    for one, other in zip(network.stations, found.stations, strict=True):
        assert (one.name, one.type) == (other.name, other.type)
        assert one.demand == pytest.approx(other.demand, rel=1e-14)


@given(networks())
def test_simulation_files_have_the_order_and_the_pairs_that_the_schema_asks_for(network):
    root = ET.fromstring(jsimg_text(network, "x"))
    assert (root.tag, set(root.keys()) >= {"name", "timestamp"}) == ("archive", True)
    (sim,) = root
    tags = [child.tag for child in sim]
    order = ["userClass", "node", "measure", "connection"]
    assert tags == sorted(tags, key=order.index)
    stations = {station.name for station in network.stations}
    for end in sim.iterfind("connection"):
        assert {end.get("source"), end.get("target")} <= stations
    for node in sim.iterfind("node"):
        kinds = [section.get("className") for section in node]
        assert kinds in (["Queue", "Delay", "Router"], ["Queue", "PSServer", "Router"])
        for parameter in node.iterfind("section/parameter"):
            if parameter.get("array") == "true":
                children = [child.tag for child in parameter]
                assert children == ["refClass", "subParameter"] * len(network.classes)
    for user in sim.iterfind("userClass"):
        assert user.get("referenceSource") in stations


@given(networks())
def test_analytical_files_have_the_order_that_the_schema_asks_for(network):
    root = ET.fromstring(jmva_text(network))
    (parameters,) = root
    classes, stations = parameters
    assert (classes.tag, stations.tag) == ("classes", "stations")
    assert int(classes.get("number")) == len(classes) == len(network.classes)
    assert int(stations.get("number")) == len(stations) == len(network.stations)
    for station in stations:
        assert station.tag in {"delaystation", "listation"}
        assert [child.tag for child in station] == ["servicetimes", "visits"]


@given(st.data())
def test_visits_are_the_means_of_walks(data):
    """Against the sum over steps, plain: where a job is after each step until it is back."""
    count = data.draw(st.integers(2, 5))
    names = [f"s{index}" for index in range(count)]
    routes = {}
    for name in names:
        weights = data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
        weights[0] += 1  # so that every job comes back
        routes[name] = {to: w / sum(weights) for to, w in zip(names, weights, strict=True) if w}
    found = visit_counts(routes, "s0", "x", "s0")
    at, total = {"s0": 1.0}, dict.fromkeys(names, 0.0)
    total["s0"] = 1.0
    while sum(at.values()) > 1e-12:
        after = dict.fromkeys(names, 0.0)
        for name, probability in at.items():
            for to, part in routes[name].items():
                after[to] += probability * part
        at = {name: probability for name, probability in after.items() if name != "s0"}
        for name, probability in at.items():
            total[name] += probability
    assert [found.get(name, 0.0) for name in names] == pytest.approx(
        [total[name] for name in names], rel=1e-9
    )


def changed(name, *replacements):
    text = (DATA / name).read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def test_demands_are_per_visit_of_the_reference_station():
    as_written = network_files.read(DATA / "line-two.jmva")
    text = changed("line-two.jmva", ('<Class name="Chain01" refStation="Think"/>',
                                     '<Class name="Chain01" refStation="Bus"/>'))  # fmt: skip
    found = network_from_jmva(ET.fromstring(text), "x")
    for one, other in zip(as_written.stations, found.stations, strict=True):
        assert other.demand[0] == pytest.approx(one.demand[0] * 0.7)
        assert other.demand[1] == one.demand[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("closedclass", "openclass", "no attribute rate"),
        ("closedclass", "halfclass", "<closedclass> or <openclass>"),
        ('name="Chain02"', 'name="Chain01"', "used twice"),
        ('population="6"', 'population="6.5"', "give a whole number"),
        ('population="6"', 'population="many"', "give a finite number"),
        ('population="6"', "", "no attribute population"),
        ('population="6"', 'population="6" priority="2"', "has a priority"),
        ('servers="1"', 'servers="0"', "has 0 servers"),
        (">0.5</servicetime>", ">0.5;0.4</servicetime>", "otherwise for each class"),
        ("5.0<", "-5.0<", "give a finite number"),
        (">5.0</servicetime>", "/>", "give a finite number"),
        ('<visit customerclass="Chain02">2.0', '<visit customerclass="none">2.0', "which is none"),
        ('refStation="Think"', 'refStation="Nowhere"', "'Nowhere' of 'Chain01' is none"),
        ('"Chain01" refStation="Think"', '"Chain01" refStation="Disk B"', "never visits"),
        ("delaystation", "lonelystation", "not known here"),
        ('name="Disk B"', 'name="Disk A"', "used twice"),
        ("<parameters>", "<parameters><blockingRegion/>", "<blockingRegion> in <parameters>"),
        ("model", "book", "holds <book>"),
        ("</model>", "", "is no XML"),
        ("<model", "<!DOCTYPE x [<!ENTITY a 'b'>]><model", "document type declares something"),
    ],
)
def test_jmva_models_that_are_refused(old, new, said, tmp_path):
    path = tmp_path / "x.jmva"
    path.write_text(changed("line-two.jmva", (old, new)))
    with pytest.raises(FileError, match=said) as caught:
        network_files.read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_in_any_encoding(encoding, tmp_path):
    bomb = "<!DOCTYPE m [<!ENTITY a 'aa'><!ENTITY b '&a;&a;&a;'>]><model>&b;</model>"
    path = tmp_path / "x.jmva"
    path.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{bomb}'.encode(encoding))
    with pytest.raises(FileError, match="document type declares something"):
        network_files.read(path)


def test_load_dependent_times_are_for_each_number_of_jobs():
    text = (DATA / "line-one.jmva").read_text().replace("listation", "ldstation")
    network = network_from_jmva(ET.fromstring(text.replace(">0.04<", ">0.04;0.04<")), "x")
    assert network == network_files.read(DATA / "line-one.jmva")
    with pytest.raises(FileError, match="has times for up to 2 jobs"):
        network_from_jmva(ET.fromstring(text.replace(">0.04<", ">0.04;0.02<")), "x")


BUS = '<node name="Bus">'
REGION = "<blockingRegion><globalConstraint maxJobs='3'/></blockingRegion>"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('type="closed"', 'type="open"', "'Think' is no source"),
        ('type="closed"', 'type="ajar"', "give open or closed"),
        ('customers="6"', 'customers="x"', "give a finite number"),
        ('referenceSource="Think"', 'referenceSource="Home"', "'Home' is none"),
        ("<value>-1</value>", "<value>4</value>", "room for 4 jobs and a closed class"),
        ('name="maxJobs">\n        <value>1', 'name="maxJobs">\n        <value>0', "maxJobs is"),
        ("TailStrategy", "SEPTStrategy", "QueuePutStrategy is not"),
        ("EPSStrategy", "GPSStrategy", "PSStrategy is not"),
        ('"numberOfVisits">\n          <value>1', '"numberOfVisits"><value>3', "numberOfVisits is"),
        ("<value>null</value>", "<value>x</value>", "Impatience is not"),
        ("FCFSstrategy", "PollingStrategy", "'PollingStrategy' is not supported"),
        ('random.Exponential"', 'random.Logistic"', "distribution 'Logistic'"),
        ('name="lambda"', 'name="mu"', "no parameter lambda"),
        ("<value>4.000000000000<", "<value>1e-320<", "no finite mean"),
        ("<value>4.000000000000<", "<value>0<", "a rate of 0"),
        ("EmpiricalStrategy", "RoundRobinStrategy", "by 'RoundRobinStrategy'"),
        ("<value>0.600000000000<", "<value>0.7<", "sum to 1.1"),
        ('className="PSServer"', 'className="Fork"', "made of Queue, Fork, Router"),
        ('target="Disk B"', 'target="Disk C"', "'Disk C', which is no station"),
        ('<connection source="Bus" target="Disk B"/>', "", "no connection leads to 'Disk B'"),
        ("<connection", f"{REGION}<connection", "limits the jobs"),
        ("ServiceStrategies.ServiceTimeStrategy", "ServiceStrategies.LoadDependentStrategy",
         "by 'LoadDependentStrategy'"),
    ],
)  # fmt: skip
def test_simulations_that_are_refused(old, new, said, tmp_path):
    path = tmp_path / "x.jsimg"
    path.write_text(changed("line-two.jsimg", (old, new)))
    with pytest.raises(FileError, match=said) as caught:
        network_files.read(path)
    assert str(caught.value).startswith(str(path))


def bus(old, new):
    """Return the file with a change in the description of the bus alone."""
    head, tail = (DATA / "line-two.jsimg").read_text().split(BUS)
    inside, rest = tail.split("</node>", 1)
    assert old in inside
    return f"{head}{BUS}{inside.replace(old, new)}</node>{rest}"


def test_first_come_first_served_needs_one_exponential_time_for_all():
    text = bus("4.000000000000", "4.0")
    network_from_jsimg(ET.fromstring(text), "x")
    first, second = bus("<value>4.000000000000", "<value>4.0").split("<value>4.0<", 1)
    with pytest.raises(FileError, match="different means first come first served"):
        network_from_jsimg(ET.fromstring(f"{first}<value>8.0<{second}"), "x")
    constant = bus("random.Exponential", "random.Deterministic").replace(
        'random.Deterministic"', 'random.DeterministicDistr"'
    ).replace("DeterministicPar", "DeterministicDistrPar")  # fmt: skip
    head, tail = constant.split(BUS)
    inside, rest = tail.split("</node>", 1)
    inside = inside.replace('name="lambda"', 'name="t"')
    with pytest.raises(FileError, match="is not exponential"):
        network_from_jsimg(ET.fromstring(f"{head}{BUS}{inside}</node>{rest}"), "x")


@pytest.mark.parametrize(
    ("kind", "given", "mean"),
    [
        ("DeterministicDistr", {"t": 3}, 3),
        ("Erlang", {"alpha": 2, "r": 5}, 2.5),
        ("HyperExp", {"p": 0.25, "lambda1": 1, "lambda2": 2}, 0.625),
        ("Uniform", {"min": 1, "max": 4}, 2.5),
    ],
)
def test_delays_may_have_any_distribution_of_a_known_mean(kind, given, mean):
    text = (DATA / "line-one.jsimg").read_text()
    values = "".join(
        f'<subParameter classPath="java.lang.Double" name="{name}"><value>{value}</value>'
        "</subParameter>"
        for name, value in given.items()
    )
    first = text.index('<subParameter classPath="jmt.engine.random.Exponential"')
    end = text.index("</subParameter>", text.index("</subParameter>", first) + 1) + 15
    new = (
        f'<subParameter classPath="jmt.engine.random.{kind}" name="{kind}"/>'
        f'<subParameter classPath="jmt.engine.random.{kind}Par" name="distrPar">{values}'
        "</subParameter>"
    )
    network = network_from_jsimg(ET.fromstring(text[:first] + new + text[end:]), "x")
    assert network.stations[0].demand == pytest.approx([mean])


def test_jobs_must_come_back():
    text = bus("<value>Think</value>", "<value>Disk A</value>").replace(
        "<value>Think</value>", "<value>Bus</value>"
    )  # fmt: skip
    with pytest.raises(FileError, match="do not come back to 'Think'"):
        network_from_jsimg(ET.fromstring(text), "x")


def test_a_class_without_jobs_cannot_be_simulated():
    network = ClosedNetwork(
        stations=(Station(name="s", type="queue", demand=[1.0]),),
        classes=(JobClass(name="a", population=0),),
    )
    with pytest.raises(UnsupportedError, match="'a' has no jobs"):
        jsimg_text(network, "x")


def test_the_command_reads_and_writes(tmp_path):
    source = str(DATA / "line-two.jsimg")
    answers = []
    for suffix in network_files.SUFFIXES:
        target = tmp_path / f"net{suffix}"
        result = CliRunner().invoke(app, ["network", source, "--json", "-o", str(target)])
        assert result.exit_code == 0
        again = CliRunner().invoke(app, ["network", str(target), "--json"])
        answers += [json.loads(result.stdout), json.loads(again.stdout)]
    for answer in answers:
        assert answer["throughput"] == pytest.approx(answers[0]["throughput"], rel=1e-12)


@pytest.mark.parametrize(
    ("target", "said"),
    [("net.pdf", "written as .json, .jmva or .jsimg"), ("none/net.jmva", "there is no folder")],
)
def test_what_cannot_be_written_is_told_first(target, said, tmp_path):
    result = CliRunner().invoke(app, ["network", "none.json", "-o", str(tmp_path / target)])
    assert said in str(result.exception)
