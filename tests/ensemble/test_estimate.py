"""Estimates of memory and time, and the limit on memory."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ekss import EKSS, CutOptions, KSSMember
from ekss.ensemble.chain import check_memory, estimate, work_of
from ekss.runtime import memory
from ekss.runtime.memory import (
    LIBRARY_BYTES,
    Work,
    available_bytes,
    bytes_of,
    in_bytes,
    in_time,
    measured_pace,
)
from ekss.runtime.workers import Workers

WORK = Work(200_000, 50, 4, 10, 100, 10, 5, 200_000, n_neighbors=40)
LIKELY = replace(WORK, all_pairs=False)
SAMPLED = replace(WORK, voted=10_000)
EXPRESSED = replace(WORK, expressed=True)

# The peak of a process after each of two fits: of few points, and of many.
FITS_IN_A_FRESH_PROCESS = """
import json, sys
import numpy as np
from ekss import EKSS, CutOptions, KSSMember
from ekss.runtime.memory import peak_bytes

shape, params = json.loads(sys.argv[1])
pairs, fitted = params.pop("pairs", "auto"), params.pop("fitted", "auto")
for n, n_features in ((400, 12), shape):
    X = np.empty((n, n_features), np.float32)
    rng = np.random.default_rng(0)
    for k in range(5):
        basis = rng.standard_normal((3, n_features), np.float32)
        X[k::5] = rng.standard_normal((n // 5, 3), np.float32) @ basis
    EKSS(
        5,
        3,
        n_members=16,
        member=KSSMember(5, max_iter=2, max_samples=fitted),
        cut=CutOptions(pairs=pairs),
        affine=False,
        random_state=0,
        **params,
    ).fit(X)
    print(peak_bytes())
"""


def peaks_of_fits(shape, params):
    words = json.dumps([shape, params])
    done = subprocess.run(
        [sys.executable, "-c", FITS_IN_A_FRESH_PROCESS, words],
        capture_output=True,
        text=True,
        check=True,
    )
    return map(float, done.stdout.split())


@dataclass(frozen=True)
class Made:
    """Rows that have a size and nothing else."""

    shape: tuple[int, int]
    in_memory: bool = True

    @property
    def dtype(self):
        return np.dtype(np.float32)


def work_for(rows, sample=None, **params):
    wishes = EKSS(10, **params)._wishes(rows.shape)
    return work_of(wishes, rows, sample, Workers())


def check(rows, limit=None, sample=None, **params):
    wishes = EKSS(10, **params)._wishes(rows.shape)
    check_memory(wishes, rows, sample, limit, Workers())


@pytest.mark.parametrize(
    "name",
    ["voted", "n_features", "itemsize", "n_clusters", "n_members", "n_neighbors"],
)
@pytest.mark.parametrize(
    "work", [WORK, LIKELY, EXPRESSED], ids=["all", "likely", "expressed"]
)
def test_more_of_anything_takes_more_memory(name, work):
    more = replace(work, **{name: 2 * getattr(work, name)})
    assert estimate(more).bytes > estimate(work).bytes


@pytest.mark.parametrize(
    "name", ["n_features", "n_clusters", "n_members", "n_candidates", "dim"]
)
@pytest.mark.parametrize(
    "work",
    [WORK, LIKELY, SAMPLED, EXPRESSED],
    ids=["all", "likely", "some", "expressed"],
)
def test_more_of_anything_takes_more_time(name, work):
    more = replace(work, **{name: 2 * getattr(work, name)})
    assert estimate(more).seconds > estimate(work).seconds


def test_time_of_all_pairs_is_quadratic_and_of_a_sample_linear():
    def slope(work, **changes):
        few = replace(work, n_samples=10**6, **{k: 10**6 for k in changes})
        many = replace(work, n_samples=10**7, **{k: 10**7 for k in changes})
        return np.log10(estimate(many).seconds / estimate(few).seconds)

    assert slope(WORK, voted=True) == pytest.approx(2, abs=0.1)
    assert slope(LIKELY, voted=True) == pytest.approx(1, abs=0.05)
    assert slope(SAMPLED) == pytest.approx(1, abs=0.1)


def test_sample_has_a_stage_of_rows():
    stages = {"members", "votes", "cuts", "choice"}
    assert set(estimate(WORK).stages) == stages
    assert set(estimate(SAMPLED).stages) == {*stages, "rows"}


def test_expressions_have_a_stage_that_grows_with_points_and_features():
    def cost(**changes):
        work = replace(SAMPLED, expressed=True, **changes)
        return estimate(work).stages["expressions"]

    stages = {"members", "votes", "cuts", "choice", "expressions"}
    assert set(estimate(EXPRESSED).stages) == stages
    few = cost()
    assert cost(n_samples=400_000) == few
    for more in (cost(voted=20_000), cost(n_features=100, dim=10)):
        assert more.seconds > few.seconds
        assert more.bytes > few.bytes
    two = cost(n_workers=2)
    assert two.seconds < few.seconds
    assert two.bytes > few.bytes


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, True),
        ({"affine": False}, True),
        ({"affine": True}, False),
        ({"cut": CutOptions(pairs="likely")}, False),
        ({"second_opinion": False}, False),
    ],
    ids=str,
)
def test_expressions_are_planned_for_linear_subspaces_and_all_pairs(params, expected):
    assert work_for(Made((1000, 50)), **params).expressed is expected
    assert not work_for(Made((60_000, 50)), **params).expressed
    sampled = work_for(Made((60_000, 50)), np.arange(1000), **params)
    assert sampled.expressed is expected


def test_missing_entries_have_a_stage_that_grows_with_rows_and_features():
    def cost(**changes):
        work = replace(SAMPLED, missing=True, **changes)
        return estimate(work).stages["missing entries"]

    assert "missing entries" not in estimate(SAMPLED).stages
    few, wide = cost(), cost(n_features=500)
    assert wide.seconds > 2 * few.seconds
    assert wide.bytes > few.bytes
    # Clusters are found on some of the rows; the others are gone through a few times.
    more = cost(voted=40_000)
    assert few.seconds < more.seconds < 4 * few.seconds
    assert few.bytes < more.bytes <= 4 * few.bytes


def test_rows_on_disk_are_not_counted_as_memory():
    on_disk = replace(WORK, in_memory=False)
    saved = estimate(WORK).bytes - estimate(on_disk).bytes
    assert saved == WORK.n_samples * WORK.n_features * WORK.itemsize


def test_workers_save_time_and_cost_memory():
    one = replace(WORK, n_graphs=6)
    two = replace(one, n_workers=2)
    assert estimate(two).seconds < 0.7 * estimate(one).seconds
    assert estimate(two).bytes > estimate(one).bytes


def test_slow_machine_takes_longer():
    slow = estimate(WORK).at_pace(3.0)
    assert slow.seconds == pytest.approx(3 * estimate(WORK).seconds)
    assert 0.1 <= measured_pace() <= 10


def test_many_clusters_make_cuts_slow():
    # 10,000 of 30,000 x 20 points, 5 graphs: 37 s of a core at pace 1.6 with K=50.
    fifty = replace(SAMPLED, n_clusters=50, voted=10_000, n_graphs=5, n_workers=1)
    seconds = estimate(fifty).at_pace(1.6).stages["cuts"].seconds
    assert 37 / 2 < seconds < 37 * 2


@pytest.mark.parametrize(("load", "factor"), [(0.5, 1), (4, 1), (12, 3)])
def test_time_is_told_for_a_machine_that_others_use_too(load, factor, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert memory.crowding() == factor
    monkeypatch.delattr("os.getloadavg")
    assert memory.crowding() == 1


def test_text_names_memory_time_and_stages():
    text = str(estimate(replace(SAMPLED, n_samples=10**6, n_graphs=6)))
    assert re.fullmatch(
        r"about \d+\.\d GB and .+: members .+, votes .+, cuts .+, choice .+, rows .+",
        text,
    )


@pytest.mark.parametrize(
    ("count", "text"), [(4e7, "40 MB"), (6.6e8, "0.7 GB"), (3.5e11, "350 GB")]
)
def test_bytes_are_written_for_people(count, text):
    assert in_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.26, "0.3 s"), (25.4, "25 s"), (400, "7 min"), (9000, "2.5 h")],
)
def test_times_are_written_for_people(seconds, text):
    assert in_time(seconds) == text


@pytest.mark.parametrize(
    ("shape", "params"),
    [
        ((20_000, 300), {"n_neighbors": 10}),
        ((20_000, 300), {"n_neighbors": 40, "pairs": "likely", "fitted": None}),
        ((250_000, 100), {"n_neighbors": 10, "max_samples": 10_000}),
    ],
    ids=["all", "likely", "some"],
)
def test_memory_of_a_fit_is_below_the_estimate_but_not_far(shape, params):
    # A small fit takes what the library takes, which the system decides: pages of
    # files that are read in advance count too.
    library, peak = peaks_of_fits(shape, params)
    peak += LIBRARY_BYTES - library
    member = KSSMember(5, max_iter=2, max_samples=params.get("fitted", "auto"))
    model = EKSS(
        5,
        3,
        n_members=16,
        member=member,
        n_neighbors=params["n_neighbors"],
        cut=CutOptions(pairs=params.get("pairs", "auto")),
        affine=False,
    )
    sample = None if "max_samples" not in params else np.arange(10_000)
    rows = Made(shape)
    expected = estimate(work_of(model._wishes(shape), rows, sample, Workers())).bytes
    assert peak <= expected <= 2 * peak


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (5_000_000, 5e6),
        (2.5e9, 2.5e9),
        ("4GB", 4e9),
        ("4 gb", 4e9),
        ("1.5G", 1.5e9),
        ("500MiB", 500 * 2**20),
        ("2Ki", 2048),
        ("300k", 3e5),
        ("1TB", 1e12),
        ("12345", 12345),
        (" .5 GB ", 5e8),
    ],
)
def test_amounts_of_memory_are_read(text, count):
    assert bytes_of(text) == count


def test_free_memory_is_less_than_the_machine_has():
    free = available_bytes()
    assert free is None or 0 <= free < 1e15


@pytest.mark.parametrize("place", ["", "user.slice/task"])
def test_control_group_limits_what_is_free(tmp_path, place):
    own = tmp_path / "cgroup"
    own.write_text(f"0::/{place}\n")
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    assert list(memory._group_bytes(tmp_path, own)) == []
    (folder / "memory.max").write_text("max\n")
    (folder / "memory.current").write_text("400\n")
    assert list(memory._group_bytes(tmp_path, own)) == []
    (folder / "memory.max").write_text("1000\n")
    assert list(memory._group_bytes(tmp_path, own)) == [600]


def test_large_fit_is_refused_before_it_starts_with_the_setting_that_fits():
    X = np.zeros((300_000, 10), np.float32)
    words = (
        r"^clustering 300000 points, 300000 of them by votes, needs about \d\.\d GB, "
        r"more than memory_limit=0\.8 GB; max_samples=10000 would need 0\.\d GB$"
    )
    model = EKSS(10, memory_limit="0.8GB", max_samples=None)
    with pytest.raises(MemoryError, match=words):
        model.fit(X)
    assert not hasattr(model, "member_labels_")


@pytest.mark.parametrize(
    ("n_samples", "n_members", "limit", "offered"),
    [
        (10**6, 200, "4GB", {"max_samples": 10_000}),
        (9_000, 20_000, "0.65GB", {"n_members": 5000}),
    ],
)
def test_setting_that_is_offered_fits(n_samples, n_members, limit, offered):
    rows = Made((n_samples, 50))
    params = {"subspace_dim": 5, "n_members": n_members, "affine": False}
    with pytest.raises(MemoryError, match="would need") as refused:
        check(rows, limit, **params)
    ((name, value),) = offered.items()
    assert f"{name}={value!r} would need" in str(refused.value)
    if name == "max_samples":
        check(rows, limit, np.arange(value), **params)
    else:
        check(rows, limit, **{**params, **offered})


def test_data_too_large_for_memory_are_to_be_kept_on_disk():
    params = {"subspace_dim": 5, "n_members": 100, "sample": np.arange(10_000)}
    with pytest.raises(MemoryError, match="with X on disk"):
        check(Made((4 * 10**6, 100)), "1GB", **params)
    check(Made((4 * 10**6, 100), in_memory=False), "1GB", **params)


def test_nothing_fits_in_less_than_the_library():
    with pytest.raises(MemoryError, match="no other setting would fit"):
        check(Made((1000, 10)), LIBRARY_BYTES // 2)


def test_without_a_limit_the_machine_decides(monkeypatch):
    rows = Made((10**6, 50))
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e9)
    with pytest.raises(MemoryError, match="the memory of this machine"):
        check(rows, n_members=100)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e12)
    check(rows, n_members=100)
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    check(rows, n_members=100)


def test_automatic_members_are_counted_at_their_most():
    rows = Made((5000, 50))
    grown = work_for(rows)
    assert (grown.n_members, grown.likely_members) == (400, 100)
    assert grown.n_candidates == 80
    told = work_for(rows, subspace_dim=3, n_members=50, member=KSSMember(12))
    assert (told.n_members, told.likely_members) == (50, None)
    assert (told.n_candidates, told.dim) == (12, 3)


def test_wrong_parameters_are_left_to_their_own_checks():
    X = np.eye(20)
    for params in (
        {"n_members": -3},
        {"n_neighbors": "many"},
        {"n_jobs": 0},
        {"verbose": -1},
    ):
        (name,) = params
        with pytest.raises(ValueError, match=f"^{name}="):
            EKSS(2, **params).fit(X)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_estimate_is_shown_with_verbose_only(capsys):
    X = np.random.default_rng(0).standard_normal((60, 6))
    EKSS(2, 2, n_members=8, verbose=1, random_state=0).fit(X)
    shown = capsys.readouterr()
    assert re.match(r"about \d\.\d GB and [\d.]+ (s|min): members", shown.err)
    assert shown.out == ""
    EKSS(2, 2, n_members=8, random_state=0).fit(X)
    assert capsys.readouterr().err == ""
