"""``ekss compare``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ekss.cli import _options as shared
from ekss.cli._errors import guarded
from ekss.cli._methods import Method

_FAST = "ekss,kss,tsc,ensc"


def compare(
    data: shared.Data,
    clusters: shared.Clusters,
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help=f"Comma list of {', '.join(Method)}; or all.",
            rich_help_panel="Clustering",
        ),
    ] = _FAST,
    dim: shared.Dim = None,
    affine: shared.Affine = None,
    preprocess: shared.Preprocess = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = -1,
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
            help="File of the table: .csv or .tsv.",
            show_default=False,
            rich_help_panel="Results",
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Run several methods on the same points and table how they did.

    --dim and --affine go to the methods that have them, and to the residual, which is
    measured in the same way for all.
    """
    with guarded(debug):
        from ekss.cli._comparing import Request, run
        from ekss.cli._methods import Settings
        from ekss.cli._preparing import steps_of
        from ekss.cli._reading import Source
        from ekss.cli._voice import Voice
        from ekss.cli._words import clusters_of, methods_of, size_of, span_of

        shared.check_voice(quiet, as_json)
        if quiet and output is None:
            raise ValueError("--quiet without --output has no result; name a file")
        request = Request(
            Source(
                data,
                key=key,
                id_column=id_column,
                header="auto" if header is None else header,
                drop=tuple(drop_column or ()),
                image_size=size_of(image_size),
                labels=labels,
                labels_key=labels_key,
            ),
            methods_of(methods),
            _number(clusters_of(clusters)),
            Settings(dim=_single(span_of("dim", dim)), affine=affine),
            steps_of(preprocess),
            shared.check_seed(seed),
            shared.check_jobs(jobs),
            output,
        )
        run(request, Voice(quiet or as_json), as_json=as_json)


def _number(clusters: int | str) -> int:
    if isinstance(clusters, str):
        raise ValueError(
            f"-k {clusters}: not every method finds the number; pass one, such as -k 3"
        )
    return clusters


def _single(dim: int | tuple[int, int] | None) -> int | None:
    if isinstance(dim, tuple):
        raise ValueError(
            f"--dim {dim[0]}-{dim[1]} is a range, which only ekss takes; pass one "
            "number"
        )
    return dim
