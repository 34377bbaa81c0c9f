import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from ekss import TSC, PaperEKSS
from ekss.core.linalg import unit_rows
from ekss.datasets import make_subspaces_at_angle, make_union_of_subspaces
from ekss.graph import coassociation_dense
from ekss.report import guarantees
from ekss.theory import (
    HOLDS,
    NO_USE,
    OPEN,
    angular_separation,
    cluster_components,
    coclustering_function,
    deviation_failure,
    explain,
    findings,
    largest_affinity,
    members_needed,
    nfc_certificate,
    promised_deviation,
)
from ekss.theory._explain import checks_of
from ekss.words import number


@pytest.fixture(scope="module")
def separated():
    data = make_union_of_subspaces(
        3, 2, n_features=40, n_per_subspace=200, bases="orthogonal", random_state=0
    )
    return data.data, data.target, guarantees(data.data, data.target, n_members=500)


@pytest.fixture(scope="module")
def overlapping():
    data = make_subspaces_at_angle(
        0.2, dim=4, n_features=30, n_per_subspace=60, random_state=0
    )
    return data.data, data.target, guarantees(data.data, data.target, n_members=200)


def members_of(X, y, a):
    """Fit EKSS-0 once more, as a user would."""
    return PaperEKSS(
        len(np.unique(y)),
        a.case.candidate_dim,
        n_candidates=a.case.n_candidates,
        n_members=a.case.situation.n_members,
        max_iter=0,
        n_neighbors=a.case.situation.q,
        random_state=a.case.seed,
    ).fit(X)


def status_of(a):
    return {(f.statement, f.method): f.status for f in findings(a)}


def test_separated_subspaces_have_their_guarantees(separated):
    a = separated[2].assessment
    status = status_of(a)
    for key in (("Theorem 1", "TSC"), ("Theorem 1", "EKSS-0"), ("Theorem 3", "EKSS-0")):
        assert status[key] == HOLDS
    page = explain(a)
    assert "guaranteed by Theorem 1" in page.answers[0].answer
    assert "Yes, by Proposition 1" in page.answers[2].answer
    assert a.tsc_graph.n_false == a.votes_graph.n_false == 0


def test_page_has_the_security_policy_of_the_report(separated):
    page = separated[2].report().html
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert page.count("Content-Security-Policy") == 1
    assert f'http-equiv="Content-Security-Policy" content="{policy}"' in page
    assert "<script" not in page


def test_theorems_on_noisy_points_hold_with_enough_members(separated):
    X, y, found = separated
    a = found.assessment
    wanted = next(f for f in findings(a) if f.statement == "Theorem 6")
    members = re.search(r"needs ([\d,]+) members", wanted.summary)
    n_members = int(members[1].replace(",", ""))
    enough = guarantees(X, y, n_members=n_members).assessment
    assert status_of(enough)["Theorem 6", "EKSS-0"] == HOLDS


def test_overlapping_subspaces_are_told_with_margin_and_points(overlapping):
    a = overlapping[2].assessment
    status = status_of(a)
    assert status["Theorem 1", "TSC"] == "does not hold"
    assert status["Theorem 5", "EKSS-0"] == NO_USE
    page = explain(a)
    first = next(check for where, check in page.unmet if where == "Theorem 1, TSC")
    assert first.distance == f"too small by {number(-a.tsc.phi)}"
    assert a.tsc_graph.n_false > 0
    html = overlapping[2].report().html
    for point in a.tsc.worst[:5]:
        assert f"<td>{point.index}</td>" in html
    affinity = next(c for _, c in page.unmet if "orthogonal" in c.asked)
    factor = a.case.situation.max_affinity * 15 * np.log(len(a.tsc.gaps))
    assert affinity.distance == f"{number(factor)} times too large"


