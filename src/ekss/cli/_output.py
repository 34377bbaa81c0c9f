"""What a command prints, the files it writes, and how it ends.

Files are checked before the work and put in place all at once; an error is one line on
stderr and an exit code.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ekss.cli._options import check_voice
from ekss.runtime.files import scratch_folder
from ekss.runtime.untrusted import PACKED, why_not_regular

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

FAILED, BAD_INPUT, STOPPED = 1, 2, 130  # exit codes
STDIN = Path("-")  # in the place of DATA: text as in a .csv file
LABEL_ENDINGS = (".csv", ".tsv", ".parquet", ".npy")
_PACKAGES = {".parquet": ("pyarrow", "files"), ".html": ("jinja2", "report")}
_MOST_ROWS = 20  # of a table of clusters; more would scroll the summary away
_WIDTH_OF_FILES = 160  # columns of output to a file or a pipe; no row of a table wraps
# Since about 0.25 Typer has its own copy of click; this finds the class in either.
_CommandLineError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
_INPUT_ERRORS = (ValueError, TypeError, OSError, ModuleNotFoundError)


# The command whose errors are also told as JSON on stdout; None where none is.
_told_as_json: ContextVar[str | None] = ContextVar("_told_as_json", default=None)


class Failure(Exception):
    """Something failed that is not the fault of the input: exit code 1."""


def run(app: typer.Typer, arguments: Sequence[str]) -> int:
    """Run the application; report errors on stderr and return the exit code.

    With ``--json`` an error is also one JSON object on stdout.
    """
    own = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    words = [word for word in own if not word.startswith("-")]
    _told_as_json.set(next(iter(words), "") if "--json" in own else None)
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            text = f"{argument} is not a name in UTF-8; rename the file"
            return tell(text, BAD_INPUT)
    try:
        code = app(args=list(arguments), prog_name="ekss", standalone_mode=False)
    except _CommandLineError as error:
        return _refuse_line(error)
    except Failure as error:
        return tell(str(error), FAILED)
    except _INPUT_ERRORS as error:
        return tell(_described(error), BAD_INPUT)
    except MemoryError as error:
        text = str(error) or "an array does not fit; use fewer points or columns"
        return tell(f"not enough memory: {text}", FAILED)
    except typer.Abort:
        return tell("stopped", STOPPED)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        return tell(f"internal error, {what}; --debug shows where", FAILED)
    if code == STOPPED:
        # CPython remembers an interrupt that came inside exec("...") though it was
        # caught, and would end by the signal, not by the code; this makes it forget.
        exec("")
    return code if isinstance(code, int) else 0


def tell(text: str, code: int) -> int:
    """Write one line on stderr and return the exit code."""
    line, command = visible(one_line(text)), _told_as_json.get()
    if command is not None:
        told = {"format": 1, "command": command, "error": line, "exit_code": code}
        typer.echo(json.dumps(told, indent=2))
    typer.echo(f"ekss: {line}", err=True)
    return code


def visible(text: str) -> str:
    r"""Write characters that steer a terminal, or that have no glyph, as escapes.

    Names of files and columns may hold them, and could so colour, hide or overwrite
    what is printed.

    Examples
    --------
    >>> from ekss.cli._output import visible
    >>> print(visible("a\x1b[31m.csv"))
    a\x1b[31m.csv
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else _escaped(letter)
        for letter in text
    )


def visible_in(value: Any) -> Any:
    """Do the same with every text in a value of JSON."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_in(entry) for entry in value]
    if isinstance(value, dict):
        return {visible(key): visible_in(entry) for key, entry in value.items()}
    return value


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def one_line(text: str) -> str:
    """Join the lines of a message."""
    return " ".join(text.split())


@contextmanager
def guarded(debug: bool) -> Iterator[None]:
    """Turn Ctrl-C into one line and exit code 130; show tracebacks if asked to."""
    try:
        yield
    except KeyboardInterrupt:
        tell("stopped; no file was written", STOPPED)
        raise typer.Exit(STOPPED) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception:
        if debug:
            sys.stderr.write(visible(traceback.format_exc()))
        raise


@contextmanager
def not_the_input(doing: str) -> Iterator[None]:
    """Count errors from here on as failures, except for a package that is missing."""
    try:
        yield
    except (ModuleNotFoundError, Failure, MemoryError, typer.Exit):
        raise
    except Exception as error:
        raise Failure(f"{doing} failed: {_described(error)}") from error


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect warnings instead of letting Python print them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield texts
    found = [w.message for w in caught if issubclass(w.category, UserWarning)]
    texts += [one_line(str(message)) for message in found]


def _refuse_line(error: Exception) -> int:
    """Report a wrong command line; where there are no arguments, show the help."""
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
    """Return the message; for an error of the operating system, file and reason."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


