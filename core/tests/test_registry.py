from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace

import attrs
import pytest

from parcast import (
    KindEntry,
    Machine,
    PartEntry,
    Reader,
    Registry,
    Resource,
    SolverEntry,
    hookimpl,
)
from parcast.errors import FileError, PluginError, UnknownNameError
from parcast.plugins.entries import load, load_class, resources


def plugin(name, **hooks):
    """A plugin module whose hooks yield what is given, or call it."""
    module = ModuleType(f"parcast_{name}")
    for hook, given in hooks.items():
        function = given if callable(given) else _constant(given)
        setattr(module, hook, hookimpl(function))
    return module


def _constant(given):
    def hook():
        return list(given)

    return hook


def solver(name, **more):
    return SolverEntry(name, "phases", "nowhere:Solver", "A test.", **more)


def good(name="good", entry="good.one"):
    return plugin(name, parcast_solvers=[solver(entry)])


def problem(bad):
    """The one problem of a registry where all but ``bad`` still works."""
    registry = Registry(plugins=[bad, good()])
    assert list(registry.solvers) == ["good.one"]
    (only,) = registry.problems
    assert "\n" not in only
    return only


def test_the_core_registers_its_own_through_the_same_door():
    registry = Registry(plugins=[])
    assert list(registry.kinds) == ["phases", "program"]
    parts = ["accelerator", "cost", "network", "nodes", "processor", "storage"]
    assert list(registry.parts) == parts
    assert list(registry.writers) == [".csv", ".extrap.jsonl", ".json", ".jsonl", ".nc", ".parquet"]
    assert registry.problems == ()
    for entry in (*registry.kinds.values(), *registry.parts.values()):
        assert attrs.has(load_class(entry.target))
    for writer in registry.writers.values():
        assert callable(load(writer.target))


def test_a_plugin_may_be_a_module_or_an_object():
    class Plugin:
        @hookimpl
        def parcast_solvers(self):
            yield solver("object.one")

    registry = Registry(plugins=[good(), Plugin()])
    assert list(registry.solvers) == ["good.one", "object.one"]
    assert [info.name for info in registry.plugins] == ["Plugin", "good", "parcast.plugins.builtin"]


def test_a_hook_may_be_named_by_specname():
    def mine():
        return [solver("named.one")]

    module = ModuleType("parcast_named")
    module.mine = hookimpl(specname="parcast_solvers")(mine)
    assert list(Registry(plugins=[module]).solvers) == ["named.one"]


def test_records_may_be_listed_in_place_of_a_hook():
    listing = ModuleType("parcast_listing")
    listing.parcast_solvers = (solver("listing.one"),)
    listing.parcast_kinds = hookimpl(lambda: [KindEntry("kind", "nowhere:Kind", "A test.")])
    registry = Registry(plugins=[listing])
    assert registry.problems == ()
    assert list(registry.solvers) == ["listing.one"]
    assert "kind" in registry.kinds


@pytest.mark.parametrize(
    ("hook", "records", "message"),
    [
        ("parcast_solvers", ("logp",), "parcast_solvers failed: 'logp' is no SolverEntry"),
        ("parcast_solver", (solver("x"),), "no hook 'parcast_solver'. Did you mean 'parcast_sol"),
        ("parcast_solvers", [solver("x")], "parcast_solvers is neither a tuple nor marked"),
        ("parcast_commands", (), "parcast_commands is neither a tuple nor marked"),
    ],
)
def test_a_wrong_list_of_records_is_reported(hook, records, message):
    listing = ModuleType("parcast_listing")
    setattr(listing, hook, records)
    assert message in problem(listing)


