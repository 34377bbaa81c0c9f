"""How the command ends: exit codes, and errors as one line on stderr."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

FAILED = 1
BAD_INPUT = 2
STOPPED = 130

# Typer has carried click inside since 0.25 or so; this finds it in either place.
_CommandLineError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
_OF_THE_INPUT = (ValueError, TypeError, OSError, ModuleNotFoundError)


class Failure(Exception):
    """Something failed that is no fault of the input: exit code 1."""


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the application; return the exit code, with errors told on stderr."""
    try:
        code = app(args=list(arguments), prog_name="ekss", standalone_mode=False)
    except _CommandLineError as error:
        return _refuse_line(error)
    except Failure as error:
        return tell(str(error), FAILED)
    except _OF_THE_INPUT as error:
        return tell(_described(error), BAD_INPUT)
    except MemoryError as error:
        text = str(error) or "an array does not fit; use fewer points or columns"
        return tell(f"not enough memory: {text}", FAILED)
    except typer.Abort:
        return tell("stopped", STOPPED)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return tell(f"a fault inside ekss, {what}; --debug shows where", FAILED)
    if code == STOPPED:
        # CPython remembers an interrupt that came inside exec("...") though it was
        # caught, and would end by the signal, not by the code; this makes it forget.
        exec("")
    return code if isinstance(code, int) else 0


def tell(text: str, code: int) -> int:
    """Write one line on stderr and return the exit code."""
    typer.echo(f"ekss: {one_line(text)}", err=True)
    return code


def one_line(text: str) -> str:
    """Join the lines of a message."""
    return " ".join(text.split())


@contextmanager
def guarded(debug: bool) -> Iterator[None]:
    """Turn Ctrl-C into one line and exit code 130; show tracebacks if asked for."""
    try:
        yield
    except KeyboardInterrupt:
        tell("stopped; no file was written", STOPPED)
        raise typer.Exit(STOPPED) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception:
        if debug:
            traceback.print_exc(file=sys.stderr)
        raise


@contextmanager
def no_fault_of_input(doing: str) -> Iterator[None]:
    """Count every error from here on as a failure; only a missing package is not."""
    try:
        yield
    except (ModuleNotFoundError, Failure, MemoryError, typer.Exit):
        raise
    except Exception as error:
        raise Failure(f"{doing} failed: {_described(error)}") from error


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Gather what is warned about instead of letting Python print it."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield texts
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            texts.append(one_line(str(warning.message)))


def _refuse_line(error: Exception) -> int:
    """Tell of a wrong command line; without any arguments the help says it all."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return BAD_INPUT
    text = one_line(error.format_message())  # type: ignore[attr-defined]
    text = text.replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    command = "ekss" if context is None else context.command_path
    link = "" if text.endswith("?") else ";"
    return tell(f"{text}{link} see: {command} --help", BAD_INPUT)


def _described(error: Exception) -> str:
    """Return the message; of an operating system's error the file and the reason."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__