class Voice:
    """Prints for people on stdout; silent with ``--quiet`` and ``--json``."""

    def __init__(self, quiet: bool, as_json: bool = False) -> None:
        from rich.console import Console

        check_voice(quiet, as_json)
        self.silent, self._as_json = quiet or as_json, as_json
        self._out = Console(quiet=self.silent)
        if not self._out.is_terminal:
            self._out.width = _WIDTH_OF_FILES
        self._err = Console(stderr=True, quiet=self.silent)

    def plan(self, lines: Sequence[tuple[str, str]]) -> None:
        """Print what will be done."""
        for word, text in lines:
            self._out.print(f"[bold]{word:<8}[/]", end="")
            self.line(text)
        self.line("")

    def line(self, text: str) -> None:
        """Print a line as it is."""
        say(self._out, text)

    def warn(self, texts: Iterable[str]) -> None:
        """Print warnings on stderr."""
        for text in texts:
            say(self._err, f"warning: {text}")

    def show(self, table: Table) -> None:
        """Print a table."""
        self._out.print(table)

    def rows(self, table: Table) -> None:
        """Print a table of clusters, or the beginning of a long one."""
        hidden = table.row_count - _MOST_ROWS
        del table.rows[_MOST_ROWS:]
        self.show(table)
        if hidden > 0:
            self.line(f"... and {hidden} more clusters; --json shows them all")

    def scores(self, scores: Mapping[str, float] | None) -> None:
        """Print how well labels agree with the true ones, if those are known."""
        if scores is not None:
            self.line(
                f"Against the true labels: error {percent(scores['error'])}, "
                f"NMI {scores['nmi']:.3f}, ARI {scores['ari']:.3f}"
            )

    def json(self, command: str, summary: Mapping[str, Any]) -> None:
        """Print the summary of a command as one JSON object, if that is wanted."""
        if self._as_json:
            told = {"format": 1, "command": command, **summary}
            typer.echo(json.dumps(told, indent=2, allow_nan=False))

    def stage(self, text: str) -> None:
        """Announce on stderr what the next progress bars belong to."""
        say(self._err, text)

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Show on a terminal that work goes on, where no progress can be measured."""
        if self.silent or not self._err.is_terminal:
            yield
            return
        from rich.markup import escape

        with self._err.status(escape(visible(text))):
            yield


def say(console: Console, text: str) -> None:
    """Print a line as it is: no markup, no colours, no line breaks."""
    console.print(visible(text), markup=False, highlight=False, soft_wrap=True)


def table(headings: Sequence[str], left: Sequence[str] = ()) -> Table:
    """Return an empty table; columns not named in ``left`` are right-aligned."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        side: Literal["left", "right"] = "left" if heading in left else "right"
        made.add_column(heading, justify=side, no_wrap=True)
    return made


def percent(share: float | None) -> str:
    """Write a share for people."""
    return "-" if share is None else f"{100 * share:.1f} %"


def duration(seconds: float) -> str:
    """Write a time for people."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def counted(number: int, noun: str) -> str:
    """Write 1 point, 2 points."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True)
