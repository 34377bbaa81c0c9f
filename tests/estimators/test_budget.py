"""Estimates of memory and time, and the limit on memory."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ekss import EKSS
from ekss.estimators import _limits
from ekss.estimators._budget import Workload, estimate, in_time
from ekss.estimators._limits import (
    LIBRARY_BYTES,
    available_bytes,
    bytes_of,
    in_bytes,
)
from ekss.estimators._memory import (
    check_memory,
    workload_of,
)
from ekss.estimators._pace import measured_pace

WORK = Workload(
    200_000, 50, 4, 10, 100, 10, 5, graph="exact", sample_size=10_000, top_q=40
)

FIT_IN_A_FRESH_PROCESS = """
import json, re, resource, sys
from pathlib import Path
import numpy as np
from ekss import EKSS

shape, params = json.loads(sys.argv[1])
n, n_features = shape
X = np.empty(shape, np.float32)
rng = np.random.default_rng(0)
for k in range(5):
    basis = rng.standard_normal((3, n_features), np.float32)
    X[k::5] = rng.standard_normal((n // 5, 3), np.float32) @ basis
EKSS(5, 3, n_base=16, max_iter=2, random_state=0, **params).fit(X)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
status = Path("/proc/self/status")
if status.exists():  # ru_maxrss is at least that of the parent process
    peak = int(re.search(r"VmHWM:\\s+([0-9]+)", status.read_text())[1])
print(peak * (1 if sys.platform == "darwin" else 1024))
"""


def peak_of_a_fit(shape, params):
    words = json.dumps([shape, params])
    done = subprocess.run(
        [sys.executable, "-c", FIT_IN_A_FRESH_PROCESS, words],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


@dataclass(frozen=True)
class Made:
    """Rows that have a size and nothing else."""

    shape: tuple[int, int]
    in_memory: bool = True

    @property
    def dtype(self):
        return np.dtype(np.float32)


def model_with(graph="exact", **params):
    model = EKSS(10, graph=graph, **params)
    model.graph_ = graph
    return model


@pytest.mark.parametrize(
    "name",
    ["n_samples", "n_features", "itemsize", "n_clusters", "n_base", "top_q"],
)
@pytest.mark.parametrize("graph", ["exact", "approximate"])
def test_more_of_anything_takes_more_memory(name, graph):
    work = replace(WORK, graph=graph)
    more = replace(work, **{name: 2 * getattr(work, name)})
    assert estimate(more).bytes > estimate(work).bytes


@pytest.mark.parametrize(
    "name",
    ["n_samples", "n_features", "n_clusters", "n_base", "n_candidates", "dim"],
)
@pytest.mark.parametrize("graph", ["exact", "approximate", "sample"])
def test_more_of_anything_takes_more_time(name, graph):
    work = replace(WORK, graph=graph)
    more = replace(work, **{name: 2 * getattr(work, name)})
    assert estimate(more).seconds > estimate(work).seconds


def test_time_of_all_pairs_is_quadratic_and_of_a_sample_linear():
    def slope(graph):
        few, many = (replace(WORK, graph=graph, n_samples=n) for n in (10**6, 10**7))
        return np.log10(estimate(many).seconds / estimate(few).seconds)

    assert slope("exact") == pytest.approx(2, abs=0.1)
    assert slope("approximate") == pytest.approx(1, abs=0.05)
    assert slope("sample") == pytest.approx(1, abs=0.1)


def test_sample_has_a_stage_of_rows_and_one_cut_no_choice():
    assert set(estimate(WORK).stages) == {"members", "votes", "cuts"}
    several = replace(WORK, graph="sample", n_graphs=6)
    stages = {"members", "votes", "cuts", "choice", "rows"}
    assert set(estimate(several).stages) == stages


def test_sample_of_all_rows_has_no_stage_of_rows():
    small = replace(WORK, n_samples=9_000, graph="sample", sample_size=9_000)
    assert "rows" not in estimate(small).stages


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
    assert estimate(WORK, 3.0).seconds == pytest.approx(3 * estimate(WORK).seconds)
    assert 0.1 <= measured_pace() <= 10


def test_text_names_memory_time_and_stages():
    text = str(estimate(replace(WORK, n_samples=10**6, n_graphs=6, graph="sample")))
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
        ((20_000, 300), {"graph": "exact", "top_q": 10}),
        ((20_000, 300), {"graph": "approximate", "top_q": 40, "max_samples": None}),
        ((250_000, 100), {"graph": "sample", "top_q": 10}),
    ],
    ids=["exact", "approximate", "sample"],
)
def test_memory_of_a_fit_is_below_the_estimate_but_not_far(shape, params):
    # A small fit takes what the library takes, which the system decides: pages of
    # files that are read in advance count too.
    library = peak_of_a_fit((400, 12), params)
    peak = peak_of_a_fit(shape, params) - library + LIBRARY_BYTES
    model = EKSS(5, 3, n_base=16, max_iter=2, **params)
    model.graph_ = params["graph"]
    expected = estimate(workload_of(model, Made(shape))).bytes
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
    assert list(_limits._group_bytes(tmp_path, own)) == []
    (folder / "memory.max").write_text("max\n")
    (folder / "memory.current").write_text("400\n")
    assert list(_limits._group_bytes(tmp_path, own)) == []
    (folder / "memory.max").write_text("1000\n")
    assert list(_limits._group_bytes(tmp_path, own)) == [600]


def test_large_fit_is_refused_before_it_starts_with_the_setting_that_fits():
    X = np.zeros((300_000, 10), np.float32)
    words = (
        r"^clustering 300000 points with graph='exact' needs about \d\.\d GB, more "
        r"than memory_limit=0\.8 GB; graph='sample' would need 0\.\d GB$"
    )
    model = EKSS(10, memory_limit="0.8GB", graph="exact")
    with pytest.raises(MemoryError, match=words):
        model.fit(X)
    assert not hasattr(model, "base_labels_")


@pytest.mark.parametrize(
    ("graph", "n_samples", "n_base", "limit", "offered"),
    [
        ("exact", 10**6, 200, "4GB", {"graph": "sample"}),
        ("approximate", 10**6, 200, "2GB", {"graph": "sample"}),
        ("exact", 9_000, 20_000, "0.6GB", {"n_base": 5000}),
    ],
)
def test_setting_that_is_offered_fits(graph, n_samples, n_base, limit, offered):
    rows = Made((n_samples, 50))
    model = model_with(graph, subspace_dim=5, n_base=n_base, memory_limit=limit)
    with pytest.raises(MemoryError, match="would need") as refused:
        check_memory(model, rows)
    ((name, value),) = offered.items()
    assert f"{name}={value!r} would need" in str(refused.value)
    model.set_params(**offered)
    model.graph_ = model.graph
    check_memory(model, rows)


def test_data_too_large_for_memory_are_to_be_kept_on_disk():
    model = model_with("sample", subspace_dim=5, n_base=100, memory_limit="1GB")
    with pytest.raises(MemoryError, match="with X on disk"):
        check_memory(model, Made((4 * 10**6, 100)))
    check_memory(model, Made((4 * 10**6, 100), in_memory=False))


def test_nothing_fits_in_less_than_the_library():
    model = model_with(memory_limit=LIBRARY_BYTES // 2)
    with pytest.raises(MemoryError, match="no other setting would fit"):
        check_memory(model, Made((1000, 10)))


def test_without_a_limit_the_machine_decides(monkeypatch):
    model = model_with(n_base=100)
    rows = Made((10**6, 50))
    monkeypatch.setattr(_limits, "available_bytes", lambda: 3e9)
    with pytest.raises(MemoryError, match="the memory of this machine"):
        check_memory(model, rows)
    monkeypatch.setattr(_limits, "available_bytes", lambda: 1e12)
    check_memory(model, rows)
    monkeypatch.setattr(_limits, "available_bytes", lambda: None)
    check_memory(model, rows)


def test_automatic_members_are_counted_at_their_most():
    grown = workload_of(model_with(), Made((5000, 50)))
    assert (grown.n_base, grown.likely_base) == (400, 100)
    assert grown.n_candidates == 80
    told = workload_of(model_with(subspace_dim=3, n_base=50), Made((5000, 50)))
    assert (told.n_base, told.likely_base, told.n_candidates, told.dim) == (
        50,
        None,
        10,
        3,
    )


def test_wrong_parameters_are_left_to_their_own_checks():
    X = np.eye(20)
    for params in ({"n_base": -3}, {"top_q": "many"}, {"n_jobs": 0}, {"verbose": -1}):
        (name,) = params
        with pytest.raises(ValueError, match=f"^{name}="):
            EKSS(2, **params).fit(X)


@pytest.mark.filterwarnings("ignore::ekss.ClusteringWarning")
def test_estimate_is_shown_with_verbose_only(capsys):
    X = np.random.default_rng(0).standard_normal((60, 6))
    EKSS(2, 2, n_base=8, verbose=1, random_state=0).fit(X)
    shown = capsys.readouterr()
    assert re.match(r"about \d\.\d GB and [\d.]+ (s|min): members", shown.err)
    assert shown.out == ""
    EKSS(2, 2, n_base=8, random_state=0).fit(X)
    assert capsys.readouterr().err == ""
