"""What a kernel is made of: code of functions that call each other, and the constants they use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def ingredients(function: Any, how: object = None) -> bytes:
    """Return bytes that differ where the machine code of a kernel may differ.

    Parameters
    ----------
    function
        A plain function. What it names is looked up where it looks it up: functions (compiled ones
        by what they are compiled from) with all that they name, modules by the members that are
        used of them, constants by value.
    how
        How it is compiled.

    Returns
    -------
    bytes
        The same in every process, and wherever the files are.
    """
    return "\n".join([repr(how), *_of(function, frozenset(), set())]).encode()


def _of(value: Any, names: frozenset[str], seen: set[Any]) -> Iterator[str]:
    """Describe a value of which a function uses members of these names."""
    plain = getattr(value, "py_func", None) or getattr(value, "_defn", None) or value
    if isinstance(plain, (tuple, list)):
        yield f"{type(plain).__name__} of {len(plain)}"
        for entry in plain:
            yield from _of(entry, names, seen)
    elif isinstance(plain, Mapping):
        yield from _of([*plain.items()], names, seen)
    elif not isinstance(plain, (FunctionType, ModuleType, type)):
        yield _constant(plain)
    elif isinstance(plain, FunctionType):
        yield plain.__qualname__
        if plain not in seen:
            seen.add(plain)
            yield from _function(plain, seen)
    else:
        yield f"{plain.__name__} {getattr(plain, '_fields', '')}"
        if (plain, names) not in seen:
            seen.add((plain, names))
            yield from _holder(plain, names, seen)


def _constant(value: Any) -> str:
    kind = type(value)
    if isinstance(value, _PLAIN):
        return f"{kind.__name__} {value!r}"
    if isinstance(value, Enum):
        return f"{kind.__qualname__}.{value.name} {value.value!r}"
    if isinstance(value, (set, frozenset)):
        return " ".join(sorted(map(repr, value)))
    if hasattr(value, "dtype") and hasattr(value, "tobytes"):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    text = str(value) if _is_library(kind.__module__) else kind.__qualname__
    return f"{getattr(value, '__module__', kind.__module__)} {getattr(value, '__qualname__', text)}"


def _holder(holder: Any, names: frozenset[str], seen: set[Any]) -> Iterator[str]:
    """Describe a module or a class by the members that are used."""
    if not _is_library(holder.__module__ if isinstance(holder, type) else holder.__name__):
        yield from _members(vars(holder), names, seen)


def _function(function: FunctionType, seen: set[Any]) -> Iterator[str]:
    yield from _of(function.__defaults__, frozenset(), seen)
    if _is_library(function.__module__):
        return  # numba has a form of its own of it
    names = frozenset(_names(function.__code__))
    yield from _code(function.__code__)
    yield from _members(function.__globals__, names, seen)
    for cell in function.__closure__ or ():
        yield from _of(cell.cell_contents, names, seen)


def _members(values: Mapping[str, Any], names: Iterable[str], seen: set[Any]) -> Iterator[str]:
    used = frozenset(names)
    for name in sorted(used & values.keys()):
        yield name
        yield from _of(values[name], used, seen)


def _code(code: CodeType) -> Iterator[str]:
    yield f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield from _of(constant, frozenset(), set())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES


#: What numba knows by itself, and what is in place of a version of its own in its cache.
_LIBRARIES = frozenset({"builtins", "llvmlite", "math", "numba", "numpy", "operator", "typing"})
