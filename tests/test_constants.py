"""Numbers of the docs that are constants of the code are those of the code."""

import re
from pathlib import Path

import numpy as np
import pytest
from ekss.estimators._members import _LEAST_POINTS, PIECES

from ekss import EKSS, SSCOMP, TSC, EnSC
from ekss.benchmarks import FIGURE_PROFILES, PROFILES
from ekss.core import ensc, mkf, omp
from ekss.core.cop import COHERENT_SHARE, FEWEST_PER_DIM
from ekss.datasets import make_union_of_subspaces
from ekss.estimators import (
    _agreement,
    _auto,
    _coordinates,
    _counting,
    _cutting,
    _removal,
    _sampling,
    _search_score,
    _search_settings,
    _voting,
)
from ekss.graph import approximate, cuts, selection
from ekss.report import _advice, _gallery, _graph, _layout
from ekss.report import _agreement as _blocks
from ekss.runtime.rows import _blocks as _row_blocks
from ekss.runtime.rows import _dask

ROOT = Path(__file__).parents[1]


def text_of(page):
    return " ".join((ROOT / page).read_text().split())


def percent(share):
    return f"{100 * share:g} %"


STEPS = _voting.STEPS
GRID = ", ".join(map(str, _cutting._GRID))
GRIDS = {
    kind.__name__: ", ".join(f"{value:g}" for value in values)
    for kind, (_, values) in _search_settings.DEFAULT_GRIDS.items()
}
QUICK = FIGURE_PROFILES["quick"]
WAYS = len(cuts._MORE_EIGENVECTORS) + 1 + 2 * len(cuts._MORE_PIECES)

