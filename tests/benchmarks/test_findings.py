import pytest

from ekss.benchmarks._figure1 import figure1_findings
from ekss.benchmarks._figure2 import (
    Curve,
    falls_until,
    figure2_findings,
    mean_curves,
)
from ekss.benchmarks._figures34 import (
    Place,
    Trial,
    best_errors,
    figure3_findings,
    figure4_findings,
    largest_dim,
    mean_errors,
    read_trials,
    smallest_angle,
    write_trials,
)
from ekss.benchmarks._pages import listed, wrapped

PUBLISHED = {1: 61.0, 5: 25.0, 50: 0.0}


def trial(panel, method, dim, angle, error, setting="", seed=0, count=100):
    return Trial(Place(panel, method, count, dim, angle), setting, seed, error)


def over_dims(method, errors, **more):
    dims = (1, 10, 20)
    return [
        trial("dimension", method, d, None, e, **more)
        for d, e in zip(dims, errors, strict=True)
    ]


def over_angles(panel, method, errors, **more):
    angles = (0.1, 0.2, 0.3)
    return [
        trial(panel, method, 10, a, e, **more)
        for a, e in zip(angles, errors, strict=True)
    ]


def as_in_the_paper():
    return [
        *over_dims("ekss", (0, 0, 0)),
        *over_dims("ekss0", (0, 4, 60)),
        *over_dims("tsc", (0, 0, 60)),
        *over_angles("angle", "ekss", (1, 0, 0)),
        *over_angles("angle", "ekss0", (60, 60, 3)),
        *over_angles("angle", "tsc", (60, 60, 0)),
        *over_angles("angle", "ssc", (60, 2, 0)),
    ]


def renamed(trials, names):
    return [
        Trial(
            one.place._replace(method=names.get(one.place.method, one.place.method)),
            one.setting,
            one.seed,
            one.error,
        )
        for one in trials
    ]


def test_all_findings_of_figure3_hold_on_rows_like_the_papers():
    found = figure3_findings(as_in_the_paper())
    assert [one.holds for one in found] == [True, True, True]
    assert "d = 20 for EKSS and up to d = 10 for TSC" in found[1].measured
    assert "0.1 for EKSS, 0.3 for TSC and 0.2 for SSC" in found[2].measured


def test_findings_of_figure3_fail_when_methods_change_places():
    swapped = renamed(as_in_the_paper(), {"ekss": "tsc", "tsc": "ekss"})
    assert [one.holds for one in figure3_findings(swapped)] == [False, False, False]


def test_smaller_angle_than_tsc_alone_is_not_enough():
    swapped = renamed(as_in_the_paper(), {"ekss": "ssc", "ssc": "ekss"})
    found = figure3_findings(swapped)[2]
    assert "0.2 for EKSS, 0.3 for TSC and 0.1 for SSC" in found.measured
    assert not found.holds


def test_an_exact_fit_of_ssc_is_judged_apart():
    line = over_angles("exact", "ssc", (0, 0, 0))
    found = figure3_findings([*as_in_the_paper(), *line])
    assert [one.holds for one in found] == [True, True, True, False]
    worse = over_angles("exact", "ssc", (60, 0, 0))
    assert figure3_findings([*as_in_the_paper(), *worse])[-1].holds


@pytest.mark.parametrize(("error", "holds"), [(1, True), (3, False)])
def test_ssc_is_compared_with_all_others_at_large_dimensions(error, holds):
    trials = [
        trial("dimension", method, 60, None, 2, count=count)
        for method in ("ekss", "ekss0", "tsc")
        for count in (10, 100, 500)
    ]
    trials.append(trial("dimension", "ssc", 60, None, error))
    found = figure3_findings(trials)[-1]
    assert "With N_k = 100 and d from 50 on" in found.measured
    assert found.holds is holds


def test_opposite_differences_do_not_cancel():
    trials = [*over_dims("ekss0", (0, 30, 0)), *over_dims("tsc", (0, 0, 30))]
    same, _ = figure3_findings(trials)
    assert "20.0 points apart" in same.measured
    assert not same.holds


def test_figure4_compares_with_ssc_on_the_noisy_panel_only():
    noisy = [
        *over_angles("noisy", "ekss", (2, 0, 0)),
        *over_angles("noisy", "ssc", (60, 2, 0)),
        *over_angles("noisy", "ekss0", (60, 60, 1)),
        *over_angles("noisy", "tsc", (61, 60, 0)),
    ]
    other = over_angles("noisier", "ekss", (66, 66, 66))
    found = figure4_findings([*noisy, *other])
    assert [one.holds for one in found] == [True, True]
    worse = renamed(noisy, {"ekss": "ssc", "ssc": "ekss"})
    assert [one.holds for one in figure4_findings(worse)] == [True, False]


