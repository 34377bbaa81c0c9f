"""``ekss cluster``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ekss.cli import _options as shared
from ekss.cli._errors import guarded
from ekss.cli._methods import Method


def cluster(
    data: shared.Data,
    clusters: shared.Clusters,
    method: Annotated[
        Method,
        typer.Option(
            metavar="NAME",
            help=f"One of {', '.join(Method)}.",
            rich_help_panel="Clustering",
        ),
    ] = Method.EKSS,
    auto: Annotated[
        bool,
        typer.Option(
            "--auto",
            help="Choose dimension and q from the data; done anyway if neither is "
            "given.",
            rich_help_panel="Clustering",
        ),
    ] = False,
    dim: shared.Dim = None,
    q: Annotated[
        int | None,
        typer.Option(
            parser=shared.whole_number,
            metavar="Q",
            help="Neighbours kept per point in the graph (ekss, paper, tsc).",
            show_default="from the data",
            rich_help_panel="Clustering",
        ),
    ] = None,
    members: Annotated[
        str | None,
        typer.Option(
            metavar="B",
            help="Runs of K-subspaces that vote (ekss, paper); for ekss auto runs 100, "
            "and up to 400 while two halves of them disagree.",
            show_default="auto",
            rich_help_panel="Clustering",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="C",
            help="Subspaces of a member (ekss, paper): 10, or a range, 8-20.",
            show_default="from the data",
            rich_help_panel="Clustering",
        ),
    ] = None,
    affine: shared.Affine = None,
    remove: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Leading components to take out of the points (ekss), 0 for none; "
            "auto tries up to 3 if points have a direction in common.",
            show_default="auto",
            rich_help_panel="Clustering",
        ),
    ] = None,
    max_samples: Annotated[
        int | None,
        typer.Option(
            parser=shared.whole_number,
            metavar="M",
            help="Points that members vote on (ekss); the others follow.",
            show_default="all up to 20000, else 10000",
            rich_help_panel="Clustering",
        ),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Refuse to start if more would be needed (ekss, ssc), such as 4GB.",
            show_default="what is free",
            rich_help_panel="Clustering",
        ),
    ] = None,
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
            help="File of the labels: .csv .tsv .parquet .npy.",
            show_default="DATA-clusters.csv in the current folder",
            rich_help_panel="Results",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="File for ekss predict, such as model.ekss.",
            show_default=False,
            rich_help_panel="Results",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Page with pictures, such as report.html; also writes report.json.",
            show_default=False,
            rich_help_panel="Results",
        ),
    ] = None,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
    debug: shared.Debug = False,
) -> None:
    """Cluster the points of a file by the subspaces they lie near."""
    with guarded(debug):
        from ekss.cli._clustering import Request, run
        from ekss.cli._methods import Settings, refuse_auto
        from ekss.cli._outputs import default_output
        from ekss.cli._preparing import steps_of
        from ekss.cli._reading import Source
        from ekss.cli._words import (
            clusters_of,
            count_of,
            members_of,
            removed_of,
            size_of,
            span_of,
        )

        shared.check_voice(quiet, as_json)
        settings = Settings(
            span_of("dim", dim),
            count_of("q", q),
            members_of(members),
            span_of("candidates", candidates),
            affine,
            removed_of(remove),
            count_of("max-samples", max_samples),
            memory_limit,
        )
        if auto:
            refuse_auto(method.value, settings)
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
            method.value,
            clusters_of(clusters),
            settings,
            steps_of(preprocess),
            shared.check_seed(seed),
            shared.check_jobs(jobs),
            default_output(data, "clusters") if output is None else output,
            model,
            report,
        )
        run(request, silent=quiet or as_json, as_json=as_json)