def test_files_of_a_package_are_resources_by_name(monkeypatch, tmp_path):
    folder = tmp_path / "shipping" / "machines"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    for name in ("second.toml", "first.toml", "notes.md"):
        (folder / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    entries = resources("shipping", ".toml", "machines")
    assert [(entry.name, entry.path.name) for entry in entries] == [
        ("first", "first.toml"),
        ("second", "second.toml"),
    ]


def test_the_order_of_registration_does_not_matter():
    plugins = [good("b", "b.x"), good("a", "a.x"), good("c", "b.x"), good("d", "d.y")]
    one, other = Registry(plugins=plugins), Registry(plugins=plugins[::-1])
    assert list(one.solvers) == list(other.solvers) == ["a.x", "d.y"]
    assert one.plugins == other.plugins
    assert one.problems == other.problems


def _raises():
    raise ValueError("out of order")


def _raises_later():
    yield solver("bad.one")
    raise ValueError("out of order")


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"parcast_solvers": _raises}, "parcast_solvers failed: out of order"),
        ({"parcast_solvers": _raises_later}, "parcast_solvers failed: out of order"),
        ({"parcast_solvers": ["logp"]}, "parcast_solvers failed: 'logp' is no SolverEntry"),
        ({"parcast_solvers": lambda: None}, "parcast_solvers failed: 'NoneType' object"),
        ({"parcast_solvers": [Resource("x", None)]}, "is no SolverEntry"),
        ({"parcast_machines": [solver("x")]}, "is no Resource"),
        ({"parcast_solvers": [solver(None)]}, "is no SolverEntry"),
        ({"parcast_solvers": [solver(5), solver("six")]}, "is no SolverEntry"),
        (
            {"parcast_solvers": [solver("bad.one", api=2)]},
            "'bad.one' speaks plugin API 2, this parcast speaks 1",
        ),
        ({"parcast_solver": []}, "there is no hook 'parcast_solver'. Did you mean 'parcast_solver"),
        ({"parcast_solvers": lambda config: []}, "PluginValidationError: "),
    ],
)
def test_a_bad_plugin_is_reported_and_the_others_work(hooks, message):
    text = problem(plugin("bad", **hooks))
    assert text.startswith("Plugin 'bad' (parcast_bad): ")
    assert message in text


def test_nothing_of_a_plugin_is_kept_if_one_of_its_hooks_fails():
    bad = plugin("bad", parcast_solvers=[solver("bad.one")], parcast_writers=_raises)
    assert "parcast_writers failed" in problem(bad)


def test_a_failing_plugin_claims_no_names():
    bad = plugin("bad", parcast_solvers=[solver("good.one")], parcast_writers=_raises)
    assert "parcast_writers failed" in problem(bad)


def test_a_name_claimed_twice_is_nobodys_and_both_are_named():
    registry = Registry(plugins=[good("a", "x.y"), good("b", "x.y"), good()])
    assert list(registry.solvers) == ["good.one"]
    (text,) = registry.problems
    assert text.startswith("Two solvers are both called 'x.y': one from parcast_a, one from parc")
    assert "parcast_b" in text
    assert "PARCAST_DISABLE_PLUGINS" in text
    with pytest.raises(PluginError, match="both called"):
        registry.solver("x.y")


def test_a_name_claimed_twice_by_one_plugin_is_refused_too():
    twice = plugin("twice", parcast_solvers=[solver("x.y"), solver("x.y")])
    assert "both called 'x.y'" in problem(twice)


def test_disabled_plugins_are_left_out(monkeypatch):
    monkeypatch.setenv("PARCAST_DISABLE_PLUGINS", "a, b")
    registry = Registry(plugins=[good("a", "a.x"), good("b", "b.x"), good("c", "c.x")])
    assert list(registry.solvers) == ["c.x"]


@pytest.mark.parametrize(
    "bad",
    [
        [plugin("bad", parcast_solvers=_raises)],
        [plugin("bad", parcast_solver=[])],
        [good("a", "x.y"), good("b", "x.y")],
    ],
)
def test_strict_mode_raises_instead(monkeypatch, bad):
    monkeypatch.setenv("PARCAST_STRICT_PLUGINS", "1")
    with pytest.raises(PluginError):
        Registry(plugins=bad)
    monkeypatch.setenv("PARCAST_STRICT_PLUGINS", "0")
    assert Registry(plugins=bad).problems


def _installed(monkeypatch, *points):
    """Make these the installed plugins: (entry point, module, distribution) each."""
    found = []
    for name, module, distribution in points:
        point = EntryPoint(name, module, "parcast")
        dist = SimpleNamespace(metadata={"Name": distribution, "Version": "1.2"})
        found.append(point._for(dist))
    monkeypatch.setattr("parcast.plugins.catalog.entry_points", lambda group: found)