def test_findings_without_rows_are_none():
    assert figure1_findings([], PUBLISHED) == []
    assert figure2_findings([]) == []
    assert figure3_findings([]) == []
    assert figure4_findings([]) == []


def test_a_solved_point_beyond_an_unsolved_one_does_not_count():
    means = mean_errors(
        [*over_dims("ekss", (0, 30, 0)), *over_angles("angle", "ekss", (0, 30, 0))]
    )
    assert largest_dim(means, "ekss", 100) == 1
    assert smallest_angle(means, "angle", "ekss", 100) == 0.3
    assert largest_dim(means, "ekss", 50) is None
    assert smallest_angle(means, "angle", "tsc", 100) is None


def test_setting_is_chosen_by_the_mean_over_trials_not_trial_by_trial():
    places = [
        trial("angle", "ssc", 10, 0.1, error, setting, seed)
        for setting, errors in {"alpha=5": (0, 40), "alpha=50": (10, 12)}.items()
        for seed, error in enumerate(errors)
    ]
    (place,) = best_errors(places)
    assert best_errors(places)[place] == [10, 12]
    assert mean_errors(places)[place] == 11


def test_words_are_listed_with_a_last_and():
    assert listed(["1", "5", "50"]) == "1, 5 and 50"
    assert listed(["1"]) == "1"


def test_trials_survive_csv():
    trials = [*as_in_the_paper(), trial("angle", "ssc", 3, 0.25, 1.5, "alpha=5", 4)]
    assert read_trials(write_trials(trials)) == trials


@pytest.mark.parametrize(("last", "holds"), [(0.0, True), (0.25, False)])
def test_figure1_asks_for_no_error_in_the_instance_shown(last, holds):
    trials = [
        trial("votes", "ekss", 3, None, error, f"B={count}", seed)
        for seed in (1, 0)
        for count, error in {1: 50, 5: 20, 50: last if seed == 0 else 0}.items()
    ]
    (found,) = figure1_findings(trials, PUBLISHED)
    assert found.holds is holds
    assert "61 %, 25 % and 0 %" in found.claim


def curve(name, similarity, seed=0, expected=()):
    angles = (0.1, 0.2, 0.3, 0.4)
    return Curve(name, seed, angles, similarity, (0.0,) * 4, expected)


def test_curve_falls_until_it_rises_above_its_lowest():
    assert falls_until(curve("umap", (0.9, 0.5, 0.51, 0.4))) == 0.4
    # Two small rises in a row are one large rise.
    assert falls_until(curve("umap", (0.9, 0.5, 0.515, 0.53))) == 0.3
    assert falls_until(curve("umap", (0.9, 0.95, 0.5, 0.4))) == 0.1
    assert falls_until(curve("umap", (0.9, 0.5, 0.7, 0.7))) == 0.2


def test_figure2_findings_follow_the_mean_curves():
    falling = (0.9, 0.7, 0.5, 0.3)
    curves = [
        curve("full", falling, expected=(0.9, 0.7, 0.5, 0.31)),
        curve("gaussian", (0.9, 0.8, 0.5, 0.3)),
        curve("gaussian", (0.9, 0.6, 0.5, 0.3), seed=1),
        curve("umap", (0.9, 0.9, 0.95, 0.3)),
    ]
    mean = mean_curves(curves)["gaussian"]
    assert mean.similarity == pytest.approx(falling)
    assert [one.holds for one in figure2_findings(curves)] == [True, True, True]
    rising = [curve("full", (0.9, 0.7, 0.8, 0.3)), *curves[1:3]]
    assert [one.holds for one in figure2_findings(rising)] == [False]
    early = [curve("umap", (0.5, 0.9, 0.95, 0.3))]
    assert [one.holds for one in figure2_findings(early)] == [False]
    off = [curve("full", falling, expected=(0.9, 0.7, 0.5, 0.4))]
    assert [one.holds for one in figure2_findings(off)] == [False]


def test_lines_of_a_page_fit_a_screen_and_tables_stay():
    long = "word " * 60
    table = f"| {long} |\n| --- |"
    code = f"```console\n$ {long}\n\n{long}\n```"
    page = f"# {long}\n\n{long}\n\n- {long}\n- short\n\n{table}\n\n{code}\n"
    shown = wrapped(page)
    assert shown.split() == page.split()
    assert shown.endswith("```\n")
    assert table in shown
    assert code in shown
    text = shown.replace(table, "").replace(code, "").partition("\n")[2]
    assert max(map(len, text.splitlines())) <= 102
    assert "\n  word" in shown
    assert "\n- short\n" in shown
    assert wrapped(shown) == shown
