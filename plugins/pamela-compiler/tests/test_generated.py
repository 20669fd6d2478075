"""Models made of data-parallel sources: the hand-written formulas, and the sources' own loops."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parcast_pamela
import parcast_pamela_compiler
from parcast import Registry
from parcast.testing import cases
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import residual
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.enumeration import bounds_at
from parcast_pamela.language.reading import model_of, read_model
from parcast_pamela.simulation.program import unfold
from parcast_pamela.simulation.running import run
from parcast_pamela_compiler.generating import generate

from .source_loops import TC, TG, TL, Run

SOURCES = {
    path.stem: path
    for path in sorted((Path(parcast_pamela_compiler.__file__).parent / "sources").glob("*.py"))
}
WORKLOADS = Registry([parcast_pamela]).workloads
TIMES = {"tc": TC, "tl0": TL, "tg": TG}


def generated(name, machine="das1"):
    path = SOURCES[name]
    return model_of(generate(path.read_text(), path.name), path.stem, machine=machine)


def by_hand(name, machine="das1"):
    return read_model(Path(str(WORKLOADS[name].path)), machine)


@pytest.mark.parametrize(
    ("name", "hand"),
    [
        ("matmul", "matmul"),
        ("gauss-cyclic", "gauss-cyclic"),
        ("gauss-block", "gauss-block"),
        ("gauss-ij-cyclic", "gauss-ij"),
    ],
)
def test_the_formula_is_that_of_the_model_by_hand(name, hand):
    found = compile_model(generated(name)).bound
    assert repr(found) == repr(compile_model(by_hand(hand)).bound)
    assert "sum(" not in repr(found)


@pytest.mark.parametrize(
    ("name", "hand", "time"),
    [("adi-vertical", "adi-j", "tu/2"), ("adi-horizontal", "adi-i", "tu/2")],
)
def test_an_update_by_hand_is_the_operations_of_the_source(tmp_path, name, hand, time):
    """The paper's `update` is all that the statement takes; moves are left out there."""
    machine = tmp_path / "updates.pam"
    machine.write_text(
        'import "data-parallel"\nparam tu : time = 1 us\nresource cpu[0..P-1]\n'
        f"op(p) = use(cpu[p], {time})\nlmove(p, S) = skip\ngmove(p, q) = skip\n"
        "bcast(p) = skip\nreduce(p) = skip\n"
    )
    found = compile_model(generated(name, str(machine))).bound
    assert repr(found) == repr(compile_model(by_hand(hand, None)).bound)


HAND = {
    "scale": """
param N : int >= 1 = 1000
let mu(i) = i mod P
L = par (i = 0, N-1) { op(mu(i)) ; lmove(mu(i), P) }
""",
    "adi-vertical": """
param N : int >= 3 = 1344
assume N mod P == 0
let B = N/P
L = seq (i = 1, N-2)
      par (j = 0, N-1) { lmove(floor(j/B), 1) ; op(floor(j/B)) ; op(floor(j/B)) }
""",
    "adi-horizontal": """
param N : int >= 3 = 1344
assume N mod P == 0
let B = N/P
let mu(i) = floor(i/B)
L = seq (i = 1, N-2) {
      if (i mod B == 0) par (j = 0, N-1) gmove(mu(i-1), mu(i)) ;
      if ((i+1) mod B == 0) par (j = 0, N-1) gmove(mu(i+1), mu(i)) ;
      par (j = 0, N-1) { lmove(mu(i), 1) ; op(mu(i)) ; op(mu(i)) }
    }
""",
}


@pytest.mark.parametrize("name", HAND)
def test_the_formula_is_that_of_the_lines_by_hand(name):
    model = model_of(f'import "data-parallel"\n{HAND[name]}', machine="das1")
    assert repr(compile_model(generated(name)).bound) == repr(compile_model(model).bound)


def test_a_vector_operation_is_mapped_as_in_the_paper(tmp_path):
    """Section 3.3: with a processor for each element, only the multiplication counted."""
    text = "def scale(P, N=1000):\n    assert N == P\n    X = array(P, block)\n"
    text += "    for i in forall(P):\n        X[i] = X[i] * 2.0\n"
    machine = tmp_path / "stores-are-free.pam"
    for name, form in (("ts", "ts"), ("pipe", "tv*max(P, S)")):
        what = "resource lane[0..P-1]\nop(p) = use(lane[p], ts)\n"
        if name == "pipe":
            what = "resource v[1..S]\nop(p) = seq (j = 1, S) use(v[j], tv)\n"
        machine.write_text(
            'import "data-parallel"\nparam ts : time = 4, tv : time = 1, S : int >= 1 = 8\n'
            f"{what}lmove(p, d) = skip\ngmove(p, q) = skip\nbcast(p) = skip\nreduce(p) = skip\n"
        )
        model = model_of(generate(text), machine=str(machine))
        assert repr(compile_model(model).bound) == form


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_takes_what_its_loops_take(name):
    """The formula, the loops run one by one, and the simulator above it."""
    text = SOURCES[name].read_text()
    model, plain = generated(name), text.replace("row[:] = A[i, :]", "row[0] = A[i, 0]")
    compiled = compile_model(model)
    assert not any(one in repr(compiled.bound) for one in residual(compiled))
    for n, p in ((6, 1), (12, 3), (4, 4)):
        more = {"c": 1.4} if name.startswith("psrs") else {"a": 2} if name == "scale" else {}
        found = compiled.values({"N": n, "P": p, **TIMES})
        expected = Run(plain, p, N=n, **more).whole().bound
        if plain != text:
            expected += n * (n - 1) * p * TG  # the other elements of each row
        assert found.bound == expected, (n, p)
        took = run(unfold(model, {"N": n, "P": p, **TIMES})).time
        assert took >= found.bound * (1 - 1e-12)


