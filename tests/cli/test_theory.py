import json
import re

import numpy as np
import pytest

from ekss import EKSS, TSC
from ekss.cli import app
from ekss.cli._errors import run
from ekss.cli._theory_assess import assess, default_q
from ekss.cli._theory_findings import HOLDS, NO_USE, OPEN, findings
from ekss.cli._theory_html import page_html
from ekss.cli._theory_page import make_page, page_json
from ekss.cli._theory_results import Wishes
from ekss.cli._theory_words import checks_of, number
from ekss.core.scaling import unit_rows
from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces
from ekss.graph import coassociation_dense
from ekss.theory import (
    angular_separation,
    cluster_components,
    coclustering_function,
    deviation_failure,
    largest_affinity,
    members_needed,
    nfc_certificate,
)
from ekss.theory._guarantees import promised_deviation


@pytest.fixture(scope="module")
def separated():
    data = make_union_of_subspaces(
        3, 2, n_features=40, n_per_subspace=200, bases="orthogonal", random_state=0
    )
    return data.data, data.target, assess(data.data, data.target, Wishes(n_base=500))


@pytest.fixture(scope="module")
def overlapping():
    data = make_subspaces_at_angle(
        0.2, dim=4, n_features=30, n_per_subspace=60, random_state=0
    )
    return data.data, data.target, assess(data.data, data.target, Wishes(n_base=200))


def members_of(X, y, a):
    """Fit EKSS-0 once more, as a user would."""
    return EKSS(
        len(np.unique(y)),
        a.candidate_dim,
        n_candidates=a.n_candidates,
        n_base=a.wishes.n_base,
        max_iter=0,
        top_q=a.situation.top_q,
        weighting="uniform",
        divide_by_size=False,
        random_state=a.wishes.seed,
    ).fit(X)


def status_of(a):
    return {(f.statement, f.method): f.status for f in findings(a)}


def test_separated_subspaces_have_their_guarantees(separated):
    _, _, a = separated
    status = status_of(a)
    for key in (("Theorem 1", "TSC"), ("Theorem 1", "EKSS-0"), ("Theorem 3", "EKSS-0")):
        assert status[key] == HOLDS
    page = make_page(a, "X.npy", "y.npy")
    assert "guaranteed by Theorem 1" in page.answers[0].answer
    assert "Yes, by Proposition 1" in page.answers[2].answer
    assert a.tsc_graph.n_false == a.votes_graph.n_false == 0


def test_theorems_on_noisy_points_hold_with_enough_members(separated):
    X, y, a = separated
    wanted = next(f for f in findings(a) if f.statement == "Theorem 6")
    members = re.search(r"needs ([\d,]+) members", wanted.summary)
    n_base = int(members[1].replace(",", ""))
    enough = assess(X, y, Wishes(n_base=n_base))
    assert status_of(enough)["Theorem 6", "EKSS-0"] == HOLDS


def test_overlapping_subspaces_are_told_with_margin_and_points(overlapping):
    _, _, a = overlapping
    status = status_of(a)
    assert status["Theorem 1", "TSC"] == "does not hold"
    assert status["Theorem 5", "EKSS-0"] == NO_USE
    page = make_page(a, "X.npy", "y.npy")
    first = next(check for where, check in page.unmet if where == "Theorem 1, TSC")
    assert first.distance == f"too small by {number(-a.tsc.phi)}"
    assert a.tsc_graph.n_false > 0
    html = page_html(page)
    for point in a.tsc.worst[:5]:
        assert f"<td>{point.index}</td>" in html
    affinity = next(c for _, c in page.unmet if "orthogonal" in c.asked)
    factor = a.situation.max_affinity * 15 * np.log(len(a.tsc.gaps))
    assert affinity.distance == f"{number(factor)} times too large"