class Output:
    """A file to be written by ``write``, and files that it writes beside it.

    The last of these, a JSON object, gets the digests of all outputs of the command.
    """

    path: Path
    write: Callable[[Path], object]
    beside: tuple[Path, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files of this output."""
        return (self.path, *self.beside)


def default_output(data: Path, ending: str) -> Path:
    """Return a file in the current directory that is named after the data."""
    path = Path("stdin") if data == STDIN else place_of(data)
    if path.suffix.lower() in PACKED and path.with_suffix("").suffix:
        path = path.with_suffix("")
    return Path(f"{path.name if path.is_dir() else path.stem}-{ending}.csv")


def check_ending(path: Path, endings: Sequence[str], what: str) -> Path:
    """Refuse a file name whose ending is not one of the known ones."""
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"{path} has no ending for {what}; end it in {', '.join(endings)}"
        )
    return path


def check_outputs(paths: Iterable[Path], inputs: Iterable[Path | None]) -> None:
    """Refuse files that could not be written, or that are read."""
    read = [place_of(path) for path in inputs if path is not None]
    seen: set[Path] = set()
    for path in paths:
        place = place_of(path)
        if place in read:
            raise ValueError(
                f"{path} is read and would be overwritten; name another file"
            )
        if place in seen:
            raise ValueError(f"{path} is named for two outputs; rename one of them")
        seen.add(place)
        _check_writable(path)
    _check_packages(seen)


def write_all(outputs: Sequence[Output]) -> tuple[Path, ...]:
    """Write every file beside its place, then move all of them there.

    A failure before the last file is complete leaves every earlier file as it was.
    The file with the digests of the others is moved last, so what a kill between two
    moves leaves can be told by ``ekss inspect``.
    """
    moves: list[tuple[Path, Path]] = []
    seals: list[tuple[Path, Path]] = []
    with ExitStack() as stack:
        for output in outputs:
            parent = place_of(output.path).parent
            folder = stack.enter_context(scratch_folder(parent))
            try:
                output.write(folder / output.path.name)
            except OSError as error:
                raise Failure(
                    f"{output.path} was not written: {error.strerror or error}; "
                    "earlier files are unchanged"
                ) from error
            made_here = [(folder / p.name, place_of(p)) for p in output.paths]
            if output.beside:
                seals.append(made_here.pop())
            moves += made_here
        for made, path in seals:
            _seal(made, {os.path.relpath(p, path.parent): m for m, p in moves})
        for made, path in (*moves, *seals):
            if path.exists():
                made.chmod(path.stat().st_mode & 0o7777)
            made.replace(path)
    return tuple(path for output in outputs for path in output.paths)


def _seal(summary: Path, files: Mapping[str, Path]) -> None:
    """Add the digests of files to a summary in JSON."""
    told = json.loads(summary.read_text(encoding="utf-8"))
    told["files"] = {name: _digest(path) for name, path in files.items()}
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    summary.write_text(text + "\n", encoding="utf-8")


def changed_files(summary: Path, files: Mapping[str, str]) -> list[str]:
    """Say which files of a summary are not those that were written with it."""
    told = []
    for name, digest in files.items():
        path = summary.parent / name
        if why_not_regular(path) is not None:
            told.append(f"{path}, written with {summary}, is not there any more")
        elif _digest(path) != digest:
            told.append(
                f"{path} is not the file that was written with {summary}: it was "
                "changed, or another run was stopped halfway"
            )
    return told


def _digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def place_of(path: Path) -> Path:
    """Return where a path leads; refuse links that lead in a circle."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(
                f"{path} is a link that leads back to itself; name another file"
            ) from error
    return Path(os.path.realpath(path))


def _check_packages(paths: Iterable[Path]) -> None:
    """Refuse formats whose package is not installed."""
    from importlib.util import find_spec

    for path in paths:
        package, extra = _PACKAGES.get(path.suffix.lower(), ("", ""))
        if package and find_spec(package) is None:
            raise ModuleNotFoundError(
                f"writing {path.suffix.lower()} needs {package}, which is not "
                f"installed; install it with: pip install 'ekss[{extra}]'"
            )


def _check_writable(path: Path) -> None:
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a regular file"
        raise ValueError(f"{path} is {kind}; name a file to write")
    folder = place_of(path).parent
    if not folder.is_dir():
        shown = folder if path.is_symlink() else path.parent
        raise ValueError(
            f"{path} cannot be written: directory {shown} does not exist; create it "
            "first"
        )
    if path.exists() and not os.access(path, os.W_OK):
        raise ValueError(f"{path} is write-protected; name another file")
    try:
        with scratch_folder(folder):
            pass
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written: {error.strerror or error}; choose another "
            "directory"
        ) from error
