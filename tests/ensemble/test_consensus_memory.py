"""What a consensus will hold, and the limit on memory."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ekss import ConsensusClustering
from ekss.ensemble.consensus import estimate, work_of
from ekss.runtime.memory import LIBRARY_BYTES, Work
from ekss.runtime.rows import MemoryRows
from ekss.runtime.workers import Workers

WORK = Work(20_000, 50, 8, 10, 400, 80, 0, 20_000, n_neighbors=40, double=True)
SAMPLED = replace(WORK, n_samples=200_000)

SHAPE, MEMBERS, NEIGHBORS = (3000, 2), 1500, 5
# The peak of a process after each of two fits, of few points and of many, by members
# that need next to nothing themselves.
FITS_IN_A_FRESH_PROCESS = f"""
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from ekss import ConsensusClustering
from ekss.runtime.memory import peak_bytes

class Side(ClusterMixin, BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.normal_ = rng.standard_normal(X.shape[1])
        self.labels_ = self.predict(X)
        return self

    def predict(self, X):
        return (X @ self.normal_ > 0).astype(np.int32)

for n_members, shape in ((10, (100, 2)), ({MEMBERS}, {SHAPE})):
    X = np.random.default_rng(0).standard_normal(shape)
    X[: len(X) // 2] += 10
    ConsensusClustering(
        2, Side(), n_members=n_members, n_neighbors={NEIGHBORS}, random_state=0
    ).fit(X)
    print(peak_bytes())
"""


def test_memory_of_a_consensus_is_below_the_estimate_but_not_far():
    command = [sys.executable, "-c", FITS_IN_A_FRESH_PROCESS]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    library, peak = map(float, told.stdout.split())
    model = ConsensusClustering(
        2, n_base_clusters=2, n_members=MEMBERS, n_neighbors=NEIGHBORS
    )
    work = work_of(
        model._wishes(SHAPE[0]),
        model._bagging(SHAPE),
        MemoryRows(np.zeros(SHAPE)),
        None,
        Workers(),
    )
    held, expected = peak - library, estimate(work, None).bytes - LIBRARY_BYTES
    assert held <= expected <= 2 * held


@pytest.mark.parametrize("name", ["voted", "n_members", "n_neighbors", "n_clusters"])
@pytest.mark.parametrize("work", [WORK, SAMPLED], ids=["all", "some"])
def test_more_of_anything_takes_more_memory(name, work):
    more = replace(work, **{name: 2 * getattr(work, name)})
    assert estimate(more, None).bytes > estimate(work, None).bytes


def test_points_are_held_where_they_judge():
    plain, judged = (estimate(WORK, one).bytes for one in (None, "centers"))
    assert judged - plain >= WORK.n_samples * WORK.n_features * WORK.itemsize


def test_a_sample_holds_less_than_all():
    every = replace(SAMPLED, voted=SAMPLED.n_samples)
    assert estimate(SAMPLED, None).bytes < estimate(every, None).bytes
    on_disk = replace(SAMPLED, in_memory=False)
    saved = estimate(SAMPLED, None).bytes - estimate(on_disk, None).bytes
    assert saved == SAMPLED.n_samples * SAMPLED.n_features * SAMPLED.itemsize


@pytest.mark.parametrize(
    ("n_samples", "parameters", "offered"),
    [
        (200_000, {"max_voted": None, "n_members": 400}, "max_voted=10000"),
        (9000, {"n_members": 5000}, "n_members=1250"),
    ],
)
def test_large_consensus_is_refused_before_it_starts(n_samples, parameters, offered):
    X = np.zeros((n_samples, 3), np.float32)
    model = ConsensusClustering(10, memory_limit="0.9GB", **parameters)
    words = (
        rf"^the consensus on {n_samples} points, {n_samples} of them by votes of "
        rf"{parameters['n_members']} members, whatever these need themselves, needs "
        rf"about \d\.\d GB.*, more than memory_limit=0\.9 GB; {offered} would need"
    )
    with pytest.raises(MemoryError, match=words):
        model.fit(X)
    assert not hasattr(model, "member_labels_")


def test_wrong_limit_is_told():
    with pytest.raises(ValueError, match="memory_limit='much' is not an amount"):
        ConsensusClustering(2, memory_limit="much").fit(np.eye(10))
