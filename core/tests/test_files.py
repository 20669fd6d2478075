from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parcast import ParcastError, Registry
from parcast.errors import FileError
from parcast.testing import cases

REGISTRY = Registry(plugins=[])
READ = {"machine": REGISTRY.machine, "workload": REGISTRY.workload}
RATE = "[processor]\nrate = 1\n"


def refusal(kind, data):
    with pytest.raises(FileError) as caught:
        READ[kind]({"name": "x", **data})
    message = str(caught.value)
    assert message.startswith(f"{kind}: ")
    assert "\n" not in message
    return message.removeprefix(f"{kind}: ")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "a machine needs at least one part, such as [processor]"),
        ({"processor": 5}, "processor: 5 must be a table"),
        ({"processor": []}, "processor: [] must be a table"),
        ({"nodes": None}, "nodes: None must be a table"),
        ({"procesor": {}}, "unknown key 'procesor'. Did you mean 'processor'?"),
        (
            {1: {}},
            "unknown key 1. Known: accelerator, cost, group, name, network, nodes,",
        ),
        ({"processor": {"rte": 1}}, "unknown key 'processor.rte'. Did you mean 'rate'?"),
        ({"processor": {1: 1}}, "unknown key 'processor.1'. Known: rate, boost."),
        ({"processor": {"rate": "1 B/s"}}, "processor.rate: '1 B/s' is in B/s, not in FLOP/s"),
        ({"processor": {"rate": -1}}, "processor.rate: -1 must be above 0"),
        ({"processor": {"rate": 0}}, "processor.rate: 0 must be above 0"),
        ({"processor": {"rate": float("nan")}}, "processor.rate: nan is not a finite number"),
        ({"processor": {"rate": True}}, "processor.rate: True is not a number"),
        ({"processor": {"rate": {}}}, "processor.rate: {} is not a number"),
        ({"processor": {"rate": [1]}}, "processor.rate: [1] is not a number"),
        ({"processor": {"rate": 10**400}}, "processor.rate: an integer beyond 1.8e308"),
        ({"network": {"startup": "-5 us"}}, "network.startup: '-5 us' must be 0 or more"),
        (
            {"network": {"bandwidth": "27 Mb/s"}},
            "network.bandwidth: '27 Mb/s': 'Mb/s' is not a known unit. Did you mean Mbit/s or MB",
        ),
        ({"network": {"contention_level": 1.5}}, "network.contention_level: 1.5 must be at most 1"),
        (
            {"network": {"contention": "buss"}},
            "network.contention: 'buss' must be 'none' or 'fair' or 'endpoint' or 'bus'. Did you",
        ),
        ({"network": {"contention": []}}, "network.contention: [] must be 'none' or 'fair'"),
        ({"network": {"collectives": 5}}, "network.collectives: 5 must be text"),
        ({"network": {"local": []}}, "network.local: [] must be a table"),
        ({"network": {"local": {"startup": "5 B"}}}, "network.local.startup: '5 B' is in B"),
        ({"storage": {"disks": True}}, "storage.disks: True must be a whole number"),
        ({"storage": {"disks": None}}, "storage.disks: None must be a whole number"),
        ({"storage": {"disks": 2**63}}, "storage.disks: a whole number must be below 2**63"),
        ({"nodes": {"count": 1.5}}, "nodes.count: 1.5 must be a whole number"),
        ({"nodes": {"count": "4"}}, "nodes.count: '4' must be a whole number"),
        ({"nodes": {"cores": 0}}, "nodes.cores: 0 must be 1 or more"),
        ({"nodes": {"groups": 5}}, "nodes.groups: needs a list of tables; write [[nodes.groups]]"),
        ({"nodes": {"groups": {}}}, "nodes.groups: needs a list of tables"),
        ({"nodes": {"groups": None}}, "nodes.groups: needs a list of tables"),
        ({"nodes": {"groups": [5]}}, "nodes.groups[0]: 5 must be a table"),
        ({"nodes": {"groups": [{}]}}, "missing key 'nodes.groups[0].count'"),
        (
            {"nodes": {"groups": [{"count": 1, "weigth": 2}]}},
            "unknown key 'nodes.groups[0].weigth'. Did you mean 'weight'?",
        ),
        ({"processor": {}, "summary": 5}, "summary = 5 must be text"),
        ({"processor": {}, "name": 5}, "name = 5 must be text"),
        ({"processor": {}, "name": ""}, "missing key 'name'"),
        ({"processor": {}, "sources": 5}, "sources must be a table from key path to text"),
        (
            {"processor": {"x": 1, "y": 2}},
            "unknown key 'processor.x'. Known: rate, boost. (and 1 more)",
        ),
        ({"phase": []}, "this is a workload, not a machine"),
        ({"kind": "program"}, "this is a workload, not a machine"),
    ],
)
def test_a_bad_machine_is_told_in_one_sentence(data, message):
    assert refusal("machine", data).startswith(message)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (
            {"processor.rte": "assumed: x"},
            "names no key of this file. Did you mean 'processor.rate",
        ),
        ({"processor.rate": "guess"}, "must start with one of published:, measured:, fitted:, ass"),
        ({"processor.rate": "published"}, "must start with one of published:"),
        ({"processor.rate": 5}, "must start with one of published:"),
        ({5: "assumed: x"}, "names no key of this file"),
    ],
)
def test_every_source_names_a_key_and_an_origin(sources, message):
    assert message in refusal("machine", {"processor": {"rate": 1}, "sources": sources})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "missing key 'phase'"),
        ({"phase": []}, "phase: needs a list of tables; write [[phase]]"),
        ({"phase": {}}, "phase: needs a list of tables; write [[phase]]"),
        ({"phase": None}, "phase: needs a list of tables; write [[phase]]"),
        ({"phase": [5]}, "phase[0]: 5 must be a table"),
        (
            {"phase": [{}, {"paralel": 1}]},
            "unknown key 'phase[1].paralel'. Did you mean 'parallel'",
        ),
        ({"phase": [{"parallel": "5 MB"}]}, "phase[0].parallel: '5 MB' is in B, not in FLOP"),
        ({"phase": [{"parallel": -1}]}, "phase[0].parallel: -1 must be 0 or more"),
        ({"phase": [{"parallel": []}]}, "phase[0].parallel: [] is not a number"),
        ({"phase": [{"cycles": 0}]}, "phase[0].cycles: 0 must be above 0"),
        (
            {"phase": [{"parallel": "nn"}], "parameters": {"n": 2}},
            "phase[0].parallel = 'nn' uses 'nn', which is neither p, d nor one of [parameters].",
        ),
        ({"phase": [{"parallel": "foo(p)"}]}, "phase[0].parallel: there is no function 'foo'."),
        ({"phase": [{"parallel": "p**"}]}, "phase[0].parallel: 'p**' is not a formula"),
        (
            {"phase": [{"parallel": "+".join("p" * 900)}]},
            "phase[0].parallel: the formula is nested",
        ),
        ({"phase": [{"io": "snyc"}]}, "phase[0].io: 'snyc' must be 'sync' or 'async'. Did you"),
        ({"phase": [{"name": 5}]}, "phase[0].name: 5 must be text"),
        ({"phase": [{}], "parameters": 5}, "parameters must be a table, such as [parameters]"),
        *(
            ({"phase": [{}], "parameters": {name: 1}}, f"parameters.{name}: this name is taken")
            for name in ("p", "d", "rank", "size")
        ),
        *(
            ({"phase": [{}], "parameters": {name: 1}}, f"parameters.{name}: no formula can use")
            for name in ("my-n", "if", "2n", "", 5)
        ),
        ({"phase": [{}], "parameters": {"n": True}}, "parameters.n: True is not a number"),
        ({"phase": [{}], "parameters": {"n": "x"}}, "parameters.n: 'x' is not a number with a"),
        ({"phase": [{}], "parameters": {"n": float("inf")}}, "parameters.n: inf is not a finite"),
        ({"phase": [{}], "kind": "phase"}, "kind = 'phase' is no kind of workload. Did you mean"),
        ({"phase": [{}], "kind": []}, "kind = [] is no kind of workload. Known: phases, program."),
        ({"phase": [{}], "phaes": 1}, "unknown key 'phaes'. Did you mean 'phase'?"),
        ({"processor": {}}, "this is a machine, not a workload"),
    ],
)
def test_a_bad_workload_is_told_in_one_sentence(data, message):
    assert refusal("workload", data).startswith(message)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.toml", b"", "is empty"),
        ("e.toml", b" \n\t\n", "is empty"),
        ("b.toml", bytes(range(256)), "is not a text file"),
        ("n.toml", b"a = 1\0", "is not a text file"),
        ("b.toml", b"name = ", ": not valid TOML: Invalid value"),
        ("d.toml", b"a = 1\na = 2", ": not valid TOML: Cannot overwrite"),
        ("b.json", b"{", ": not valid JSON: Expecting property name"),
        ("l.json", b"[1]", ": the file holds no table but list"),
        ("i.json", b'{"processor": {"rate": Infinity}}', ": processor.rate: inf is not a finite"),
        ("d.toml", b"[processor]\nrate = 2020-01-01", ": processor.rate: datetime.date("),
        (
            "t.json",
            b'{"a":' * 900 + b"1" + b"}" * 900,
            ": tables and lists are nested more than 50",
        ),
        ("t.json", b"[" * 100_000, ": tables and lists are nested too deeply"),
        ("t.toml", b"a=" + b"[" * 3000 + b"]" * 3000, ": tables and lists are nested too deeply"),
        ("h.json", b'{"processor": {"rate": ' + b"1" * 5000 + b"}}", ": not valid JSON: Exceeds"),
        ("h.toml", b"[processor]\nrate = " + b"1" * 5000, ": not valid TOML: Exceeds"),
        ("x.txt", b"hi", ": no reader for '.txt' files. Known: .toml, .json, .py."),
        ("bare", b"hi", ": no reader for '' files."),
        ("e.txt", b"", "is empty"),
    ],
)
def test_a_bad_file_is_told_in_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    for read in READ.values():
        with pytest.raises(FileError) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
        assert message in str(caught.value) or "this is a machine" in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (".", "is a directory; name a file in it"),
        ("", "'' is no machine; give a name, a file or a mapping"),
        ("/dev/zero", "is a device or a pipe; name a file"),
        ("no/such.toml", "does not exist"),
        ("no-such.toml", "does not exist"),
        ("a" * 300 + ".toml", "cannot be read"),
        ("a" * 300, "No machine is called"),
        ("a\0b.toml", "cannot be read"),
        ("a\0b", "No machine is called"),
        ("unknown", "No machine is called 'unknown'. Installed: none."),
    ],
)
def test_what_is_no_file_is_told_in_one_sentence(spec, message):
    with pytest.raises(ParcastError) as caught:
        REGISTRY.machine(spec)
    assert message in str(caught.value)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path):
    path = tmp_path / "log.json"
    with path.open("wb") as file:
        file.truncate(1 << 30)  # none of it on disk
    with pytest.raises(FileError, match=r"log.json has 1,024 MiB; such files have up to 128"):
        Registry().workload(path)


