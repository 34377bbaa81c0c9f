"""Fits with several threads leave the process as they found it."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import check_array

import ekss
from ekss import EKSS, CutOptions, EnSC, LabelFreeSearch
from ekss.datasets import make_union_of_subspaces

PACKAGE = Path(ekss.__file__).parent


def few_distinct_points():
    """Cuts of these have fewer distinct rows than k-means is asked for clusters."""
    return np.repeat(np.eye(4), 12, axis=0)


def subspaces(n_per_subspace=20):
    return make_union_of_subspaces(
        n_subspaces=3,
        dims=2,
        n_features=12,
        n_per_subspace=n_per_subspace,
        noise=0.1,
        random_state=0,
    ).data


def checked_cut(graph, vectors, n_clusters, rng):
    """Cut as a user may who calls scikit-learn."""
    for _ in range(50):
        check_array(vectors)
    yield "by number", np.arange(len(vectors)) % n_clusters


FITS = {
    "coinciding points": (lambda: EKSS(3, n_members=10), few_distinct_points),
    "subspaces": (lambda: EKSS(3, n_members=10), subspaces),
    "own cutter": (
        lambda: EKSS(3, n_members=10, cut=CutOptions(cutters=[checked_cut])),
        subspaces,
    ),
    "a sample": (
        lambda: EKSS(3, 2, n_members=10, max_samples=60),
        lambda: subspaces(n_per_subspace=4000),
    ),
    "search": (
        lambda: LabelFreeSearch(EnSC(3), {"gamma": [1.5, 2, 3, 5, 8, 12]}),
        subspaces,
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_warning_filters_are_as_before_after_many_fits_with_two_threads(name):
    make, points = FITS[name]
    X = points()
    before = list(warnings.filters)
    for seed in range(5):
        # Any warning of a thread would be an error of the fit.
        make().set_params(n_jobs=2, random_state=seed).fit(X)
        assert list(warnings.filters) == before


def calls(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize(
    "layer", ["core", "runtime", "graph", "ensemble", "estimators"]
)
def test_what_may_run_in_a_thread_changes_no_warning_filters(layer):
    using = [
        path.name
        for path in sorted((PACKAGE / layer).rglob("*.py"))
        if "warnings.catch_warnings" in calls(path)
    ]
    assert using == (["workers.py"] if layer == "runtime" else [])
