"""Which graph, and how many rows."""

import numpy as np
import pytest
from ekss.estimators._sampling import (
    draw_sample,
    enough_rows,
    resolve_graph,
    resolve_max_samples,
)


@pytest.mark.parametrize(
    ("n_samples", "in_memory", "one_cut", "expected"),
    [
        (20_000, True, False, "exact"),
        (20_000, False, False, "exact"),
        (20_001, True, False, "sample"),
        (20_001, True, True, "exact"),
        (50_001, True, True, "approximate"),
        (50_001, False, True, "sample"),
    ],
)
def test_graph_of_many_rows_is_left_to_the_data(
    n_samples, in_memory, one_cut, expected
):
    found = resolve_graph("auto", n_samples, in_memory=in_memory, one_cut=one_cut)
    assert found == expected


@pytest.mark.parametrize("graph", ["exact", "approximate", "sample"])
def test_graph_that_was_asked_for_is_made(graph):
    assert resolve_graph(graph, 100, in_memory=False, one_cut=False) == graph


def test_unknown_graph_is_refused():
    with pytest.raises(ValueError, match="graph='dense'"):
        resolve_graph("dense", 100, in_memory=True, one_cut=False)


def test_sample_grows_with_clusters():
    assert enough_rows(10) == enough_rows("auto") == 10_000
    assert enough_rows(500) == 50_000


def test_sample_is_sorted_distinct_and_repeatable():
    rows = draw_sample(1000, 300, seed=3)
    assert len(rows) == 300
    assert (np.diff(rows) > 0).all()
    assert 0 <= rows[0] <= rows[-1] < 1000
    np.testing.assert_array_equal(rows, draw_sample(1000, 300, seed=3))
    assert (rows != draw_sample(1000, 300, seed=4)).any()


def test_sample_of_all_rows_is_none():
    assert draw_sample(300, 300, seed=0) is None


def test_max_samples_is_none_where_it_would_be_all():
    assert resolve_max_samples("auto", 10_000, 10) is None
    assert resolve_max_samples("auto", 10_001, 10) == 10_000
    assert resolve_max_samples(50, 50, 10) is None
    assert resolve_max_samples(50, 51, 10) == 50
    assert resolve_max_samples(None, 10**6, 10) is None


@pytest.mark.parametrize("value", [2, 0, -1])
def test_max_samples_below_clusters_is_refused(value):
    with pytest.raises(ValueError, match=f"max_samples={value} is below 3"):
        resolve_max_samples(value, 100, 3)


def test_max_samples_of_wrong_type_is_refused():
    with pytest.raises(ValueError, match="max_samples='all'"):
        resolve_max_samples("all", 100, 3)
    with pytest.raises(TypeError, match=r"max_samples=2\.5"):
        resolve_max_samples(2.5, 100, 3)
