"""``memory_limit``: one meaning, one form and one error for every estimator."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import ekss
from ekss.runtime import memory
from ekss.runtime.memory import LIBRARY_BYTES

# The points are few and random.
pytestmark = pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
LIMITED = [
    kind
    for kind in (getattr(ekss, name) for name in ekss.__all__)
    if isinstance(kind, type)
    and hasattr(kind, "get_params")
    and "memory_limit" in kind._get_param_names()
]
EVERY = pytest.mark.parametrize("kind", LIMITED)


QUICK = {"EKSS": {"subspace_dim": 2, "n_members": 5, "n_neighbors": 5}}


def quick(kind, **options):
    return kind(2, random_state=0, **QUICK.get(kind.__name__, {}), **options)


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).standard_normal((40, 6))


def test_there_are_estimators_with_a_limit():
    names = {kind.__name__ for kind in LIMITED}
    assert names == {"ConsensusClustering", "EKSS", "SSC"}


@EVERY
@pytest.mark.parametrize("limit", ["4GB", "4 GiB", 4 * 10**9, np.int64(4 * 10**9)])
def test_a_limit_is_bytes_or_words(kind, limit, points):
    limited = quick(kind, memory_limit=limit).fit(points)
    free = quick(kind).fit(points)
    np.testing.assert_array_equal(limited.labels_, free.labels_)


@EVERY
@pytest.mark.parametrize("limit", ["", "GB", "4 apples", "-1GB", 0, -5, True, [4]])
def test_what_is_not_an_amount_is_a_wrong_value(kind, limit, points):
    words = re.escape(f"memory_limit={limit!r} is not an amount of memory; pass")
    with pytest.raises(ValueError, match=words):
        kind(2, memory_limit=limit).fit(points)


@EVERY
@pytest.mark.parametrize("limit", ["300MB", 300 * 10**6])
def test_the_limit_is_for_the_process_with_the_library(kind, limit, points):
    assert LIBRARY_BYTES > 300e6
    model = kind(2, memory_limit=limit)
    words = r"40 points.* needs about 0\.4 GB, more than memory_limit=0\.3 GB; "
    with pytest.raises(MemoryError, match=words):
        model.fit(points)
    with pytest.raises(NotFittedError):
        check_is_fitted(model, "labels_")


@EVERY
def test_without_a_limit_the_machine_decides(kind, points, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10e3)
    with pytest.raises(MemoryError, match=r"the memory of this machine, 0\.4 GB; "):
        kind(2).fit(points)
    # What the process has already, the library and the points, is not asked for again.
    monkeypatch.setattr(memory, "available_bytes", lambda: LIBRARY_BYTES / 2)
    quick(kind).fit(points)
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    quick(kind).fit(points)
