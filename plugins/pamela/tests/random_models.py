"""Random models as text, and random parameters for them; hypothesis shrinks both."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NoReturn

from hypothesis import strategies as st

from parcast_pamela.language.model import Model, link
from parcast_pamela.language.parser import parse
from parcast_pamela.language.tree import Declaration

HEAD = """param N : int >= 0 = 5, M : int >= 1 = 3, P : int >= 1 = 2, tau : time = 1, ts : time = 2
param p : prob = 0.5
resource s, pool mult 2, many mult P, free mult inf
resource cyclic[0..P-1], fixed[0..3], line[-60..60], blocks[-60..60]
resource grid[0..2, -60..60], uneven[q = 0..3] mult q + 1
"""

#: All points, so that one is a single draw
_POINTS: list[dict[str, object]] = [
    {"N": n, "M": m, "P": p, "tau": tau, "ts": ts, "p": chance}
    for chance, ts, tau, p, m, n in product(
        ("0", "1/3", "1"), ("0", "1", "5/3"), ("0", "1", "1/2", "3"), range(1, 5), range(1, 6),
        range(8),
    )
]  # fmt: skip


def bindings(count: int) -> st.SearchStrategy[list[dict[str, object]]]:
    """Return parameters of several points."""
    return st.tuples(*count * [st.sampled_from(_POINTS)]).map(list)


@st.composite
def models(draw: st.DrawFn) -> str:
    """Return the text of a model, to be read after `HEAD`."""
    return f"L = {draw(_within(draw(_DEPTHS), ()))}\n"


def read(text: str) -> Model:
    """Return the model of a text, the declarations before it parsed only once."""
    return link("random", [*_head(), *parse(text)[0]], _no_import)


@cache
def _head() -> list[Declaration]:
    return parse(HEAD)[0]


def _no_import(_: object) -> NoReturn:
    raise AssertionError


@st.composite
def _process(draw: st.DrawFn, depth: int, indices: tuple[str, ...]) -> str:
    kind = draw(_KINDS if depth > 0 else _LEAVES)
    if kind == "use":
        return f"use({draw(_resource(indices))}, {draw(_time(indices))})"
    if kind == "delay":
        return f"delay({draw(_time(indices))})"
    if kind in {"seq", "par"}:
        parts = draw(_parts(depth - 1, indices))
        sign = " ; " if kind == "seq" else " || "
        return "{ " + sign.join(f"{{ {part} }}" for part in parts) + " }"
    if kind == "if":
        condition, then = draw(_condition(indices)), draw(_within(depth - 1, indices))
        other = draw(_other(depth - 1, indices))
        tail = "" if other is None else f" else {{ {other} }}"
        return f"if ({condition}) {{ {then} }}{tail}"
    name = f"i{len(indices)}"
    first, last = draw(_bound(indices)), draw(_bound(indices))
    first = draw(_FIRSTS) or first
    step = draw(_STEPS)
    body = draw(_within(depth - 1, (*indices, name)))
    word = draw(_WORDS)
    return f"{word} ({name} = {first}, {last}{step}) {{ {body} }}"


# strategies are made once: making one takes longer than drawing from it


@cache
def _within(depth: int, indices: tuple[str, ...]) -> st.SearchStrategy[str]:
    return _process(depth, indices)


@cache
def _parts(depth: int, indices: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(_within(depth, indices), min_size=2, max_size=2)


@cache
def _other(depth: int, indices: tuple[str, ...]) -> st.SearchStrategy[str | None]:
    return st.none() | _within(depth, indices)


@cache
def _bound(indices: tuple[str, ...]) -> st.SearchStrategy[str]:
    names = ["0", "1", "2", "N", "M", "P", "N-1", "P-1", "N/P", "2*N", "N*P-1", "M+3", "N/2"]
    names += ["(P == 1 ? 2 : N div (P-1))"]
    names += [f"{i}{offset}" for i in indices for offset in ("", "+1", "-1", "+M")]
    return st.sampled_from(names)


@cache
def _affine(indices: tuple[str, ...]) -> st.SearchStrategy[str]:
    forms = ["1", "N", "M", "3"]
    if indices:
        several = [form for i in indices for form in (i, i, f"2*{i}", f"-{i}", f"M*{i}")]
        forms = [*several, *(f"{i}+{j}" for i in indices for j in indices)]
    return st.sampled_from(
        [form + offset for form in forms for offset in ("", "+1", "-2", "+M", "+N")]
    )


@cache
def _resource(indices: tuple[str, ...]) -> st.SearchStrategy[str]:
    return _resource_of(indices)


@st.composite
def _resource_of(draw: st.DrawFn, indices: tuple[str, ...]) -> str:
    form = draw(_RESOURCES)
    if "{" not in form:
        return form
    return form.format(draw(_affine(indices)), draw(_affine(indices)) if "{1}" in form else "")


@cache
def _time(indices: tuple[str, ...]) -> st.SearchStrategy[str]:
    names = ["1", "2", "tau", "ts", "tau+ts", "max(tau, 1)", "N", "floor(N/P)", "N*tau"]
    names += ["(P == 1 ? tau : N/(P-1))", "(N > M ? N mod (N-M) : 1)", "(N == 0 ? 2 : log2(N))"]
    for i in indices:
        names += [f"max({i}, 0)", f"abs({i})", f"max({i}, M)*tau", f"floor(abs({i})/P)", f"{i}*{i}"]
        names += [f"max(N-{i}, 0)", f"ceil({i}*{i}/M)", f"({i} > M ? 2 : tau)", f"min(abs({i}), M)"]
        names += [f"({i} mod P)*ts", f"({i} == M ? 0 : tau/abs({i}-M))"]
    return st.sampled_from(names)


@cache
def _condition(indices: tuple[str, ...]) -> st.SearchStrategy[str]:
    names = ["N > M", "bern(p)", "bern(1/4)", "P == 2"]
    for i in indices:
        names += [f"{i} mod 2 == 0", f"{i} mod P == 1", f"{i} > M", f"{i} <= N/2", f"{i} != 1"]
        names += [f"floor({i}/M) == 1", f"2*{i} >= N", f"{i} == M", f"(N-{i}) mod M == 0"]
        names += [f"{i} > 0 and N mod {i} == 0"]
    both = [f"{one} {word} {other}" for one in names for word in ("and", "or") for other in names]
    return st.sampled_from(names) | st.sampled_from([*(f"not ({one})" for one in names), *both])


_DEPTHS = st.sampled_from((2, 1, 1, 2, 1, 2, 1, 3))
_LEAVES = st.sampled_from(("use", "use", "delay"))
_KINDS = st.sampled_from(
    ("use", "use", "delay", "seq", "par", "loop", "loop", "loop", "loop", "if")
)  # fmt: skip
_STEPS = st.sampled_from(("", "", "", "", " by 2", " by M"))
_FIRSTS = st.sampled_from(("0", "1", None))
_WORDS = st.sampled_from(("seq", "par"))
_RESOURCES = st.sampled_from(
    (
        "s",
        "pool",
        "many",
        "free",
        "cyclic[({0}) mod P]",
        "cyclic[({0}) mod P]",
        "fixed[({0}) mod 4]",
        "line[{0}]",
        "blocks[floor(({0})/M)]",
        "blocks[floor(({0})/3)]",
        "grid[({0}) mod 3, floor(({1})/2)]",
        "uneven[({0}) mod 4]",
    )
)