EKSS_PAGE = "docs/algorithms/ekss.md"
CHOOSING = "docs/choosing.md"
SAID = [
    (
        EKSS_PAGE,
        f"four fits of {_removal.TRIAL_MEMBERS} members to {_removal._FEWEST_TRIED} "
        f"points ({_removal._TRIED_PER_CLUSTER} per cluster if that is more)",
    ),
    (EKSS_PAGE, f"same up to {_sampling._FEWEST_SAMPLED:,} rows"),
    (EKSS_PAGE, f"beyond {_sampling._MOST_FOR_PAIRS:,} rows only the votes of likely"),
    (EKSS_PAGE, f"drawn from {PIECES[0]} K to {PIECES[1]} K"),
    (
        EKSS_PAGE,
        f"{STEPS[0]}, doubled up to {STEPS[-1]} until two halves of the members agree "
        f"on {percent(_agreement._AGREED)} of points",
    ),
    (EKSS_PAGE, f'"auto" tries up to {_removal.MOST_REMOVED}'),
    (EKSS_PAGE, f"up to {_coordinates._FEW} if they are needed to hold"),
    (EKSS_PAGE, percent(_coordinates._KEPT_ENERGY)),
    (
        EKSS_PAGE,
        f"a sample of {_agreement._FEWEST_POINTS} points "
        f"({_agreement._POINTS_PER_CLUSTER} per cluster if that is more)",
    ),
    (EKSS_PAGE, f"up to {_cutting._ALL_VOTES} points also that of all votes"),
    (EKSS_PAGE, f"q is then N / 6 K, from 3 to {_auto.default_top_q(10**6, 1)}"),
    ("README.md", f"only up to {_cutting._ALL_VOTES} points a graph of all votes"),
    (CHOOSING, f"from {PIECES[0]} K to {PIECES[1]} K, and their own dimension"),
    (
        CHOOSING,
        f"{percent(_auto._SHARES[0])} to {percent(_auto._SHARES[1])} of the energy, at "
        f"most {_auto.MOST_DIMS}.",
    ),
    (
        CHOOSING,
        f"within {percent(round(1 - _auto._FLAT_ENERGY, 9))} on flats of dimension "
        f"{_auto._FLAT[0]} or {_auto._FLAT[1]}",
    ),
    (CHOOSING, f"graphs with q = {GRID} (from sqrt(N / K) / 4 to N / 6 K"),
    (CHOOSING, f"for up to {_cutting._ALL_VOTES} points also of all votes"),
    (CHOOSING, f"**overlap**: {selection._FROM} less the mean silhouette"),
    (CHOOSING, f"**dissent**: {1 + selection._SMALLEST_DISSENT} less the mean"),
    (
        CHOOSING,
        f"runs {STEPS[0]} members, and doubles them up to {STEPS[-1]} until the odd "
        f"and the even members alone give {percent(_agreement._AGREED)}",
    ),
    (
        CHOOSING,
        f"{STEPS[-1]} members are not split any more, so it is then that of 200",
    ),
    (CHOOSING, f"of V - {_counting._LEAST_SILHOUETTE}, with V the silhouette"),
    (CHOOSING, f"**score** is {_counting._WEIGHT_OF_CUT} times the score of the cut"),
    (
        CHOOSING,
        f"begins with a guess of {_counting.FIRST_GUESS}, or of "
        f"{_counting.LEAST_GUESS} where subspaces are affine",
    ),
    (
        CHOOSING,
        f"at most {_voting._SCOUTED_POINTS} points and with at most {_voting._SCOUTS} "
        "members",
    ),
    (CHOOSING, f"squared length of their mean is at most {_removal._COMMON},"),
    (
        CHOOSING,
        f"{_removal.TRIAL_MEMBERS} members vote on a sample of "
        f"{_removal._FEWEST_TRIED} points or {_removal._TRIED_PER_CLUSTER} a cluster",
    ),
    (CHOOSING, f"the smallest number within {_removal._EQUAL} of it"),
    ("docs/large.md", f"Beyond {_sampling._MOST_FOR_CUTS:,} rows it takes a sample"),
    (
        "docs/large.md",
        f"({_sampling._FEWEST_SAMPLED:,} rows, or {_sampling._SAMPLED_PER_CLUSTER} for "
        "each cluster",
    ),
    ("docs/large.md", f'"exact"` up to {_sampling._MOST_FOR_PAIRS:,} and'),
    ("docs/large.md", f"up to {_row_blocks._MOST_ROWS:,} rows"),
    ("docs/large.md", f"a window of {approximate.WINDOW} are compared"),
    ("docs/large.md", f"a chunk of more than {_dask._LARGEST_CHUNK // 2**20} MB"),
    ("docs/algorithms/search.md", f"**overlap** is {_search_score._FROM:g} - S with S"),
    *(
        ("docs/algorithms/search.md", f"| {values} |")
        for name, values in GRIDS.items()
        if name != "SSC"
    ),
    ("docs/algorithms/kss.md", f"hold {percent(_auto._ENERGY)} of the energy"),
    ("docs/algorithms/kss.md", f"at most {_auto._LARGEST_DIM}."),
    ("docs/algorithms/copkss.md", f"The default {COHERENT_SHARE} tolerates"),
    ("docs/algorithms/mkf.md", f"by the `{mkf.SEEDS_PER_DIM} d` nearest neighbours"),
    ("docs/algorithms/ensc.md", f"at first the {ensc._START} points of largest"),
    (
        "docs/algorithms/ensc.md",
        f"each point of a block (at most {ensc._LARGEST_BLOCK})",
    ),
    ("docs/algorithms/sscomp.md", f"a block of at most {omp._MOST_ROWS} points"),
    (
        "docs/algorithms/sscomp.md",
        f"values below {omp._ROUNDING_UNITS} units of rounding",
    ),
    ("docs/report.md", f"all paths, or {_gallery.MOST_TRACKS} of them"),
    ("docs/report.md", f"up to {_layout.MOST_DOTS} dots"),
    ("docs/report.md", f"at most {_blocks.MOST_BLOCKS} blocks"),
    ("docs/report.md", f"up to {_graph._FURTHER_UP_TO} points, some more beyond K"),
    ("docs/report.md", f"two subspaces of affinity above {_advice._ALIKE}"),
    (
        "docs/report.md",
        f"less than {percent(_advice._HALVES_AGREE)} of points the same",
    ),
    ("docs/report.md", f"scores within {_advice._SCORES_ALIKE} of the best"),
    ("docs/report.md", f"at most {percent(_advice._STRAY_SHARE)} of the points"),
    ("docs/benchmarks.md", f"(quick: {PROFILES['quick'].ssc_iterations})"),
    (
        "docs/figures.md",
        f"{QUICK.ekss['n_members']}, {QUICK.ekss['max_iter']} power steps",
    ),
    ("docs/figures.md", f"{QUICK.zero_members}, {QUICK.angle_members}"),
]


