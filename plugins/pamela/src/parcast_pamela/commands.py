"""``parcast pamela``: formulas of models, and sweeps over their parameters."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from parcast.errors import FileError, ParcastError, UnknownNameError, did_you_mean, shorten
from parcast_pamela.programs.command import generate

if TYPE_CHECKING:
    from parcast.model import Prediction
    from parcast_pamela.compilation.compiler import Compiled
    from parcast_pamela.language.model import Model

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="PAMELA models, as formulas.")
app.command()(generate)

File = Annotated[str, typer.Argument(help="A .pam file, or the name of a shipped model.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter's value.")
]
BindingsFile = Annotated[
    Path | None, typer.Option("--bindings", help="Values of parameters, an object in JSON.")
]
MachineModel = Annotated[
    str | None,
    typer.Option("--machine-model", help="A .pam file, or a shipped machine's name, for extern."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@app.callback()
def _group() -> None:
    """PAMELA models, as formulas."""


@app.command("compile")
def compile_(
    context: typer.Context,
    file: File,
    *,
    settings: Settings = None,
    bindings: BindingsFile = None,
    machine_model: MachineModel = None,
    fix: Annotated[
        list[str] | None,
        typer.Option("--fix", metavar="NAME=VALUE", help="A parameter as a number in formulas."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    sympy: Annotated[bool, typer.Option("--sympy", help="Print SymPy expressions.")] = False,
    python: Annotated[bool, typer.Option("--python", help="Print a Python function.")] = False,
    numpy: Annotated[bool, typer.Option("--numpy", help="Print a NumPy function.")] = False,
    numba: Annotated[bool, typer.Option("--numba", help="Print a numba function.")] = False,
    c: Annotated[bool, typer.Option("--c", help="Print a C function.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a model's formulas: critical path, contention, lower and upper bound."""
    chosen = {
        name
        for name, on in (
            ("latex", latex), ("sympy", sympy), ("python", python), ("numpy", numpy),
            ("numba", numba), ("c", c), ("json", as_json),
        )
        if on
    }  # fmt: skip
    if len(chosen) > 1:
        raise ParcastError(f"give one of --{', --'.join(sorted(chosen))}, not several")
    parameters, constants = _parameter_values(settings, bindings), _parameter_values(fix, None)
    if both_ways := sorted(parameters.keys() & constants):
        raise ParcastError(f"{', '.join(both_ways)}: --fix makes it a number; leave out its --set")
    compiled = _compiled(context, file, machine_model, constants)
    if chosen & {"python", "numpy", "numba", "c"}:
        print(_source(compiled, chosen.pop()), end="")
    elif chosen & {"latex", "sympy"}:
        print("\n".join(_formulas(compiled, chosen.pop())))
    else:
        from parcast_pamela.reporting import report, report_data

        compiled, values = _values(compiled, parameters)
        if as_json:
            print(json.dumps(report_data(compiled, values), indent=1, allow_nan=False))
        else:
            print("\n".join(report(compiled, values, parameters)))


