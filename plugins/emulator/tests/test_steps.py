"""Steps of kernels have no wrapper for Python, so nothing but kernels and steps calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import parcast_emulator

SOURCES = Path(parcast_emulator.__file__).parent
STEPS = {"step", "inlined", "kept"}
COMPILED = {*STEPS, "kernel", "kernel_of_flows", "shared_step"}


ACCESS = ("parcast_emulator.engines.service", "access")


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts)


def decorators(node: ast.FunctionDef) -> set[str]:
    return {name.id for name in node.decorator_list if isinstance(name, ast.Name)}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def plain_names(node: ast.AST) -> Iterator[str]:
    """Yield what plain Python calls, or refers to."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and decorators(child) & COMPILED:
            continue
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield child.id
        yield from plain_names(child)


def test_only_kernels_call_steps() -> None:
    trees = {path: ast.parse(path.read_text()) for path in SOURCES.rglob("*.py")}
    steps = {
        (module_of(path), function.name)
        for path, tree in trees.items()
        for function in functions(tree)
        if decorators(function) & STEPS
    }
    assert len(steps) > 30
    for path, tree in trees.items():
        homes = {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        names = set(plain_names(tree))
        called = {homes.get(name, (module_of(path), name)) for name in names} & steps
        # its plain form, py_func, which calls shared steps alone, serves the processes
        assert called <= ({ACCESS} if path.stem == "disks" else set()), path


def test_the_plain_form_that_processes_use_calls_shared_steps_alone() -> None:
    tree = ast.parse((SOURCES / "engines" / "service.py").read_text())
    found = {function.name: function for function in functions(tree)}
    called = {
        node.func.id
        for node in ast.walk(found["access"])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    steps = {name for name, function in found.items() if decorators(function) & STEPS}
    assert called & found.keys() == {"within"}
    assert "within" not in steps