def test_installed_plugins_are_found_by_entry_point(monkeypatch):
    monkeypatch.setitem(sys.modules, "parcast_good", good())
    _installed(
        monkeypatch,
        ("good", "parcast_good", "parcast-good"),
        ("absent", "parcast_absent_for_sure", "parcast-absent"),
        ("core", "parcast.plugins.builtin", "parcast"),
    )
    registry = Registry()
    assert list(registry.solvers) == ["good.one"]
    assert list(registry.kinds) == ["phases", "program"]
    assert [(i.name, i.package) for i in registry.plugins] == [
        ("absent", "parcast-absent 1.2"),
        ("core", "parcast 1.2"),
        ("good", "parcast-good 1.2"),
    ]
    (text,) = registry.problems
    assert text.startswith("Plugin 'absent' (parcast-absent 1.2): ModuleNotFoundError: No module")


def test_a_plugin_that_is_installed_meanwhile_is_in_the_next_registry(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "parcast_late", good("late", "late.one"))
    assert "late.one" not in Registry().solvers
    about = tmp_path / "parcast_late-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parcast-late\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[parcast]\nlate = parcast_late\n")
    assert "late.one" in Registry().solvers
    shutil.rmtree(about)
    assert "late.one" not in Registry().solvers


def test_two_distributions_may_not_share_an_entry_point_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "parcast_one", good("one", "one.x"))
    monkeypatch.setitem(sys.modules, "parcast_two", good("two", "two.x"))
    points = [("same", "parcast_two", "dist-two"), ("same", "parcast_one", "dist-one")]
    for order in (points, points[::-1]):
        _installed(monkeypatch, *order)
        registry = Registry()
        assert list(registry.solvers) == ["one.x"]
        assert registry.problems == (
            "Two plugins are both called 'same': one from dist-one 1.2, one from dist-two 1.2.",
        )


def test_an_unknown_name_names_the_likely_one_and_all():
    registry = Registry(plugins=[good("a", "logp"), good("b", "spmd.mva")])
    with pytest.raises(UnknownNameError) as caught:
        registry.solver("spmd.mav")
    assert str(caught.value) == (
        "No solver is called 'spmd.mav'. Did you mean 'spmd.mva'? Installed: logp, spmd.mva."
    )


def test_a_solver_that_cannot_be_imported_says_so():
    with pytest.raises(PluginError, match="'nowhere:Solver' cannot be imported"):
        Registry(plugins=[good()]).solver("good.one")


@pytest.fixture
def shipped(tmp_path):
    (tmp_path / "mine.toml").write_text("[processor]\nrate = 5\n")
    (tmp_path / "work.toml").write_text("[[phase]]\nparallel = 5\n")
    return Registry(
        plugins=[
            plugin(
                "data",
                parcast_machines=[
                    Resource("mine", tmp_path / "mine.toml"),
                    Resource("gone", tmp_path / "gone.toml"),
                ],
                parcast_workloads=[Resource("work", tmp_path / "work.toml")],
            )
        ]
    ), tmp_path


def test_a_machine_comes_from_a_name_a_path_a_mapping_or_a_value(shipped):
    registry, folder = shipped
    machine = registry.machine("mine")
    assert machine.name == "mine"
    assert machine.processor.rate == 5
    assert registry.machine(folder / "mine.toml") == machine
    assert registry.machine(str(folder / "mine.toml")) == machine
    assert registry.machine({"name": "mine", "processor": {"rate": 5}}).parts == machine.parts
    assert registry.machine(machine) is machine


def test_a_workload_comes_from_a_name_a_path_a_mapping_or_a_value(shipped):
    registry, folder = shipped
    workload = registry.workload("work")
    assert workload.kind == "phases"
    assert registry.workload(folder / "work.toml") == workload
    assert registry.workload({"name": "w", "phase": [{"parallel": 5}]}).content == workload.content
    assert registry.workload(workload) is workload


def test_names_are_looked_up_with_a_hint(shipped):
    registry, _ = shipped
    with pytest.raises(UnknownNameError, match=r"No machine is called 'mien'. Did you mean 'mine'"):
        registry.machine("mien")
    with pytest.raises(UnknownNameError, match=r"No workload is called 'wrk'. Did you mean 'work'"):
        registry.workload("wrk")
    with pytest.raises(FileError, match="does not exist"):
        registry.machine("gone")


