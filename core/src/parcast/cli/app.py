"""The ``parcast`` command. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from parcast.api import Registry
from parcast.cli import advise, browse, listing, solve, study, warm
from parcast.cli.options import SEVERAL
from parcast.cli.terminal import printing
from parcast.errors import ParcastError, did_you_mean
from parcast.startup import SELDOM

#: What shells show of a command that was ended by a pipe that nobody reads.
UNREAD = 141

HELP = """Predict how long a parallel program takes on a parallel machine, by several methods.

Start with: parcast list, then parcast compare WORKLOAD MACHINE."""


#: The core's own commands, by name.
_COMMANDS: Mapping[str, Callable[..., Any]] = {
    "compare": solve.compare,
    "predict": solve.predict,
    "study": study.study,
    "advise": advise.advise,
    "list": listing.list_names,
    "show": browse.show,
    "warm": warm.warm,
}


def build(registry: Registry, command: str = "") -> typer.Typer:
    """Return the command line application.

    It has every plugin's commands; for a ``command`` that there is, that alone, which is built in
    a tenth of the time.
    """
    app = typer.Typer(
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    app.callback()(_options)
    for name, function in _COMMANDS.items():
        app.command(name)(function)
    if command not in _COMMANDS:
        registry.add_commands(app)
    _leave(app, command)
    return app


def _leave(app: typer.Typer, command: str) -> None:
    """Leave nothing but one command or group of commands, where it has that name."""
    commands = [info for info in app.registered_commands if info.name == command]
    groups = [info for info in app.registered_groups if info.name == command]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups


def _show_versions(context: typer.Context, show: bool) -> None:
    if show:
        for info in context.obj.plugins:
            print(info.package)
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_show_versions,
            help="Show the versions of parcast and plugins.",
        ),
    ] = False,
) -> None:
    pass


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0 fine, 1 no good answer, 2 bad input.

    Where nobody reads to the end it is `UNREAD`, that of all who are ended by such a pipe.
    """
    gc.set_threshold(*SELDOM)
    with printing():
        try:
            return _main(arguments)
        except BrokenPipeError:  # while an error or the help was printed, too
            _discard_output()
            return UNREAD


def _main(arguments: list[str] | None) -> int:
    try:
        registry = Registry()
        words = sys.argv[1:] if arguments is None else arguments
        command = build(registry, words[0] if words else "")
        for problem in registry.problems:
            print(f"parcast: warning: {problem}", file=sys.stderr)
        code = command(arguments, prog_name="parcast", standalone_mode=False, obj=registry)
        sys.stdout.flush()
    except ParcastError as error:
        if error.excerpt:
            print(error.excerpt, file=sys.stderr)
        return _complain(str(error))
    except BrokenPipeError:
        raise
    except SystemExit as error:
        # click exits with 1 where a pipe breaks
        if isinstance(error.__context__, BrokenPipeError):
            _discard_output()
            return UNREAD
        raise
    except (KeyboardInterrupt, EOFError):
        return 130
    except OSError as error:
        if error.filename is not None:
            return _complain(f"{error.filename}: {error.strerror}")
        _discard_output()
        return _complain(f"the output cannot be written: {error.strerror}")
    except Exception as error:
        if type(error).__name__ == "Abort":
            return 130
        if hasattr(error, "format_message"):
            return _usage(error)
        raise
    return code if isinstance(code, int) else 0


def _discard_output() -> None:
    """Keep the interpreter from failing again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Exception) -> int:
    """Explain a wrong command line in one sentence."""
    message = error.format_message()  # type: ignore[attr-defined]
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message)
        return 0
    message, _, possible = message.replace("Value error, ", "").partition(" (Possible options: ")
    options = possible.rstrip(")").split(", ") if possible else []
    hint = did_you_mean(getattr(error, "option_name", ""), options)
    context = getattr(error, "ctx", None)
    arguments = () if context is None else context.command.params
    if "extra argument" in message and any(getattr(a, "help", "") == SEVERAL for a in arguments):
        hint = " Several names or files are one argument, with commas and no blanks."
    path = getattr(context, "command_path", "parcast")
    sentence = message if message.endswith((".", "?")) else f"{message}."
    return _complain(f"{sentence}{hint} See '{path} --help'.")


def _complain(message: str) -> int:
    print(f"parcast: {' '.join(message.split())}", file=sys.stderr)
    return 2


def run() -> None:
    """Run the command and exit; as head and others end what they do not read, so is this ended."""
    code = main()
    if code == UNREAD and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
    sys.exit(code)