@pytest.mark.parametrize("name", ["separated", "overlapping"])
def test_numbers_are_those_of_the_theory_functions(name, request):
    X, y, a = request.getfixturevalue(name)
    points, q = unit_rows(X), a.situation.top_q
    model = members_of(X, y, a)
    f = coclustering_function(a.n_candidates, a.candidate_dim, X.shape[1])
    votes = coassociation_dense(model.base_labels_)
    by_votes = nfc_certificate(points, y, votes, q, f)
    by_angle = nfc_certificate(points, y, np.abs(points @ points.T), q, lambda z: z)
    for ours, theirs in ((a.votes, by_votes), (a.tsc, by_angle)):
        assert ours.holds == theirs.holds
        assert ours.phi == pytest.approx(theirs.phi, abs=1e-12)
        assert ours.tau == pytest.approx(theirs.tau, abs=1e-12)
        assert ours.margin == pytest.approx(theirs.margin, abs=1e-12)
        assert ours.worst[0].gap == pytest.approx(theirs.phi, abs=1e-12)
    # one product of all bases here, one product for each pair there
    expected = largest_affinity(a.subspaces.bases)
    assert a.situation.max_affinity == pytest.approx(expected, rel=1e-12, abs=1e-12)
    n = len(X)
    promised = promised_deviation(n, a.wishes.n_base, 0.01)
    assert a.promise.tau == pytest.approx(promised, rel=1e-12)
    if a.votes.phi > 0:
        assert a.promise.members == members_needed(n, a.votes.phi, 0.01)
        failure = deviation_failure(n, a.votes.phi, a.wishes.n_base)
        assert findings(a)[2].failure == pytest.approx(failure)
        assert (failure < 0.01) == (findings(a)[2].status == HOLDS)
    assert a.votes_graph.components == tuple(cluster_components(model.affinity_, y))


def test_page_guarantees_no_graph_that_has_false_connections():
    rng = np.random.default_rng(0)
    outcomes = {"TSC": set(), "EKSS-0": set()}
    for trial in range(40):
        data = make_subspaces_at_angle(
            rng.uniform(0.3, 1.5),
            dim=int(rng.integers(1, 4)),
            n_features=15,
            n_per_subspace=25,
            noise=float(rng.choice([0.0, 0.1])),
            random_state=trial,
        )
        q = int(rng.integers(1, 6))
        a = assess(data.data, data.target, Wishes(q=q, n_base=300, seed=trial))
        outcomes["TSC"].add((a.tsc.holds, a.tsc_graph.n_false > 0))
        outcomes["EKSS-0"].add((a.votes.holds, a.votes_graph.n_false > 0))
        said = make_page(a, "X", "y").answers
        for line, graph in ((said[0], a.tsc_graph), (said[3], a.votes_graph)):
            assert ("guaranteed by" in line.answer) <= (graph.n_false == 0)
            if graph.n_false == 0 and max(graph.components) == 1:
                assert graph.error == 0  # Proposition 1
    for seen in outcomes.values():
        assert (True, True) not in seen
        assert {(True, False), (False, True)} <= seen


def test_largest_q_is_the_last_with_a_certificate():
    data = make_union_of_subspaces(
        3, 3, n_features=20, n_per_subspace=40, random_state=2
    )
    X, y = data.data, data.target
    a = assess(X, y, Wishes(q=2, n_base=2000))
    f = coclustering_function(3, 3, 20)
    for certificate, curve in ((a.tsc, None), (a.votes, f)):
        last = certificate.largest_q
        assert 1 <= last < 39
        assert angular_separation(X, y, last, curve).phi > certificate.tau
        assert angular_separation(X, y, last + 1, curve).phi <= certificate.tau


def test_q_that_is_named_connects_the_clusters():
    data = make_union_of_subspaces(
        2, 2, n_features=20, n_per_subspace=60, random_state=1
    )
    X, y = data.data, data.target
    a = assess(X, y, Wishes(q=2, n_base=100))
    named = a.tsc_graph.connecting_q
    assert named > 2
    for q, whole in ((named, True), (named - 1, False)):
        graph = TSC(2, top_q=q, random_state=0).fit(X).affinity_
        assert (cluster_components(graph, y).max() == 1) == whole
    said = make_page(a, "X", "y").answers[2].answer
    assert f"q from {named} to {a.tsc.largest_q}" in said