def test_one_broken_part_or_kind_leaves_the_others_usable():
    broken = plugin(
        "broken",
        parcast_parts=[PartEntry("noise", "nowhere:Noise", "x")],
        parcast_kinds=[
            KindEntry("trace", "nowhere:Trace", "x"),
            KindEntry("odd", "builtins:int", "x"),
        ],
    )
    registry = Registry(plugins=[broken])
    assert registry.machine({"processor": {"rate": 1}}).processor.rate == 1
    assert registry.workload({"phase": [{}]}).kind == "phases"
    with pytest.raises(PluginError, match="'nowhere:Noise' cannot be imported"):
        registry.machine({"noise": {}})
    with pytest.raises(PluginError, match="'nowhere:Trace' cannot be imported"):
        registry.workload({"kind": "trace"})
    with pytest.raises(PluginError, match="'builtins:int' is no attrs class"):
        registry.workload({"kind": "odd"})


READ = {
    "good": lambda path: Machine(name=path.stem),
    "raises": lambda path: {}["key"],
    "refuses": lambda path: (_ for _ in ()).throw(FileError(f"{path} is odd")),
}


@pytest.mark.parametrize("which", READ)
def test_a_reader_takes_its_suffix_and_its_failures_are_told(monkeypatch, tmp_path, which):
    module = plugin("reads", parcast_readers=[Reader(".x", "parcast_reads:read", "Mine.")])
    module.read = READ[which]
    monkeypatch.setitem(sys.modules, "parcast_reads", module)
    registry = Registry(plugins=[module])
    if which == "good":
        assert registry.machine(tmp_path / "mine.x").name == "mine"
        with pytest.raises(FileError, match="is a machine, not a workload"):
            registry.workload(tmp_path / "mine.x")
    else:
        with pytest.raises(FileError, match=r"mine\.x (cannot be read: 'key'|is odd)"):
            registry.machine(tmp_path / "mine.x")


def test_a_reader_of_a_common_suffix_takes_the_files_with_its_mark(monkeypatch, tmp_path):
    target = "parcast_reads:read"
    records = [
        Reader(".json", target, "Mine.", mark='"laps"'),
        Reader("", target, "A folder.", mark=r"(?m)^lap-\d+$"),
    ]
    module = plugin("reads", parcast_readers=records)
    module.read = READ["good"]
    monkeypatch.setitem(sys.modules, "parcast_reads", module)
    registry = Registry(plugins=[module])
    assert set(registry.readers) >= {".json-parcast_reads", "folder-parcast_reads"}
    for name, text in (("mine", '{"laps": 3}'), ("table", '{"network": {"startup": 1}}')):
        (tmp_path / f"{name}.json").write_text(text)
        assert registry.machine(tmp_path / f"{name}.json").name == name
    assert "network" not in registry.machine(tmp_path / "mine.json").parts
    (tmp_path / "race").mkdir()
    with pytest.raises(FileError, match="is a directory"):
        registry.machine(tmp_path / "race")
    (tmp_path / "race" / "lap-1").touch()
    assert registry.machine(tmp_path / "race").name == "race"


def test_what_no_solver_takes_can_be_shown(monkeypatch, tmp_path):
    readers = [Reader(".x", "parcast_reads:solved", "Mine.", shown="parcast_reads:shown")]
    module = plugin("reads", parcast_readers=readers)
    module.solved, module.shown = READ["refuses"], READ["good"]
    monkeypatch.setitem(sys.modules, "parcast_reads", module)
    registry = Registry(plugins=[module])
    with pytest.raises(FileError, match="is odd"):
        registry.machine(tmp_path / "mine.x")
    assert registry.read(tmp_path / "mine.x").name == "mine"


def test_two_threads_share_a_registry(shipped):
    registry, _ = shipped
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(lambda _: (registry.machine("mine"), registry.workload("work")), "12")
        )
    assert found[0] == found[1]


def test_registries_share_nothing():
    assert list(Registry(plugins=[good()]).solvers) == ["good.one"]
    assert list(Registry(plugins=[]).solvers) == []