@pytest.mark.parametrize("kind", ["block", "cyclic"])
def test_a_transpose_is_a_formula_in_n_and_p(kind):
    """Neither loops nor guards are left; a processor sends all but its own share, and takes it."""
    compiled = compile_model(generated(f"transpose-{kind}"))
    assert residual(compiled) == []
    assert compiled.guards == ()
    if kind == "block":
        assert repr(compiled.bound) == "N^2*tg/P + N^2*tl0*min(4, N)/P^2 - N^2*tg/P^2"
    for n, p in product(range(1, 14), range(1, 7)):
        for times in (TIMES, {"tc": 1, "tl0": 5, "tg": 2}):  # each kind of move the dearer one
            if kind == "cyclic" or n % p == 0:
                point = {"N": n, "P": p, **times}
                found = compiled.values(point)
                expected = bounds_at(compiled.model, bind(compiled.model, point))
                for name in ("critical_path", "contention", "bound", "upper"):
                    assert getattr(found, name) == getattr(expected, name), (name, point)


@pytest.mark.parametrize(
    ("better", "worse", "n", "processors"),
    [
        ("adi-vertical", "adi-horizontal", 1024, (2, 4, 8, 16, 32, 64)),
        ("gauss-cyclic", "gauss-block", 512, (2, 4, 8, 16, 32, 64)),
        ("gauss-ij-block", "gauss-block", 512, (1, 2, 4, 8, 16, 32, 64)),
        ("gauss-ij-cyclic", "gauss-cyclic", 512, (1, 2)),
        ("gauss-ij-block", "gauss-ij-cyclic", 512, (4, 8, 16, 32, 64)),
        ("psrs-improved", "psrs", 819_200, (2, 4, 8, 16, 32, 64)),
    ],
)
def test_the_better_alternative_is_that_of_the_paper(better, worse, n, processors):
    """Figures 6 to 9."""
    one, other = (compile_model(generated(name)) for name in (better, worse))
    for p in processors:
        assert one.values({"N": n, "P": p}).bound < other.values({"N": n, "P": p}).bound


# ---------------------------------------------------------------- random programs

INDEX = st.sampled_from(["i", "i + 1", "i - 1", "i + 2", "i - 3", "M - i", "k"])
AXES = st.sampled_from(["block", "cyclic", "whole"])


@st.composite
def programs(draw):
    """Draw a program of a vector and two matrices, with loops within their bounds."""
    rows, columns, vector = draw(AXES), draw(AXES), draw(AXES)
    matrix = draw(st.sampled_from([f"({rows}, whole)", f"(whole, {columns})", "replicated"]))
    lines = [
        f"V = array(N, {'replicated' if vector == 'whole' else vector})",
        f"A = array((N, N), {matrix})",
        f"W = array(N, {draw(st.sampled_from(['block', 'cyclic', 'replicated']))})",
    ]
    outer = draw(st.sampled_from(["range", "forall"]))
    inner = draw(st.sampled_from(["range", "forall"]))
    by = draw(st.sampled_from(["", ", 2"]))
    lines += [
        f"for k in {outer}(3, N - 3{by}):",
        f"    for i in {inner}({draw(st.sampled_from(['3', 'k', '3']))}, N - 3):",
    ]
    elements = st.one_of(
        INDEX.map(lambda x: f"V[{x}]".replace("M", "N - 1")),
        st.tuples(INDEX, INDEX).map(lambda x: f"A[{x[0]}, {x[1]}]".replace("M", "N - 1")),
    )
    for _ in range(draw(st.integers(1, 2))):
        target = draw(st.sampled_from(["V[i]", "A[k, i]", "A[i, k]", "W[k]", "W[i]"]))
        parallel = {one for one, kind in (("k", outer), ("i", inner)) if kind == "forall"}
        sign = draw(st.sampled_from(["=", "+="])) if parallel <= set(target) else "="
        value = draw(elements)
        if draw(st.booleans()):
            value += f" * {draw(elements)}"
        lines.append(f"        {target} {sign} {value}")
    if draw(st.booleans()):
        lines += ["        if i % 2 == k % 2:", "            W[i] = V[i] - 1"]
    if "forall" in {outer, inner} and draw(st.booleans()):
        lines += ["s = 0.0", "for i in forall(N):", "    s += W[i] * V[i]"]
    return "def program(P, N=8):\n    assert N >= 8\n" + "".join(f"    {line}\n" for line in lines)


@settings(max_examples=cases(20))
@given(programs(), st.sampled_from([(8, 1), (8, 2), (9, 3), (8, 4)]))
def test_a_program_takes_what_its_loops_take(text, sizes):
    n, p = sizes
    model = model_of(generate(text), machine="das1")
    found = bounds_at(model, bind(model, {"N": n, "P": p, **TIMES}))
    assert found.bound == Run(text, p, N=n).whole().bound


@pytest.mark.parametrize("kind", ["block", "cyclic"])
@pytest.mark.parametrize("index", ["i + 1", "i - 1", "i + 2", "i - 3"])
def test_a_neighbor_is_fetched_where_it_is_anothers(kind, index):
    text = f"def program(P, N=9):\n    V = array(N, {kind})\n    W = array(N, {kind})\n"
    text += f"    for i in forall(3, N - 2):\n        W[i] = 2 * V[{index}]\n"
    model = model_of(generate(text), machine="das1")
    for n, p in ((12, 3), (8, 4), (12, 1), (12, 2)):
        found = bounds_at(model, bind(model, {"N": n, "P": p, **TIMES}))
        assert found.bound == Run(text, p, N=n).whole().bound
        assert {key[1][0]: time for key, time in found.demand.items() if time} == (
            Run(text, p, N=n).whole().demand
        )