def test_some_rows_decide_nothing_but_failures(separated, overlapping):
    X, y, _ = separated
    a = assess(X, y, Wishes(n_base=500, rows=100))
    assert a.tsc.holds is None
    assert status_of(a)["Theorem 1", "TSC"] == OPEN
    page = make_page(a, "X", "y")
    assert "100 of 600 points" in page.notes[0]
    assert "guaranteed by" not in page.answers[0].answer
    X, y, _ = overlapping
    assert assess(X, y, Wishes(n_base=50, rows=100)).tsc.holds is False


def test_every_condition_of_every_theorem_has_words(overlapping):
    _, _, a = overlapping
    for guarantee in (*a.theorems, a.projection, *a.connections):
        for check in checks_of(guarantee, a.situation):
            assert check.asked
            assert bool(check.remedy) != check.holds


def test_page_is_one_file_that_needs_nothing(separated):
    _, _, a = separated
    page = make_page(a, "<b>X & Y</b>", "y", tuple(f"<i>{i}" for i in range(600)))
    html = page_html(page)
    for outside in ("http:", "https:", "<script", "<link", "src=", "href=", "@import"):
        assert outside not in html
    assert "<b>X" not in html
    assert "<i>" not in html
    for finding in page.findings:
        assert f"{finding.statement}, {finding.method}" in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_json_is_plain_and_says_what_the_page_says(overlapping):
    _, _, a = overlapping
    page = make_page(a, "X.npy", "y.npy")
    text = json.dumps(page_json(page), allow_nan=False)
    back = json.loads(text)
    assert back["format"] == "ekss-theory"
    assert back["certificates"]["tsc"]["phi"] == a.tsc.phi
    assert [f["status"] for f in back["findings"]] == [f.status for f in page.findings]


@pytest.fixture
def files(tmp_path, overlapping):
    X, y, _ = overlapping
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    return tmp_path


def arguments(files, *more):
    labels = ["--labels", str(files / "y.npy")]
    return ["theory", str(files / "X.npy"), *labels, "--members", "50", *more]


def test_command_prints_the_page_and_writes_html(files, capsys):
    output = files / "page.html"
    assert run(app, arguments(files, "-o", str(output))) == 0
    shown = capsys.readouterr().out
    for words in ("In short", "does not hold", "what would help", "Worst points"):
        assert words in shown
    assert output.read_text().startswith("<!doctype html>")


def test_command_prints_json_alone_and_keeps_options(files, capsys):
    more = ("--json", "--q", "2", "--dim", "3", "--noise", "0.3", "--missing", "1")
    assert run(app, arguments(files, *more, "--candidates", "2")) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["q"] == 2
    assert said["noise"] == 0.3
    assert said["n_candidates"] == 2
    assert said["options"]["n_missing"] == 1
    assert {row["dim"] for row in said["clusters"]} == {3}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--q", "60"), "q=60 needs clusters of more than 60 points"),
        (("--dim", "30"), "dim=30 is not between 1 and 29"),
        (("--failure", "2"), "--failure 2.0 is no probability"),
        (("--quiet",), "--quiet without --output"),
        (("-o", "page.pdf"), "end it in .html, .json"),
        (("--missing", "31"), "n_missing=31 must lie in"),
        (("--candidate-dim", "30"), "dim=30 must be at least 1 and below"),
    ],
)
def test_wrong_wishes_are_one_line(files, capsys, more, words):
    assert run(app, arguments(files, *more)) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error


def test_labels_are_asked_for(files, capsys):
    assert run(app, ["theory", str(files / "X.npy")]) == 2
    assert "--labels" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda X, y: X[3].fill(0), "1 points are zero, the first is row 3"),
        (lambda X, y: X[3].fill(np.nan), "contain NaN"),
        (lambda X, y: y.fill(1), "the labels name 1 cluster"),
        (lambda X, y: y.__setitem__(0, 9), "cluster 9 has 1 point"),
    ],
)
def test_data_without_guarantees_is_refused(overlapping, spoil, words):
    X, y = overlapping[0].copy(), overlapping[1].copy()
    spoil(X, y)
    with pytest.raises(ValueError, match=words):
        assess(X, y, Wishes(n_base=5))


def test_default_q_is_the_papers():
    assert default_q(400, 4) == 5
    assert default_q(40, 4) == 3