@pytest.mark.parametrize(
    ("page", "words"), SAID, ids=[f"{page}-{n}" for n, (page, _) in enumerate(SAID)]
)
def test_constant_is_as_the_page_says(page, words):
    assert words in text_of(page)


def test_words_for_constants():
    """Where a page has a word for a number."""
    assert FEWEST_PER_DIM == 2  # "never fewer than twice the dimension"
    assert mkf._PATIENCE == 5  # "after five passes in a row"
    assert mkf._SMOOTHING == 0.01  # "a hundredth of the mean length"
    assert WAYS == 11  # "cut in eleven ways"
    assert _removal.MOST_REMOVED + 1 == 4  # "four fits"
    assert _LEAST_POINTS == 3  # "at least three points for each dimension"
    assert _counting._ROUNDS - 1 == 4  # "moves the guess, at most four times"
    assert _counting._NEAR == (0.9, 2.5)  # "nine tenths", "two and a half times"
    assert _counting._REACH == 3  # "from a third to three times the guess"
    assert _counting._WITHIN == 0.05  # "within a twentieth"
    assert _search_score._WEAKEST == 0.25  # "the quarter of the clusters"
    assert _cutting._SHARE_OF_ROOT == 1 / 4  # "sqrt(N / K) / 4"


def test_every_cut_is_made_in_as_many_ways_as_the_page_says():
    data = make_union_of_subspaces(n_subspaces=8, dims=2, noise=0.4, random_state=0)
    pool = cuts.candidate_cuts(np.abs(data.data @ data.data.T), 8, random_state=0)
    assert len({cut.origin for cut in pool.cuts}) <= WAYS


def test_defaults_are_as_the_pages_say():
    assert (EnSC().l1_ratio, EnSC().gamma) == (0.95, 3.0)
    assert "`l1_ratio=0.95` and `gamma=3`" in text_of("docs/algorithms/ensc.md")
    assert TSC().n_neighbors == "auto"
    assert SSCOMP().get_params()["n_nonzero"] == int(
        re.search(r"n_nonzero : int, default=(\d+)", SSCOMP.__doc__)[1]
    )


def paper(n_clusters, dim, q):
    """Return the estimator that the page calls the paper's algorithm."""
    code = re.search(r"paper's own algorithm is `(EKSS\(.*?\))`", text_of(EKSS_PAGE))[1]
    return eval(code, {"EKSS": EKSS, "K": n_clusters, "d": dim, "q": q})


def test_papers_algorithm_fits_members_to_all_rows_however_many():
    n_rows = _sampling._FEWEST_SAMPLED + 200
    rng = np.random.default_rng(0)
    bases = np.linalg.qr(rng.standard_normal((2, 5, 1)))[0]
    target = np.arange(n_rows) % 2
    points = rng.standard_normal((n_rows, 1)) * bases[target, :, 0]
    points += 0.3 * rng.standard_normal(points.shape)
    model = paper(2, 1, 3).set_params(n_members=4, random_state=0)
    members = model.fit(points).member_labels_
    everything = model.set_params(max_samples=n_rows).fit(points).member_labels_
    np.testing.assert_array_equal(members, everything)
    assert model.graph_ == "exact"
    some = model.set_params(max_samples="auto").fit(points).member_labels_
    assert (some != members).any(), "the default fits members to fewer rows"