@app.command()
def sweep(
    context: typer.Context,
    file: File,
    *,
    over: Annotated[str, typer.Option(help="NAME=FIRST..LAST, NAME=1..1024*2 or NAME=1,2,5.")],
    settings: Settings = None,
    bindings: BindingsFile = None,
    machine_model: MachineModel = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the table to a file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves to a .svg, .png or .pdf file.")
    ] = None,
    simulated: Annotated[
        bool, typer.Option("--simulate", help="Simulate each point beside its bounds.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model's bounds over a parameter's range, and say where the regime changes."""
    from parcast.files import check_file, check_folder
    from parcast_pamela.sweeping import (
        PLOTS,
        changes,
        plot_sweep,
        simulate_points,
        sweep_model,
        write_csv,
    )

    if csv is not None:
        check_folder(csv)
    if plot is not None:
        check_file(plot, "a plot", PLOTS)
    name, numbers = _sweep_values(over)
    compiled = _compiled(context, file, machine_model)
    parameters = _parameter_values(settings, bindings)
    rows = sweep_model(compiled, name, numbers, parameters)
    if simulated:
        rows = simulate_points(compiled, rows, parameters)
    if csv is not None:
        write_csv(rows, csv)
    if plot is not None:
        plot_sweep(rows, compiled.model.name, plot)
    if as_json:
        data = {"model": compiled.model.name, "over": name,
                "rows": [row.to_data() for row in rows]}  # fmt: skip
        print(json.dumps(data, indent=1, allow_nan=False))
    else:
        from parcast.cli import print_table

        print_table(*rows[0].table(rows))
        for before, after in changes(compiled, rows, parameters):
            change = f"{name} = {before.value}: {before.regime}; {after.value}: {after.regime}"
            print(f"regime changes, {shorten(change, 300)}")


@app.command()
def simulate(
    context: typer.Context,
    file: File,
    *,
    settings: Settings = None,
    bindings: BindingsFile = None,
    machine_model: MachineModel = None,
    arbitration: Annotated[str, typer.Option(help="fifo, lifo or random.")] = "fifo",
    seed: Annotated[int, typer.Option(min=0, help="For what is drawn.")] = 0,
    tolerance: Annotated[
        float, typer.Option(min=0.0001, help="Half width of the mean's interval, relative.")
    ] = 0.01,
    as_json: AsJson = False,
) -> None:
    """Run a model by discrete events, beside its bounds."""
    from parcast_pamela.simulation.program import unfold
    from parcast_pamela.solvers.sim import Options, simulation_prediction

    if arbitration not in {"fifo", "lifo", "random"}:
        raise ParcastError(f"--arbitration {arbitration!r} must be fifo, lifo or random")
    parameters = _parameter_values(settings, bindings)
    compiled = _compiled(context, file, machine_model)
    simulation = unfold(compiled.model, parameters)
    options = Options(arbitration=arbitration, tolerance=tolerance)  # type: ignore[arg-type]
    prediction = simulation_prediction(simulation, options, seed)
    values = compiled.values(parameters)
    bounds = float(values.bound), float(values.upper)
    if as_json:
        data = {
            "model": compiled.model.name,
            "arbitration": arbitration,
            **{name: getattr(prediction, name) for name in ("time", "std", "ci")},
            "bound": bounds[0],
            "upper": bounds[1],
            **prediction.details,
            "notes": list(prediction.notes),
        }
        print(json.dumps(data, indent=1, allow_nan=False))
        return
    _print_simulation(prediction, bounds, simulation.events)


def _print_simulation(prediction: Prediction, bounds: tuple[float, float], events: int) -> None:
    print(f"{'time':14} {prediction.time:.6g} s")
    if prediction.ci:
        print(f"{'':14} {prediction.ci[0]:.6g} to {prediction.ci[1]:.6g} s, "
              f"{prediction.details['replications']} replications")  # fmt: skip
    print(f"{'bounds':14} {bounds[0]:.6g} to {bounds[1]:.6g} s")
    print(f"{'events':14} {events:,}")
    print("\n".join(prediction.notes))


def _model(context: typer.Context, file: str, machine: str | None) -> Model:
    from parcast_pamela.language.reading import read_model

    shipped = context.obj.workloads if context.obj is not None else {}
    if file in shipped:
        return read_model(Path(str(shipped[file].path)), machine)
    path = Path(file)
    if not path.suffix and not path.exists():
        shipped_models = [
            name for name, workload in shipped.items() if str(workload.path).endswith(".pam")
        ]
        raise UnknownNameError(
            f"There is no file {file!r} and no shipped model of this name."
            f"{did_you_mean(file, shipped_models)} Shipped: {', '.join(shipped_models)}."
        )
    return read_model(path, machine)


def _compiled(
    context: typer.Context,
    file: str,
    machine: str | None,
    constants: Mapping[str, Any] | None = None,
) -> Compiled:
    from parcast_pamela.compilation.checked import compile_checked
    from parcast_pamela.fixing import with_constants

    model = with_constants(_model(context, file, machine), constants or {})
    for warning in model.warnings:
        print(f"parcast: warning: {warning}", file=sys.stderr)
    return compile_checked(model)


def _parameter_values(settings: list[str] | None, path: Path | None) -> dict[str, Any]:
    from parcast.comparison import split_assignment
    from parcast.files import read_data

    parameters: dict[str, Any] = {}
    if path is not None:
        if path.suffix.lower() != ".json":
            raise FileError(f"{path}: bindings stand in a .json file")
        parameters |= read_data(path)
    return parameters | dict(split_assignment(setting) for setting in settings or ())


def _sweep_values(text: str) -> tuple[str, tuple[int, ...]]:
    from parcast.comparison import split_assignment
    from parcast.quantities import parse_numbers

    name, numbers = split_assignment(text)
    return name, parse_numbers(f"--over {name}", numbers)


def _values(compiled: Compiled, parameters: Mapping[str, Any]) -> tuple[Compiled, Any]:
    """Return the values where all parameters have one; an error only if they were asked for.

    Where defaults take too many steps a note says so.
    """
    import attrs

    from parcast_pamela.language.errors import ModelValueError, TooManyStepsError

    try:
        return compiled, compiled.values(parameters)
    except TooManyStepsError as error:
        if parameters:
            raise
        note = f"no values: {error}; --set gives parameters smaller ones"
        return attrs.evolve(compiled, notes=(*compiled.notes, note)), None
    except ModelValueError:
        if parameters:
            raise
        return compiled, None


def _source(compiled: Compiled, target: str) -> str:
    from parcast_pamela.codegen import sources

    write = getattr(sources, f"{target}_source")
    return str(write(compiled))


def _formulas(compiled: Compiled, target: str) -> list[str]:
    from parcast_pamela.algebra.printing import LATEX, SYMPY, text

    dialect = LATEX if target == "latex" else SYMPY
    symbols = {"critical_path": r"\varphi", "contention": r"\omega", "bound": "T^l", "upper": "T^u"}
    return [
        f"{symbol if target == 'latex' else name} = {text(getattr(compiled, name), dialect)}"
        for name, symbol in symbols.items()
    ]