def test_a_machine_is_read_from_toml_and_json_alike(tmp_path):
    (tmp_path / "mine.toml").write_text("\ufeff" + RATE, encoding="utf-8")
    (tmp_path / "mine.json").write_text('{"processor": {"rate": 1}}')
    from_toml = REGISTRY.machine(tmp_path / "mine.toml")
    from_json = REGISTRY.machine(str(tmp_path / "mine.json"))
    assert from_toml.name == from_json.name == "mine"
    assert from_toml.parts == from_json.parts
    assert from_toml.where == str(tmp_path / "mine.toml")


def test_values_pickle_and_compare_equal():
    machine = REGISTRY.machine({"name": "m", "network": {"local": {}}, "nodes": {"count": 4}})
    workload = REGISTRY.workload(
        {"name": "w", "parameters": {"n": 64}, "phase": [{"parallel": "2*n**3", "io": "async"}]}
    )
    for value in (machine, workload):
        copy = pickle.loads(pickle.dumps(value))
        assert copy == value
        assert hash(copy) == hash(value)


def test_integers_stay_integers_in_parameters():
    parameters = REGISTRY.workload(
        {"name": "w", "parameters": {"n": 64, "x": 6.0, "m": "2 kB"}, "phase": [{}]}
    ).parameters
    assert parameters == {"n": 64, "x": 6.0, "m": 2000.0}
    assert isinstance(parameters["n"], int)


KEYS = st.sampled_from(
    [
        "name",
        "summary",
        "source",
        "sources",
        "processor",
        "rate",
        "nodes",
        "count",
        "groups",
        "weight",
        "network",
        "startup",
        "local",
        "bandwidth",
        "storage",
        "disks",
        "phase",
        "kind",
        "parameters",
        "parallel",
        "io",
        "messages",
        "scale",
        "n",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.dates(),
    st.sampled_from(["5 MB/s", "2*p", "n", "sync", "phases", "assumed: x", "surface:2"]),
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, SCALARS), inner, max_size=4)
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS, DATA, max_size=5)


@settings(max_examples=cases(75))
@given(TABLES, st.sampled_from(["machine", "workload"]), st.booleans())
def test_any_data_is_a_value_or_a_parcast_error(data, kind, whole):
    if whole:  # a shape that gets past the first checks
        part = {"processor": data} if kind == "machine" else {"phase": [data]}
        data = {"name": "x", **part}
    try:
        assert READ[kind](data).name
    except ParcastError as error:
        message = str(error)
        assert message.startswith(f"{kind}: ")
