"""``ekss inspect``: the summary of a report once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ekss.cli import _options as shared
from ekss.cli._output import guarded


def inspect(
    report: Annotated[
        Path,
        typer.Argument(
            metavar="REPORT.json",
            help="File that ekss cluster --report writes beside the page.",
            show_default=False,
        ),
    ],
    debug: shared.Debug = False,
) -> None:
    """Print the summary of a report once more."""
    with guarded(debug):
        from rich.console import Console

        from ekss.report import summary_table

        summary = _summary(report)
        try:
            table = summary_table(summary)
        except ValueError as error:
            raise ValueError(f"{report}: {error}") from error
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{report} is a report with parts missing or changed "
                f"({type(error).__name__}: {error}); make it again"
            ) from error
        Console().print(table)


def _summary(path: Path) -> dict[str, Any]:
    """Read the summary, or say why the file does not hold one."""
    import json

    if path.suffix.lower() == ".html":
        raise ValueError(
            f"{path} is the page; pass {path.with_suffix('.json')}, written beside it"
        )
    if not path.exists():
        raise ValueError(f"{path} does not exist; check the path")
    if path.is_dir():
        raise ValueError(f"{path} is a directory; name a file in it")
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"{path} is not JSON ({error}); pass the .json file beside a report"
        ) from error
    if not isinstance(summary, dict):
        raise ValueError(
            f"{path} holds {type(summary).__name__}, not a report; pass the .json file "
            "beside a report"
        )
    return summary
