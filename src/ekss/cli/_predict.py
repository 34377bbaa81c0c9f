"""``ekss predict``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ekss.cli import _options as shared
from ekss.cli._errors import guarded


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="File of ekss cluster --model.", show_default=False
        ),
    ],
    data: shared.Data,
    key: shared.Key = None,
    id_column: shared.IdColumn = None,
    header: shared.Header = None,
    drop_column: shared.DropColumn = None,
    image_size: shared.ImageSize = None,
    labels: shared.Labels = None,
    labels_key: shared.LabelsKey = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File of the labels: .csv .tsv .parquet .npy.",
            show_default="DATA-predicted.csv in the current folder",
            rich_help_panel="Results",
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Put new points to the clusters of a saved model."""
    with guarded(debug):
        from ekss.cli._outputs import default_output
        from ekss.cli._predicting import run
        from ekss.cli._reading import Source
        from ekss.cli._voice import Voice
        from ekss.cli._words import size_of

        shared.check_voice(quiet, as_json)
        source = Source(
            data,
            key=key,
            id_column=id_column,
            header="auto" if header is None else header,
            drop=tuple(drop_column or ()),
            image_size=size_of(image_size),
            labels=labels,
            labels_key=labels_key,
        )
        target = default_output(data, "predicted") if output is None else output
        run(model, source, target, Voice(quiet or as_json), as_json=as_json)
