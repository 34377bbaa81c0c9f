"""Numbers of the docs that are constants of the code are those of the code."""

import re
from pathlib import Path

import numpy as np
import pytest

from ekss import SSCOMP, TSC, EnSC, PaperEKSS
from ekss.benchmarks import FIGURE_PROFILES, PROFILES
from ekss.core import ensc, exchange, linalg, mkf, omp
from ekss.core.cop import COHERENT_SHARE, FEWEST_PER_DIM
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import choose as selection
from ekss.ensemble import cut, decide, dimension, vote
from ekss.ensemble import cut as cuts
from ekss.ensemble.count import COUNT
from ekss.ensemble.prepare import _KEPT
from ekss.ensemble.whiten import WHITENING, numbers_of_directions
from ekss.estimators import _search
from ekss.estimators._ekss import MOST_VOTED
from ekss.graph import approximate
from ekss.report import _advice, _gallery, _layout, _matrix, _spectrum
from ekss.runtime import dask, rows

ROOT = Path(__file__).parents[1]


def text_of(page):
    return " ".join((ROOT / page).read_text().split())


def percent(share):
    return f"{100 * share:g} %"


DECIDE, VOTE = decide._RULES, vote.RULES
FEW = decide.few_neighbors(10**6, 1)
GRID = ", ".join(map(str, DECIDE.grid))
GRIDS = {
    kind.__name__: ", ".join(f"{value:g}" for value in values)
    for kind, (_, values) in _search.DEFAULT_GRIDS.items()
}
QUICK = FIGURE_PROFILES["quick"]
WAYS = len(cuts._MORE_EIGENVECTORS) + 1 + 2 * len(cuts._MORE_PIECES)