@pytest.mark.parametrize("name", ["separated", "overlapping"])
def test_numbers_are_those_of_the_theory_functions(name, request):
    X, y, found = request.getfixturevalue(name)
    a = found.assessment
    points, q = unit_rows(X), a.case.situation.q
    model = members_of(X, y, a)
    f = coclustering_function(a.case.n_candidates, a.case.candidate_dim, X.shape[1])
    votes = coassociation_dense(model.member_labels_)
    by_votes = nfc_certificate(points, y, votes, q, f)
    by_angle = nfc_certificate(points, y, np.abs(points @ points.T), q, lambda z: z)
    for ours, theirs in ((a.votes, by_votes), (a.tsc, by_angle)):
        assert ours.holds == theirs.holds
        assert ours.phi == pytest.approx(theirs.phi, abs=1e-12)
        assert ours.tau == pytest.approx(theirs.tau, abs=1e-12)
        assert ours.margin == pytest.approx(theirs.margin, abs=1e-12)
        assert ours.worst[0].gap == pytest.approx(theirs.phi, abs=1e-12)
    # one product of all bases here, one product for each pair there
    expected = largest_affinity(a.case.subspaces.bases)
    assert a.case.situation.max_affinity == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )
    n = len(X)
    promised = promised_deviation(n, a.case.situation.n_members, 0.01)
    assert a.promise.tau == pytest.approx(promised, rel=1e-12)
    if a.votes.phi > 0:
        assert a.promise.members == members_needed(n, a.votes.phi, 0.01)
        failure = deviation_failure(n, a.votes.phi, a.case.situation.n_members)
        assert findings(a)[2].failure == pytest.approx(failure)
        assert (failure < 0.01) == (findings(a)[2].status == HOLDS)
    assert a.votes_graph.components == tuple(cluster_components(model.affinity_, y))


def test_page_guarantees_no_graph_that_has_false_connections():
    rng = np.random.default_rng(0)
    outcomes = {"TSC": set(), "EKSS-0": set()}
    for trial in range(20):
        data = make_subspaces_at_angle(
            rng.uniform(0.3, 1.5),
            dim=int(rng.integers(1, 4)),
            n_features=15,
            n_per_subspace=25,
            noise=float(rng.choice([0.0, 0.1])),
            random_state=trial,
        )
        q = int(rng.integers(1, 6))
        a = guarantees(
            data.data, data.target, q=q, n_members=300, seed=trial
        ).assessment
        outcomes["TSC"].add((a.tsc.holds, a.tsc_graph.n_false > 0))
        outcomes["EKSS-0"].add((a.votes.holds, a.votes_graph.n_false > 0))
        said = explain(a).answers
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
    a = guarantees(X, y, q=2, n_members=2000).assessment
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
    a = guarantees(X, y, q=2, n_members=100).assessment
    named = a.tsc_graph.connecting_q
    assert named > 2
    for q, whole in ((named, True), (named - 1, False)):
        graph = TSC(2, n_neighbors=q, random_state=0).fit(X).affinity_
        assert (cluster_components(graph, y).max() == 1) == whole
    said = explain(a).answers[2].answer
    assert f"q from {named} to {a.tsc.largest_q}" in said


def test_some_rows_decide_nothing_but_failures(separated, overlapping):
    X, y, _ = separated
    a = guarantees(X, y, n_members=500, n_rows=100).assessment
    assert a.tsc.holds is None
    assert status_of(a)["Theorem 1", "TSC"] == OPEN
    page = explain(a)
    assert "100 of 600 points" in page.notes[0]
    assert "guaranteed by" not in page.answers[0].answer
    X, y, _ = overlapping
    assert guarantees(X, y, n_members=50, n_rows=100).assessment.tsc.holds is False


def test_every_condition_of_every_theorem_has_words(overlapping):
    a = overlapping[2].assessment
    for guarantee in (*a.theorems, a.projection, *a.connections):
        for check in checks_of(guarantee, a.case.situation):
            assert check.asked
            assert bool(check.remedy) != check.holds


def test_page_is_one_file_that_needs_nothing(separated):
    found = replace(
        separated[2],
        title="<b>X & Y</b>",
        ids=tuple(f"<i>{i}" for i in range(600)),
    )
    html = found.report().html
    for outside in ("http:", "https:", "<script", "src=", "@import", "url("):
        assert outside not in html
    assert re.findall('href="([^"]*)"', html) == ["data:,"]
    assert "<b>X" not in html
    assert "<i>" not in html
    for finding in found.explanation.findings:
        assert f"{finding.statement}, {finding.method}" in html
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_json_is_plain_and_says_what_the_page_says(overlapping):
    found = overlapping[2]
    back = json.loads(found.report().json)
    assert back == json.loads(json.dumps(found.summary, allow_nan=False))
    assert (back["kind"], back["version"]) == ("ekss guarantees", 2)
    assert back["certificates"]["tsc"]["phi"] == found.assessment.tsc.phi
    statuses = [f.status for f in found.explanation.findings]
    assert [f["status"] for f in back["findings"]] == statuses


def test_words_and_numbers_need_no_template_engine(monkeypatch, overlapping):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    X, y, _ = overlapping
    found = guarantees(X, y, n_members=5)
    assert found.summary["n_members"] == 5
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'ekss\[report\]'"):
        found.report()