EKSS_PAGE = "docs/algorithms/ekss.md"
CHOOSING = "docs/choosing.md"
LARGE = "docs/large.md"
ODD = "docs/odd-data.md"
SAID = [
    (
        CHOOSING,
        f"but in {COUNT.community_directions} directions (or half of all, if that is",
    ),
    (
        CHOOSING,
        f"or more than {COUNT.community_most:g} times as many, members are made for "
        f"{COUNT.community_share:g} times the number of communities, and judges choose "
        f"among the numbers from {COUNT.community_share:g} times",
    ),
    (CHOOSING, f"of its cut is lower by more than {COUNT.community_gain:g} than that"),
    (
        EKSS_PAGE,
        f"up to eight fits of {WHITENING.members[0]} to {WHITENING.members[-1]} "
        f"members to {WHITENING.fewest_rows} points ({WHITENING.rows_per_cluster} per "
        "cluster if that is more)",
    ),
    (
        EKSS_PAGE,
        f"all up to {MOST_VOTED:,} in memory, otherwise {VOTE.fitted_rows:,} or "
        f"{VOTE.fitted_per_cluster} per cluster",
    ),
    (EKSS_PAGE, f"iteration on all: {VOTE.fitted_rows:,}, or"),
    (EKSS_PAGE, f'"all" up to {cut.RULES.most_for_pairs:,} points, "likely" beyond'),
    (EKSS_PAGE, f"drawn from {VOTE.pieces[0]} K to {VOTE.pieces[1]} K"),
    (
        EKSS_PAGE,
        f"{VOTE.steps[0]}, then {VOTE.steps[1]} unless two halves of the members "
        f"agree on {percent(VOTE.agreed[0])} of points, then {VOTE.steps[2]} unless "
        f"they agree on {percent(VOTE.agreed[1])};",
    ),
    (EKSS_PAGE, f"up to {_KEPT.few} if they are needed to hold"),
    (EKSS_PAGE, percent(_KEPT.energy)),
    (
        EKSS_PAGE,
        f"a sample of {VOTE.compared} points ({VOTE.compared_per_cluster} per cluster "
        "if that is more)",
    ),
    (EKSS_PAGE, f"up to {DECIDE.all_votes} points also that of all votes"),
    ("README.md", f"up to {DECIDE.all_votes} points, a graph of all votes"),
    (CHOOSING, f"from {VOTE.pieces[0]} K to {VOTE.pieces[1]} K, and their own dim"),
    (
        CHOOSING,
        f"{percent(DECIDE.shares[0])} to {percent(DECIDE.shares[1])} of the energy, at "
        f"most {DECIDE.most_dims}.",
    ),
    (
        CHOOSING,
        f"within {percent(round(1 - DECIDE.flat_energy, 9))} on flats of dimension "
        f"{DECIDE.flat[0]} or {DECIDE.flat[1]}",
    ),
    (CHOOSING, f"graphs with q = {GRID} (from sqrt(N / K) / 4 to N / 6 K"),
    (CHOOSING, f"for up to {DECIDE.all_votes} points also of all votes"),
    (CHOOSING, f"or N / 6 K, from {decide.few_neighbors(100, 50)} to {FEW})"),
    (CHOOSING, f"**overlap**: {selection._FROM} less the mean silhouette"),
    (CHOOSING, f"**dissent**: {1 + selection._SMALLEST_DISSENT} less the mean"),
    (
        CHOOSING,
        f"runs {VOTE.steps[0]} members, then {VOTE.steps[1]} unless the odd and the "
        f"even members alone give {percent(VOTE.agreed[0])} of a sample",
    ),
    (
        CHOOSING,
        f"{VOTE.steps[-1]} members are not split any more, so it is then that of "
        f"{VOTE.steps[-2]}",
    ),
    (CHOOSING, f"of V - {COUNT.silhouette}, with V the silhouette"),
    (CHOOSING, f"**score** is {COUNT.weight_of_cut} times the score of the cut"),
    (
        CHOOSING,
        f"begins with a guess of {COUNT.first}, or of {COUNT.first_affine} where "
        "subspaces are affine",
    ),
    (CHOOSING, f"at most {COUNT.rows} points and with at most {COUNT.members} members"),
    (CHOOSING, f"squared length of their mean is at most {WHITENING.common},"),
    (
        CHOOSING,
        f"Members vote on a sample of {WHITENING.fewest_rows} points or "
        f"{WHITENING.rows_per_cluster} per cluster",
    ),
    (CHOOSING, "with {}, {} and {} members (never more".format(*WHITENING.members)),
    (CHOOSING, f"more than {WHITENING.hopeless} above the lowest are given up"),
    (CHOOSING, f"whose score is within {WHITENING.equal} of the lowest"),
    (CHOOSING, "1, 1.5, 2, 3, 4, 6, 8 and 12 times K"),
    (CHOOSING, f"up to {WHITENING.few} or {WHITENING.per_cluster} K"),
    (
        LARGE,
        f"{VOTE.fitted_rows:,} rows, or {VOTE.fitted_per_cluster} for each cluster",
    ),
    (LARGE, f"of rows in memory all up to {MOST_VOTED:,} are voted on"),
    (
        LARGE,
        f"all up to {MOST_VOTED:,} in memory, otherwise a sample of "
        f"{VOTE.fitted_rows:,} or {VOTE.fitted_per_cluster} per cluster",
    ),
    (LARGE, f'`"all"` up to {cut.RULES.most_for_pairs:,} voted rows'),
    (LARGE, f"up to {rows._MOST_ROWS:,} rows"),
    (LARGE, f"a window of {approximate.WINDOW} are compared"),
    (LARGE, f"a chunk of more than {dask._LARGEST_CHUNK // 2**20} MB"),
    (ODD, f"Divided by {linalg.RULES.quartile} that is the standard deviation"),
    (ODD, f"points of a score above {linalg.RULES.apart}, the limit"),
    (ODD, f"Up to {linalg.RULES.most_dims} dimensions are found"),
    ("docs/algorithms/search.md", f"**overlap** is {_search._FROM:g} - S with S"),
    *(
        ("docs/algorithms/search.md", f"| {values} |")
        for name, values in GRIDS.items()
        if name != "SSC"
    ),
    ("docs/algorithms/kss.md", f"hold {percent(dimension._ENERGY)} of the energy"),
    ("docs/algorithms/kss.md", f"at most {dimension._LARGEST_DIM}."),
    ("docs/algorithms/copkss.md", f"The default {COHERENT_SHARE} tolerates"),
    ("docs/algorithms/mkf.md", f"by the `{mkf.SEEDS_PER_DIM} d` nearest neighbours"),
    ("docs/algorithms/ensc.md", f"at first the {ensc._START} points of largest"),
    (
        "docs/algorithms/ensc.md",
        f"each point of a block (at most {ensc._LARGEST_BLOCK})",
    ),
    (
        "docs/algorithms/kss.md",
        f"more than {exchange.MOST_ENTRIES // 10**6} million",
    ),
    ("docs/algorithms/sscomp.md", f"a block of at most {omp._MOST_ROWS} points"),
    (
        "docs/algorithms/sscomp.md",
        f"values below {omp._ROUNDING_UNITS} units of rounding",
    ),
    (
        "docs/report.md",
        f"all paths on the first frame, or {_gallery.MOST_TRACKS} of them",
    ),
    ("docs/report.md", f"Up to {_layout.MOST_DOTS} dots"),
    ("docs/report.md", f"at most {_matrix.MOST_BLOCKS} blocks"),
    ("docs/report.md", f"up to {_spectrum._FURTHER_UP_TO} points, a few more beyond K"),
    ("docs/report.md", f"two subspaces of affinity above {_advice._ALIKE}"),
    (
        "docs/report.md",
        f"less than {percent(_advice._HALVES_AGREE)} of the points the same",
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
    assert linalg.RULES.points_per_dim == 4  # "one for four points"
    assert linalg.RULES.own_share == 0.5  # "above one half"
    assert FEWEST_PER_DIM == 2  # "never fewer than twice the dimension"
    assert mkf._PATIENCE == 5  # "after five passes in a row"
    assert mkf._SMOOTHING == 0.01  # "a hundredth of the mean length"
    assert WAYS == 11  # "cut in eleven ways"
    tried = [numbers_of_directions(k, (10**6, 10**6)) for k in range(2, 200)]
    assert max(map(len, tried)) == 8  # "up to eight fits"
    assert WHITENING.multiples == (0.5, 1, 1.5, 2, 3, 4, 6, 8, 12)  # "... times K"
    assert WHITENING.least == 32  # "where K is at least 64, also K / 2"
    assert VOTE.least_points == 3  # "at least three points for each dimension"
    assert COUNT.rounds - 1 == 4  # "moves the guess, at most four times"
    assert COUNT.near == (0.9, 2.5)  # "nine tenths", "two and a half times"
    assert COUNT.reach == 3  # "from a third to three times the guess"
    assert COUNT.within == 0.05  # "within a twentieth"
    assert COUNT.gap_neighbors == (10, 20, 40)  # "10, 20 and 40 neighbours"
    assert COUNT.gap_rounds == 4  # "within four rounds"
    assert COUNT.gap_rest == 1 / 4  # "within a quarter of the guess"
    assert COUNT.gap_clear == 2  # "twice as wide"
    assert COUNT.gap_near == 0.1  # "not within a tenth of it"
    assert _search._WEAKEST == 0.25  # "the quarter of the clusters"
    assert DECIDE.share_of_root == 1 / 4  # "sqrt(N / K) / 4"


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


def test_papers_algorithm_has_the_defaults_that_the_page_says():
    model = PaperEKSS()
    assert (model.n_members, model.max_iter, model.update) == (1000, 3, "pca")
    assert '`n_members=1000`, `max_iter=3` and exact PCA (`update="pca"`)' in text_of(
        EKSS_PAGE
    )
    assert model.n_candidates is None
    assert decide.paper_neighbors(1800, 10) == 1800 / (6 * 10)  # "N / 6 K"
    assert decide.paper_neighbors(100, 50) == 3  # "but at least 3"
